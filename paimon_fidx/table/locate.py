"""From a data file to its open index: embedded bytes, a local path, or a stream of the table's file system."""
from __future__ import annotations

import os
from contextlib import contextmanager

from pypaimon.filesystem.local_file_io import LocalFileIO

from ..index import open_index
from .files import DataFile

__all__ = ["local_path", "opened_index", "read_index"]


@contextmanager
def opened_index(file_io, file: DataFile, schema: dict):
    """The open FileIndex of a data file, closed at the end of the ``with`` block.

    file : a DataFile with an index or an index_error; schema : {file column name: PaimonType}
    Raises FileIndexError (damaged), FileNotFoundError (the ``.index`` file is gone), ValueError (several of them).
    """
    _check_single(file)
    stream = None
    source = file.index.embedded
    if source is None:
        source = local_path(file_io, file.index.path)
        if source is None:
            source = stream = _stream(file_io, file)
        elif not os.path.exists(source):
            raise _missing(file)
    try:
        with open_index(source, schema) as index:
            yield index
    finally:
        if stream is not None:
            stream.close()


def read_index(file_io, file: DataFile) -> bytes:
    """The whole index of a data file. Raises FileNotFoundError, ValueError (several of them)."""
    _check_single(file)
    if file.index.embedded is not None:
        return file.index.embedded
    with _stream(file_io, file) as stream:
        return stream.read()


def _check_single(file: DataFile) -> None:
    if file.index_error is not None:
        raise ValueError(f"{file.path}: {file.index_error}; remove all but one from the file's extra files")


def _stream(file_io, file: DataFile):
    try:
        return file_io.new_input_stream(file.index.path)
    except FileNotFoundError as error:
        raise _missing(file) from error


def _missing(file: DataFile) -> FileNotFoundError:
    return FileNotFoundError(
        f"{file.index.path}: this index file does not exist, though the manifest lists it for the data file "
        f"{file.name}; restore or rebuild it, or scan with on_index_error='warn' to read the data file in full"
    )


def local_path(file_io, path: str) -> str | None:
    """The local path of a table's file, or None when its file system is not the local one."""
    return str(file_io._to_file(path)) if isinstance(file_io, LocalFileIO) else None
