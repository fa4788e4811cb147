"""Texts of other people inside our messages: quoted, escaped and cut, so that they stay texts."""


def quoted(text: str, limit: int = 60) -> str:
    """Quote a text for a message, cut to ``limit`` characters, with nothing unprintable in it."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def as_printed(name: str) -> str:
    """Give a name, of a file for example, as it is, or quoted where it would break the line."""
    return name if name.isprintable() else repr(name)
