"""Reasons why files cannot stand as one checkpoint."""

from __future__ import annotations


class BadCheckpointError(Exception):
    """Something about the files of a checkpoint keeps them from being listed or hashed."""

    code = "bad_checkpoint"
    wording = "is no part of a checkpoint"

    def __init__(self, path: str) -> None:
        super().__init__(path)

    def __str__(self) -> str:
        return f"{self.args[0]!a} {self.wording}"


class MissingPathError(BadCheckpointError):
    """A path that was named is not there."""

    code = "checkpoint_path_missing"
    wording = "should be part of the checkpoint, and is not there"


class NoFilesError(BadCheckpointError):
    """No path was named, or what was named holds no file."""

    code = "checkpoint_without_files"
    wording = "should hold the files of a checkpoint, and holds none"


class LinkOutsideError(BadCheckpointError):
    """A symbolic link leads out of the checkpoint, or nowhere."""

    code = "checkpoint_link_outside"
    wording = "is a link that leads to nothing in the checkpoint: save the file itself"


class NotAFileError(BadCheckpointError):
    """Something is no regular file: a device, a socket, a pipe."""

    code = "checkpoint_not_a_file"
    wording = "is neither a file nor a folder"


class ChangedFileError(BadCheckpointError):
    """A file changed while it was being listed or read."""

    code = "checkpoint_changed"
    wording = "changed while it was read: wait until the save is over"


class UnnameableFileError(BadCheckpointError):
    """The name of a file is not UTF-8, so no manifest can state it."""

    code = "checkpoint_name_not_utf8"
    wording = "has a name that is not UTF-8"


class BadManifestError(Exception):
    """A manifest is not what a manifest is."""

    code = "bad_checkpoint_manifest"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)

    def __str__(self) -> str:
        path, reason = self.args
        return f"{path!a} is no manifest of a checkpoint: {reason}"
