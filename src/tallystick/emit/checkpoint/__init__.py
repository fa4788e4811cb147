"""Whether a checkpoint is whole: its files, its manifest, and what its own format can tell.

Nothing is loaded here: no pickle is executed, no tensor is built, no pointer is believed. A file
is read as bytes, in pieces, and everything that it claims of itself is bounded before it is used.
"""
