"""Asking a running cluster: ``sacct`` or ``slurmrestd`` in, the same rows as from files out."""
