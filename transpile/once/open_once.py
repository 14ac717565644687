"""Open files for writing on one process, and nowhere else.

What:
    A file that is opened for writing where no guard can go around all of its uses is opened on
    the process with rank 0; the others write to nowhere. Everything written through the handle
    (``csv``, ``json.dump``, ``print(file=...)``) needs no change then. The same goes for log files.

Why:
    Processes that write one file at the same time overwrite each other's lines.

Before:
    results = open("results.csv", "w")

After:
    results = open("results.csv" if is_main_process() else os.devnull, "w")

Refuses when:
    never: files that are read and written through one handle are reported.

Source:
    https://docs.python.org/3/library/os.html#os.devnull
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, External
from transpile.once.shared import argument_of, once_of, only_here
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Remark, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "521": "a file is opened for writing by one process",
    "522": "a file is opened for writing by every process",
}

NOWHERE = External("os.devnull")
ROTATING = frozenset(
    {"logging.handlers.RotatingFileHandler", "logging.handlers.TimedRotatingFileHandler"}
)
BY_HAND = "open it on rank 0 alone"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each file that is opened for writing."""
    once = once_of(plan)
    for effect, how in once.finished(Kind.OPEN, Kind.LOG_FILE, Kind.MODIFY):
        yield done(plan, effect, how)
    for effect in once.pending(Kind.OPEN, Kind.LOG_FILE):
        path = path_of(effect)
        if path is not None and leads_nowhere(once, path.value):
            yield done(plan, effect, "on one rank alone")
        elif path is None:
            yield Remark.warn(
                f"{plan.table.prefix}522",
                effect,
                f"{effect.word} {effect.kind.value} in every process: its arguments are unpacked",
                BY_HAND,
            )
        else:
            yield Ruling.apply(
                f"{plan.table.prefix}521",
                effect,
                f"{effect.word} {effect.kind.value} once per job",
                data=effect,
                claims=(effect.node,),
            )
    for effect in once.pending(Kind.MODIFY):
        if any(event.detached for event in effect.events) and unknown_mode(effect):
            continue
        yield Remark.warn(
            f"{plan.table.prefix}522",
            effect,
            f"{effect.word} may change a file that every process opens",
            BY_HAND,
        )


def done(plan: Plan, effect: Effect, how: str) -> Ruling:
    """The answer for a file that needs no guard."""
    return Ruling.done(
        f"{plan.table.prefix}521",
        effect,
        f"{effect.word} {effect.kind.value} {how}",
        claims=(effect.node,),
    )


def unknown_mode(effect: Effect) -> bool:
    """Whether the mode of an opened file is not known at all."""
    mode = effect.event.arguments.get("mode", 1)
    return mode is not None and not any(isinstance(v, Constant) for v in mode.values)


def path_of(effect: Effect) -> cst.Arg | None:
    """The argument that names the file; the call's own object for ``Path.open``."""
    if effect.word == "open()" and isinstance(effect.node.func, cst.Attribute):
        return cst.Arg(effect.node.func.value)
    position = 99 if effect.word == "logging.basicConfig" else 0
    written: cst.Arg | None = argument_of(effect, ("file", "filename"), position)
    return written


def leads_nowhere(once: Once, path: cst.BaseExpression) -> bool:
    """Whether a path is the null device on all ranks but one."""
    if isinstance(path, cst.IfExp) and once.ranks.tests_rank(path.test):
        return True
    values = once.plan.facts.values_of(path)
    return bool(values) and all(value == NOWHERE for value in values)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """Another path, or another handle, on the other processes."""
    yield from elsewhere_nowhere(plan, ruling.data)


def elsewhere_nowhere(plan: Plan, effect: Effect) -> Iterator[Change]:
    """Send what is written through a handle nowhere on the other processes."""
    if effect.word in ROTATING:
        logging = plan.names_in(effect.module).imported("logging", "logging")
        yield from only_here(plan, effect.module, effect.node, f"{logging}.NullHandler()")
        return
    nowhere = f"{plan.names_in(effect.module).imported('os', 'os')}.devnull"
    path = path_of(effect)
    if path is None:
        return
    if effect.word == "open()" or exclusive(effect):
        mode = "wb" if binary(effect) else "w"
        yield from only_here(plan, effect.module, effect.node, f'open({nowhere}, "{mode}")')
        return
    yield from only_here(plan, effect.module, path.value, nowhere)


def modes(effect: Effect) -> list[str]:
    """The modes that a file is opened with."""
    position = 0 if effect.word == "open()" else 1
    argument = effect.event.arguments.get("mode", position)
    values = argument.values if argument is not None else ()
    return [str(value.value) for value in values if isinstance(value, Constant)]


def exclusive(effect: Effect) -> bool:
    """Whether the file must not exist before, as the null device does."""
    return effect.kind is Kind.OPEN and any("x" in mode for mode in modes(effect))


def binary(effect: Effect) -> bool:
    """Whether bytes are written."""
    return any("b" in mode for mode in modes(effect))
