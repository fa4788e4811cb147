"""Where evidence, heads, receipts, entries and segments are kept; each store keeps one contract."""
