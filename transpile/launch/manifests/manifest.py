"""Manifests: YAML in which no value can be taken for anything but the text that it is."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transpile.launch.job import Job
from transpile.launch.roles import plural, total_of
from transpile.launch.scripts.shell import quote_on_one_line

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

# YAML 1.1, which Kubernetes reads, takes the words for truth values and nothing else.
_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z][\w./-]*", re.IGNORECASE | re.A
)


@dataclass(frozen=True)
class Noted:
    """A value with a comment behind it.

    Args:
        value: a text or a number.
        note: the comment.
    """

    value: str | int
    note: str


@dataclass(frozen=True)
class Block:
    """A text of the launch files themselves, such as a shell script, on lines of its own.

    Args:
        text: printable lines, each with its end.
    """

    text: str


Value = str | int | Noted | Block | Mapping[str, "Value"] | Sequence["Value"]
Object = Mapping[str, Value]


def manifest(job: Job, with_what: str, notes: Iterable[str], documents: Iterable[Object]) -> str:
    """Return the text of a manifest: its head, then its documents.

    Args:
        job: what is started.
        with_what: what starts it, such as ``a PyTorchJob of Kubeflow``.
        notes: paragraphs of the head: how the file is used, where the logs are.
        documents: the objects, with their keys in the order in which they are written.

    Raises:
        ValueError: a value is no text.
    """
    lines = [
        f"Starts {quote_on_one_line([job.script_in_image])} with {with_what}: {_total(job)}.",
        "",
        "This command makes this file again, byte for byte:",
        f"  {quote_on_one_line(job.command)}",
    ]
    for note in notes:
        lines += ["", *note.splitlines()]
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return head + "".join(f"---\n{_yaml(document)}" for document in documents)


def _total(job: Job) -> str:
    """What the pods take: without a number of GPUs, they ask for none."""
    if job.processes_per_node is not None:
        return job.total
    nodes = plural(job.nodes, "node")
    return ", ".join((f"{nodes} without GPUs, one process each", *total_of(job.roles)))


def _yaml(document: Object) -> str:
    from ruamel.yaml import YAML

    writer = YAML()
    writer.width = 2**31  # folded lines are hard to search and to change
    writer.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    writer.dump(_mapping(document), stream)
    return stream.getvalue()


def _mapping(values: Mapping[str, Value]) -> CommentedMap:
    from ruamel.yaml.comments import CommentedMap

    found = CommentedMap()
    for key, value in values.items():
        found[_text(key)] = _node(value)
        if isinstance(value, Noted):
            found.yaml_add_eol_comment(value.note, key, column=0)
    return found


def _sequence(values: Sequence[Value]) -> CommentedSeq:
    from ruamel.yaml.comments import CommentedSeq

    return CommentedSeq(map(_node, values))


def _node(value: Value) -> Any:
    from ruamel.yaml.scalarstring import LiteralScalarString

    if isinstance(value, Noted):
        value = value.value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Block):
        return LiteralScalarString(value.text)
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, Sequence):
        return _sequence(value)
    return value


def _text(text: str) -> str:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} cannot stand in a manifest: it is no text") from None
    return text if _PLAIN.fullmatch(text) else DoubleQuotedScalarString(text)
