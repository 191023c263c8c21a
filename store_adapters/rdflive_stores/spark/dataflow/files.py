"""Files that all executors see: a folder on disk or in an object store, through Arrow's file systems."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

__all__ = ["Folder"]

_STORES: Final = ("s3", "gcs", "abfs")
"""The file systems without folders, in which a file appears only when it is complete."""
_DRAFT: Final = ".draft-"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of some file system; executors receive it with their tasks."""

    system: fs.FileSystem
    path: str

    @classmethod
    def local(cls, path: str) -> Folder:
        """Return a folder on disk."""
        return cls(fs.LocalFileSystem(), path)

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.system, posixpath.join(self.path, name))

    def __str__(self) -> str:
        return self.path

    @property
    def has_drafts(self) -> bool:
        """True if files are first written under another name, which a killed task leaves behind."""
        return self.system.type_name not in _STORES

    @property
    def parent(self) -> Folder:
        """The enclosing folder."""
        return Folder(self.system, posixpath.dirname(self.path))

    def names(self) -> list[str]:
        """List its files and folders, including drafts of killed tasks; empty if it does not exist."""
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return [info.base_name for info in found]

    def sizes(self) -> Iterator[int]:
        """Return the bytes of each file in it and below."""
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True, recursive=True))
        return (info.size for info in found if info.type is fs.FileType.File)

    def make(self) -> None:
        """Make the folder and those above it."""
        self.system.create_dir(self.path, recursive=True)

    def is_there(self) -> bool:
        """True if the file or folder exists."""
        return bool(self.system.get_file_info(self.path).type is not fs.FileType.NotFound)

    def delete(self) -> None:
        """Remove the folder with its content, or the file; it may be gone already."""
        with suppress(FileNotFoundError):
            if self.system.get_file_info(self.path).type is fs.FileType.Directory:
                self.system.delete_dir(self.path)
            else:
                self.system.delete_file(self.path)

    def text(self, name: str) -> str:
        """Read a file; raise FileNotFoundError if it does not exist."""
        with self.system.open_input_stream(self._of(name)) as file:
            content: bytes = file.readall()
        return content.decode()

    def table(self, name: str) -> pa.Table:
        """Read a table; a file on this machine's disk is mapped into memory."""
        if isinstance(self.system, fs.LocalFileSystem):
            source = pa.memory_map(self._of(name))
        else:
            source = self.system.open_input_file(self._of(name))
        with source:
            return pa.ipc.open_file(source).read_all().combine_chunks()

    def write_text(self, name: str, text: str) -> None:
        """Write a file in one step."""
        self._write(name, text.encode())

    def write_table(self, name: str, table: pa.Table) -> int:
        """Write a table in one step, so that a killed task leaves nothing under its name; return its size."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue()
        self._write(name, content)
        return int(content.size)

    def remove(self, name: str) -> None:
        """Remove a file, which may be gone already."""
        with suppress(FileNotFoundError):
            self.system.delete_file(self._of(name))

    def _of(self, name: str) -> str:
        return posixpath.join(self.path, name)

    def _write(self, name: str, content: bytes | pa.Buffer) -> None:
        path = self._of(name)
        # another attempt of the task may write too
        draft = f"{path}{_DRAFT}{uuid4().hex}" if self.has_drafts else path
        try:
            file = self.system.open_output_stream(draft)
        except FileNotFoundError:  # the folder does not exist yet
            self.make()
            file = self.system.open_output_stream(draft)
        with file:
            file.write(content)
        if draft != path:
            try:
                self.system.move(draft, path)
            except OSError:
                # HDFS does not replace a file. An equal file stays, since a task killed between the two steps
                # would lose it. An attempt whose draft is gone comes too late.
                if self._holds(name, content):
                    self.remove(posixpath.basename(draft))
                    return
                if self.system.get_file_info(draft).type is fs.FileType.NotFound:
                    raise
                self.remove(name)
                self.system.move(draft, path)

    def _holds(self, name: str, content: bytes | pa.Buffer) -> bool:
        """True if a file exists and has this content."""
        with suppress(FileNotFoundError), self.system.open_input_stream(self._of(name)) as file:
            return bool(file.read_buffer() == pa.py_buffer(content))
        return False
