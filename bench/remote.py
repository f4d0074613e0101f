"""A local table behind a file system that takes its time for every request, and counts them, like an object store."""
from __future__ import annotations

import io
import logging
import os
import threading
import time

import pyarrow.fs as pafs
from fsspec.implementations.local import LocalFileSystem
from pypaimon.common.options import Options
from pypaimon.filesystem.pyarrow_file_io import PyArrowFileIO
from pypaimon.table.file_store_table import FileStoreTable

__all__ = ["Meter", "counted_table"]


class Meter:
    """Requests and bytes since the last reset; every request waits ``seconds`` first."""

    def __init__(self, seconds: float):
        self.seconds, self._lock = seconds, threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.requests = self.bytes_read = 0

    def request(self, length: int = 0) -> None:
        with self._lock:
            self.requests += 1
            self.bytes_read += length
        time.sleep(self.seconds)


class SlowFileSystem(LocalFileSystem):
    """HEAD, LIST and ranged GET of local files, each one request."""

    cachable = False

    def __init__(self, meter: Meter):
        super().__init__()
        self.meter = meter

    def info(self, path, **kwargs):
        self.meter.request()
        return super().info(path, **kwargs)

    def ls(self, path, detail=False, **kwargs):
        self.meter.request()
        return [super(SlowFileSystem, self).info(f"{path}/{name}") if detail else f"{path}/{name}"
                for name in os.listdir(path)]

    def exists(self, path, **kwargs):
        self.meter.request()
        return os.path.exists(path)

    def _open(self, path, mode="rb", **kwargs):
        return SlowFile(path, self.meter) if mode == "rb" else super()._open(path, mode=mode, **kwargs)


class SlowFile(io.RawIOBase):
    """A file of which every read is a request."""

    def __init__(self, path: str, meter: Meter):
        self._file, self._meter = open(path, "rb"), meter  # closed by close()
        self.size = os.fstat(self._file.fileno()).st_size

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, *where):
        return self._file.seek(*where)

    def tell(self):
        return self._file.tell()

    def read(self, length=-1):
        data = self._file.read(length)
        self._meter.request(len(data))
        return data

    def readinto(self, target):
        length = self._file.readinto(target)
        self._meter.request(length)
        return length

    def close(self):
        self._file.close()
        super().close()


class _FileIO(PyArrowFileIO):
    """pypaimon over any Arrow file system: it has no hook for one of fsspec, so its constructor is not called."""

    def __init__(self, filesystem):
        self.properties = Options({})
        self.filesystem = filesystem
        self.logger = logging.getLogger(__name__)

    def to_filesystem_path(self, path):
        return path.removeprefix("file:")


def counted_table(path: str, seconds: float):
    """(pypaimon table, Meter) of a local table; every request takes ``seconds`` longer than the disk does."""
    local = FileStoreTable.from_path(path)
    meter = Meter(seconds)
    file_io = _FileIO(pafs.PyFileSystem(pafs.FSSpecHandler(SlowFileSystem(meter))))
    schema = local.table_schema
    schema = schema.copy(new_options={**schema.options, "scan.manifest.parallelism": "64"})
    return FileStoreTable(file_io, local.identifier, path, schema), meter
