"""Use cases, one file each: the only layer that reads files, keys and the clock."""
