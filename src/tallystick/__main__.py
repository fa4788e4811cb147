"""``python -m tallystick`` is the ``tallystick`` command."""

from tallystick.cli.main import main

if __name__ == "__main__":
    main()
