"""Questions to the file system, noted, so that what was made of the answers can be kept.

What a conversion says of a script depends on the files that it reads and on those that it looks
for and does not find. Each such question passes through here or through `transpile.reading`; asked
again later, all of them have the same answers exactly where the conversion would say the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

#: What is asked, and of which file.
Question = tuple[str, str]
AnyPath = str | os.PathLike[str]
Value = TypeVar("Value")

#: So many folders beside each other are no parts of one project.
MANY = 40
_WALK = "walk"
_GLOB = "glob:"
_notes: ContextVar[dict[Question, str] | None] = ContextVar("notes", default=None)


@contextmanager
def noted() -> Iterator[dict[Question, str]]:
    """Note every question and its answer until the end of the block."""
    notes: dict[Question, str] = {}
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def is_file(path: AnyPath) -> bool:
    """Whether there is a regular file; see :meth:`pathlib.Path.is_file`."""
    return _ask("file", path, Path.is_file)


def is_folder(path: AnyPath) -> bool:
    """Whether there is a folder."""
    return _ask("folder", path, Path.is_dir)


def exists(path: AnyPath) -> bool:
    """Whether there is anything."""
    return _ask("anything", path, Path.exists)


def is_crowded(path: AnyPath) -> bool:
    """Whether a folder has so many folders in it that it is no project."""
    return _ask("crowded", path, _is_crowded)


def size(path: AnyPath) -> int:
    """How many bytes a file has.

    Raises:
        OSError: nobody can tell.
    """
    return _ask("size", path, _size)


def real(path: AnyPath) -> Path:
    """The path without links."""
    return _ask("real", path, Path.resolve)


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder, or of those in it, that match a pattern, in their order."""
    return [folder / name for name in _names(f"{_GLOB}{pattern}", folder, _glob_of(pattern))]


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders and Python files below a folder; see :func:`os.walk`."""
    for parent, folders, files in os.walk(folder):
        files = [name for name in files if name.endswith(".py")]
        note(_WALK, parent, digest("/".join(_entries(folders, files)).encode(*_ANY)))
        yield parent, folders, files


def note(kind: str, path: AnyPath, answer: str) -> None:
    """Note an answer where anybody wants to know."""
    notes = _notes.get()
    if notes is not None:
        notes[kind, os.path.abspath(path)] = answer


def note_bytes(path: AnyPath, data: bytes) -> None:
    """Note what a file holds, where anybody wants to know."""
    if _notes.get() is not None:
        note("bytes", path, digest(data))


def failure(error: OSError) -> str:
    """The answer to a question that fails."""
    return f"! {error.errno} {error.strerror}"


def digest(data: bytes) -> str:
    """What tells one content from another."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def answer(question: Question) -> str:
    """What a noted question has as its answer now."""
    kind, path = question
    try:
        if kind in _KINDS:
            return str(_KINDS[kind](Path(path)))
        if kind.startswith(_GLOB):
            return "/".join(_glob_of(kind[len(_GLOB) :])(Path(path)))
        if kind == _WALK:
            _, folders, files = next(os.walk(path), ("", [], []))
            files = [name for name in files if name.endswith(".py")]
            return digest("/".join(_entries(folders, files)).encode(*_ANY))
        from transpile.reading import read_regular

        return digest(read_regular(path))
    except OSError as error:
        return failure(error)


def _ask(kind: str, path: AnyPath, how: Callable[[Path], Value]) -> Value:
    path = Path(path)
    if _notes.get() is None:
        return how(path)
    try:
        value = how(path)
    except OSError as error:
        note(kind, path, failure(error))
        raise
    note(kind, path, str(value))
    return value


def _names(kind: str, folder: Path, how: Callable[[Path], list[str]]) -> list[str]:
    names = how(folder)
    note(kind, folder, "/".join(names))
    return names


def _glob_of(pattern: str) -> Callable[[Path], list[str]]:
    return lambda folder: sorted(
        file.relative_to(folder).as_posix() for file in folder.glob(pattern)
    )


def _entries(folders: list[str], files: list[str]) -> Iterator[str]:
    """What a listing is told by; other files than scripts come and go without a meaning."""
    yield from sorted(name for name in folders if not name.startswith("."))
    yield ""
    yield from sorted(files)


def _is_crowded(path: Path) -> bool:
    return sum(1 for one in path.glob("*") if not one.suffix) >= MANY


def _size(path: Path) -> int:
    return path.stat().st_size


_ANY = ("utf-8", "surrogateescape")
_KINDS: dict[str, Callable[[Path], object]] = {
    "crowded": _is_crowded,
    "file": Path.is_file,
    "folder": Path.is_dir,
    "anything": Path.exists,
    "size": _size,
    "real": Path.resolve,
}
