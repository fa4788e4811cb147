"""Rating: a timeline and the contract versions in, lines and totals out."""
