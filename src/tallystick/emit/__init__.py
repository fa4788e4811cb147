"""What runs where the GPUs are: node hooks, the spool, the way home.

This folder is copied to nodes alone, as one file, and runs on any Python from 3.9 on with its
standard library. It imports nothing of the rest, and nothing here may ever fail a job: what
cannot be seen is left out and said to be unknown, what cannot be kept is noted as lost.
"""
