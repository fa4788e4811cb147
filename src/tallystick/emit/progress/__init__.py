"""What a training job says of itself: its steps, checkpoints, waits and results.

A job writes into a journal, an append-only file of its own in the spool, and the shipper makes
evidence of it. Nothing here raises into training or waits for a network.
"""
