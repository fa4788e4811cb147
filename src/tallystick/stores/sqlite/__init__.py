"""The embedded default: one SQLite file, write-ahead log, every commit synced."""

from tallystick.stores.sqlite.store import SqliteStore, create_sqlite_store, open_sqlite_store

__all__ = ["SqliteStore", "create_sqlite_store", "open_sqlite_store"]
