"""The tables of a store, and the triggers that keep them append-only.

Leaves lie many to a row, in the batches in which they came: one row costs what one leaf
would. ``identity`` finds a leaf by its record; it is brought up to date now and then, many
leaves at a time, because its keys are random and each would touch a page of its own. Until
then the keys lie beside their leaves, and a process holds those of the newest in memory. Leaves
are the last column, since SQLite walks a row from its beginning: keys and hashes are read
without them.

The triggers stop accidents, ``INSERT OR REPLACE`` among them, which fires neither a delete
nor an update trigger. They do not stop whoever can drop them: that is what heads are for.
"""

from typing import Final

APPLICATION_ID: Final = 0x54_41_4C_59  # "TALY"
FORMAT: Final = 1

_TABLES = """
CREATE TABLE origin (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    name TEXT NOT NULL
) STRICT;

CREATE TABLE batch (
    first INTEGER PRIMARY KEY,
    count INTEGER NOT NULL CHECK (count > 0),
    keys BLOB NOT NULL CHECK (length(keys) = 16 * count),
    hashes BLOB NOT NULL CHECK (length(hashes) = 32 * count),
    leaves BLOB NOT NULL
) STRICT;

CREATE TABLE identity (
    key BLOB PRIMARY KEY CHECK (length(key) = 16),
    leaf INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settled (
    leaves INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE document (
    place INTEGER PRIMARY KEY,
    shelf TEXT NOT NULL,
    key TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (shelf, key)
) STRICT;
"""

_NEXT = {
    "origin": "EXISTS (SELECT 1 FROM origin)",
    "batch": "new.first IS NOT coalesce("
    "(SELECT first + count FROM batch ORDER BY first DESC LIMIT 1), 0)",
    "identity": "EXISTS (SELECT 1 FROM identity WHERE key = new.key)",
    "settled": "new.leaves <= coalesce((SELECT max(leaves) FROM settled), 0)",
    "document": "new.place IS NOT coalesce((SELECT max(place) FROM document), 0) + 1"
    " OR EXISTS (SELECT 1 FROM document WHERE shelf = new.shelf AND key = new.key)",
}
"""When a new row is none that follows the others."""


def _triggers(table: str, out_of_place: str) -> str:
    refuse = f"BEGIN SELECT raise(ABORT, '{table} is append-only'); END;"
    return f"""
CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} WHEN {out_of_place} {refuse}
CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} {refuse}
CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {refuse}
"""


SCHEMA: Final = "".join(
    [
        _TABLES,
        *(_triggers(table, out_of_place) for table, out_of_place in _NEXT.items()),
        f"PRAGMA application_id = {APPLICATION_ID};\n",
        f"PRAGMA user_version = {FORMAT};\n",
    ]
)
