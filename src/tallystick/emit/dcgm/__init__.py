"""DCGM on a node: watching the GPUs of a job, and reading what was kept of them."""
