"""Collectors: files of other programs in, evidence records and findings out.

A collector is a pure function of its inputs: it never reads a clock or a network, and one
line that it cannot read is a finding while the rest goes on.
"""
