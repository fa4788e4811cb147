"""Double entry: the chart, entries that cannot be unbalanced, balances and the journal. Pure."""
