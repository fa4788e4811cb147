"""The service of a store over HTTP: evidence comes in, every record is answered.

Only ``start`` may be imported without the extra ``serve``.
"""
