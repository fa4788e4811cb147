"""Slurm's hooks: what each of them sees, written down and nothing decided."""
