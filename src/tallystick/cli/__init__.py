"""The command line: parse, call one use case, render.

Data goes to standard output, the rest to standard error. Exit 0 is done, 1 a check that
failed, 2 misuse.
"""
