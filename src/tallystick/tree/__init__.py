"""The Merkle tree over the evidence log: hashes, heads, proofs and who signed them. Pure."""
