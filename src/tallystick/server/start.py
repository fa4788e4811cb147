"""Starting the server, which says in one line what is not installed."""

from tallystick.server.errors import ServeExtraMissingError
from tallystick.server.options import ServeOptions

_LIBRARIES = frozenset({"anyio", "h11", "starlette", "uvicorn"})


def serve(options: ServeOptions) -> None:
    """Serve a store until told to stop.

    Raises:
        ServeExtraMissingError: the libraries of the server are not installed.
        TallystickError: the store, the address or the certificate cannot be used.
    """
    try:
        from tallystick.server.run import run  # noqa: PLC0415 (only this needs the extra)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _LIBRARIES:
            raise
        raise ServeExtraMissingError(name) from error
    run(options)
