"""Bundles: one file with a receipt, its evidence and the proofs, all that a third party needs."""
