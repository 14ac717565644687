"""The text of a module of helpers: written, recognised, and united with another."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from transpile.records import dataclass

#: What tells a module of helpers from any other that has its name.
DOCSTRING = "What this project needs in order to train in several processes."
_STANDARD = frozenset(
    {
        "contextlib", "copy", "dataclasses", "datetime", "functools", "io", "itertools",
        "logging", "os", "pickle", "pipes", "random", "sys", "tempfile", "typing",
    }
)  # fmt: skip


@dataclass(frozen=True)
class HelperText:
    """A module of helpers by its parts.

    Args:
        imports: its import statements, one for each name.
        blocks: its functions and classes by name, in their order.
    """

    imports: frozenset[str]
    blocks: Mapping[str, str]

    def __str__(self) -> str:
        lines = joined_imports(sorted(self.imports, key=plain_first))
        standard = [line for line in lines if not import_order(line)[0]]
        others = [line for line in lines if import_order(line)[0]]
        sections = [f'"""{DOCSTRING}"""', "\n".join(standard), "\n".join(others)]
        head = "\n\n".join(filter(None, sections))
        return "\n\n\n".join([head, *self.blocks.values()]) + "\n"

    def with_helpers(
        self, other: HelperText, order: Sequence[str], *, replaces: bool = False
    ) -> HelperText | None:
        """This module with the helpers of another one; None where one name has two texts.

        Args:
            other: the other one.
            order: the names of all helpers, in the order in which they are written.
            replaces: of two texts the other one's is taken.
        """
        shared = self.blocks.keys() & other.blocks.keys()
        if not replaces and any(self.blocks[name] != other.blocks[name] for name in shared):
            return None
        both = {**self.blocks, **other.blocks}
        names = [name for name in order if name in both]
        names += [name for name in both if name not in names]
        return HelperText(self.imports | other.imports, {name: both[name] for name in names})


def read_helpers(text: str) -> HelperText | None:
    """The parts of a module that a conversion wrote; None for any other."""
    if not text.startswith(f'"""{DOCSTRING}"""\n'):
        return None
    try:
        body = ast.parse(text).body[1:]
    except (SyntaxError, ValueError):
        return None
    lines = text.splitlines()
    imports: set[str] = set()
    places: dict[str, tuple[int, int | None]] = {}
    last = ""
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            parts = [
                ast.ImportFrom(statement.module, [a], statement.level) for a in statement.names
            ]
            imports.update(map(ast.unparse, parts))
        elif isinstance(statement, ast.Import):
            imports.add(ast.unparse(statement))
        elif name := defined(statement):
            decorators = [each.lineno for each in getattr(statement, "decorator_list", ())]
            places[name] = min([statement.lineno, *decorators]) - 1, statement.end_lineno
            last = name
        elif last:
            # What is done once with a helper belongs to it.
            places[last] = places[last][0], statement.end_lineno
    blocks = {name: "\n".join(lines[first:end]) for name, (first, end) in places.items()}
    found = HelperText(frozenset(imports), blocks)
    return found if str(found) == text else None


def defined(statement: ast.stmt) -> str:
    """The name that a statement gives to a function, a class or a value; empty for none."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return ""


def united(before: bytes, data: bytes, order: Sequence[str], *, replaces: bool) -> bytes | None:
    """A module of helpers with those that it has already; None where two have one name.

    Args:
        before: what is there.
        data: what is needed.
        order: the names of all helpers, in the order in which they are written.
        replaces: of two with one name, the one that is needed is taken.

    Raises:
        ValueError: what is there was not written by a conversion.
    """
    there, needed = read_helpers(before.decode("utf-8", "replace")), read_helpers(data.decode())
    if there is None or needed is None:
        raise ValueError("not written by a conversion")
    both = there.with_helpers(needed, order, replaces=replaces)
    return str(both).encode() if both is not None else None


def joined_imports(lines: Sequence[str]) -> list[str]:
    """Sorted imports, those of names from one module in one line."""
    found: list[str] = []
    for line in lines:
        head, _, name = line.partition(" import ")
        if name and found and found[-1].startswith(f"{head} import "):
            found[-1] += f", {name}"
        else:
            found.append(line)
    return found


def import_order(line: str) -> tuple[int, str]:
    """Standard library first, as people sort imports."""
    standard = line.split()[1].split(".")[0] in _STANDARD
    return (0 if standard else 1, line)


def plain_first(line: str) -> tuple[int, bool, str]:
    """Like :func:`import_order`, and ``import`` before ``from``."""
    return import_order(line)[0], line.startswith("from "), line
