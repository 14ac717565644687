"""What was said of a script, kept for as long as nothing changes that it was made of.

An entry is a file of the user's cache: the questions that were asked of the file system with their
answers, and what came of them. It holds for one script under one name, seen from one folder, with
the same options, by the same version of the tool. Entries are data that is checked when it is read;
one that is damaged, or of another form, is none.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from transpile.asking import Question, answer, digest
from transpile.reading import read_regular

Value = TypeVar("Value")

#: More than that is not kept.
MOST_BYTES = 64 * 1024 * 1024
#: What nobody has asked for in so many days is thrown away.
LONGEST_DAYS = 30
_ENDING = ".entry"
_TEMPORARY = ".new"
_DIGEST = 32
_DAY = 24 * 60 * 60
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by disttranspile.
# For information about cache directory tags, see https://bford.info/cachedir/
"""


@dataclass(frozen=True)
class Kept:
    """What earlier runs have kept in a folder.

    Args:
        folder: where; empty where nothing is kept.
    """

    folder: str = ""
    _answers: dict[Question, str] = field(default_factory=dict, compare=False)

    def get(self, key: tuple[str, ...], data: bytes, kind: type[Value]) -> Value | None:
        """Return what was kept of a script; None where that is nothing that still holds.

        Args:
            key: what it was asked for, as texts.
            data: what the script holds.
            kind: the type of what was kept.
        """
        if not self.folder:
            return None
        import msgspec

        path = self._path(key)
        try:
            stored = read_regular(path, MOST_BYTES)
            told, payload = stored[:_DIGEST].decode("ascii"), stored[_DIGEST:]
            if told != digest(payload):
                return None
            content, asked, value = msgspec.msgpack.decode(
                payload, type=tuple[str, list[tuple[str, str, str]], msgspec.Raw]
            )
            if content != digest(data):
                return None
            if any(self._answer((what, of)) != said for what, of, said in asked):
                return None
            found = msgspec.msgpack.decode(value, type=kind)
        except (OSError, ValueError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)
        return found

    def put(
        self, key: tuple[str, ...], data: bytes, notes: Mapping[Question, str], value: object
    ) -> None:
        """Keep what is said of a script, where that can be kept.

        Args:
            key: what it was asked for, as texts.
            data: what the script holds.
            notes: the questions that it depends on, and their answers.
            value: what is said, as data classes.
        """
        if not self.folder:
            return
        import tempfile

        import msgspec

        asked = [(what, of, said) for (what, of), said in notes.items()]
        try:
            payload = msgspec.msgpack.encode((digest(data), asked, value))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return
        with suppress(OSError):
            self._make_folder()
            stream, temporary = tempfile.mkstemp(_TEMPORARY, dir=self.folder)
            try:
                with open(stream, "wb") as file:
                    file.write(digest(payload).encode("ascii") + payload)
                os.replace(temporary, self._path(key))
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def tidy(self) -> None:
        """Throw away what was not asked for in a long time, and the oldest of too much."""
        if not self.folder:
            return
        # What another process writes at the moment is no rubbish yet.
        now = time.time()
        total = 0
        for path, found in sorted(_entries(self.folder), key=lambda each: -each[1].st_mtime):
            days = (now - found.st_mtime) / _DAY
            total += found.st_size
            if days > (1 if path.endswith(_TEMPORARY) else LONGEST_DAYS) or total > MOST_BYTES:
                with suppress(OSError):
                    os.unlink(path)

    def _answer(self, question: Question) -> str:
        """The answer of this run: files do not change while it looks at them."""
        if question not in self._answers:
            self._answers[question] = answer(question)
        return self._answers[question]

    def _path(self, key: tuple[str, ...]) -> str:
        words = (*key, os.getcwd(), os.path.expanduser("~"), sys.version, *_tool())
        name = digest("\0".join(words).encode("utf-8", "surrogateescape"))
        return os.path.join(self.folder, name + _ENDING)

    def _make_folder(self) -> None:
        if os.path.isdir(self.folder):
            return
        os.makedirs(self.folder, mode=0o700)
        for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "*\n")):
            Path(self.folder, name).write_text(text, "ascii")


def kept_by(choices: Mapping[str, Any], configured: Path | None) -> Kept:
    """What a command line has kept.

    Args:
        choices: on the command line.
        configured: the folder that the configuration names.
    """
    if choices["no_cache"]:
        return Kept()
    return Kept(os.path.abspath(choices["cache_dir"] or configured or usual_folder()))


def usual_folder() -> str:
    """Where the system has caches of the user."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
        return os.path.join(base, "disttranspile", "Cache")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "disttranspile")
    base = os.environ.get("XDG_CACHE_HOME") or ""
    # By the specification, a relative one is to be ignored.
    base = base if os.path.isabs(base) else os.path.join(home, ".cache")
    return os.path.join(base, "disttranspile")


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith((_ENDING, _TEMPORARY)):
                with suppress(OSError):
                    yield entry.path, entry.stat(follow_symlinks=False)


@cache
def _tool() -> tuple[str, ...]:
    """What tells this tool, and the parser that it uses, from any other version of both."""
    from importlib.util import find_spec

    import transpile
    import transpile.rules

    parser = find_spec("libcst")
    folders = [*transpile.__path__[:1], *transpile.rules.__path__]
    folders += (parser.submodule_search_locations or [])[:1] if parser is not None else []
    told = [transpile.__version__]
    for folder in folders:
        told += _files_below(folder, deep=parser is None or folder != folders[-1])
    return (digest("\0".join(told).encode("utf-8", "surrogateescape")),)


def _files_below(folder: str, *, deep: bool) -> list[str]:
    """The Python files of a package, with their sizes and when they were written."""
    told = [folder]
    with os.scandir(folder) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                told.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
            elif deep and "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                told += _files_below(entry.path, deep=True)
    return told
