"""Receipts: what is stated, signed, verified, replayed and explained."""
