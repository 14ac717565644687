"""Folders that files are written to and listed from, as far as the text of their paths says."""

from __future__ import annotations

import posixpath
import re

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls

#: Functions that list what is in a folder.
LISTING = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"})
#: Where a pattern stops to be plain text.
WILDCARD = re.compile(r"[*?\[]")
#: How deep a path is analysed.
DEEPEST = 8


def lists_folder_of(read: Event, path: Values, target: Values) -> bool:
    """Whether a call lists the folder, or one above it, that a file is written to.

    Args:
        read: the call that reads.
        path: the folder or pattern that it is given.
        target: the path that is written.
    """
    if not any(isinstance(each, External) and each.name in LISTING for each in read.callee):
        return False
    listed = {folder for value in path for folder in (folder_listed(value),) if folder}
    written = {folder for value in target for folder in (folder_written(value),) if folder}
    return any(one == other or one.startswith(f"{other}/") for one in written for other in listed)


def folder_listed(value: Value) -> str:
    """The folder that a pattern or path lists; empty where its text does not say."""
    text, whole = beginning(value, DEEPEST)
    wildcard = WILDCARD.search(text)
    if wildcard is not None:
        text, whole = text[: wildcard.start()], False
    return normal(text if whole else text.rpartition("/")[0])


def folder_written(value: Value) -> str:
    """The folder of a file; empty where the text of its path does not say."""
    text, _ = beginning(value, DEEPEST)
    return normal(text.rpartition("/")[0])


def normal(folder: str) -> str:
    """A folder's path without what does not matter; empty for an empty one."""
    return posixpath.normpath(folder) if folder else ""


def beginning(value: Value, depth: int) -> tuple[str, bool]:
    """The text that a path begins with, and whether that is all of it."""
    if isinstance(value, Constant):
        return str(value.value), True
    if not isinstance(value, Opaque) or depth == 0:
        return "", False
    if value.kind == "operation" and value.name in ("Add", "concatenate"):
        return joined(value.operands, "", depth)
    if value.kind == "operation" and value.name == "format":
        return formatted(value), False
    if value.kind == "call" and "os.path.join" in called_names(value):
        given = tuple(each.values for each in value.arguments.positional())
        return joined(given, "/", depth)
    for name, receiver in method_calls(value):
        if name == "format" and len(receiver) == 1 and isinstance(receiver[0], Constant):
            return str(receiver[0].value).partition("{")[0], False
    return "", False


def joined(parts: tuple[Values, ...], separator: str, depth: int) -> tuple[str, bool]:
    """The text that several parts of a path begin with, one after the other."""
    text = ""
    for position, values in enumerate(parts):
        if len(values) != 1:
            return text, False
        following, whole = beginning(values[0], depth - 1)
        text += (separator if position else "") + following
        if not whole:
            return text, False
    return text, True


def formatted(value: Opaque) -> str:
    """The text that a formatted string begins with."""
    node = value.node
    if not isinstance(node, cst.FormattedString) or not node.parts:
        return ""
    first = node.parts[0]
    return first.value if isinstance(first, cst.FormattedStringText) else ""
