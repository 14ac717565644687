"""Which files and folders a script writes itself."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, External, Mapping, Opaque, Value, Values
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query

#: What writes a file or makes a folder, to the position of the path.
WRITERS = {
    "torch.save": 1, "torch.jit.save": 1, "numpy.save": 0, "numpy.savez": 0, "builtins.open": 0,
    "os.makedirs": 0, "os.mkdir": 0, "pickle.dump": 9, "shutil.copyfile": 1, "shutil.copy": 1,
}  # fmt: skip


def writes_into(plan: Plan, values: Values) -> bool:
    """Whether the script writes to a path, or into the folder that it is."""
    written = written_paths(plan)
    return any(
        path and other and other[: len(path)] == path
        for path in spellings(values)
        for other in written
    )


@query
def written_paths(plan: Plan) -> set[tuple[object, ...]]:
    """The paths that the script writes while it trains, as far as they are spelled out."""
    found: set[tuple[object, ...]] = set()
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, External) and callee.name in WRITERS:
                argument = event.arguments.get("path", None) or event.arguments.get(
                    "f", WRITERS[callee.name]
                )
                if callee.name == "builtins.open":
                    mode = event.arguments.get("mode", 1)
                    words = mode.values if mode is not None else ()
                    if not any(isinstance(v, Constant) and "w" in str(v.value) for v in words):
                        continue
                if argument is not None:
                    found.update(spellings(argument.values))
    return found


def spellings(values: Values) -> set[tuple[object, ...]]:
    """Paths as their parts: strings, and the identities of what is not known."""
    found: set[tuple[object, ...]] = set()
    for value in values:
        found.add(tuple(parts_of(value)))
    return found


def parts_of(value: Value, depth: int = 0) -> Iterator[object]:
    """The parts of a path."""
    if isinstance(value, Constant):
        text = str(value.value)
        yield from (part for part in text.split("/") if part not in ("", "."))
        return
    if isinstance(value, Opaque) and depth < 8:
        joins = any(
            name in ("os.path.join", "pathlib.Path", "builtins.str", "os.fspath", "os.path.abspath")
            for name in called_names(value)
        )
        groups: list[Values] = []
        if joins:
            groups = [argument.values for argument in value.arguments.items]
        elif value.kind == "operation":
            groups = list(value.operands)
        if groups:
            for group in groups:
                for part in group[:1]:
                    yield from parts_of(part, depth + 1)
            return
    if isinstance(value, Mapping):
        return
    yield id(value)
