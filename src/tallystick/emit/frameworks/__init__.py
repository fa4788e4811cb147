"""Reports from training frameworks, each at the moment at which it is true.

Each module is for one framework and is imported by those who use it. Many hooks of frameworks
fire before a byte is written or after a save was only queued: a commit is reported when the
files are there, never by the name of a hook. Nothing raises into training.
"""
