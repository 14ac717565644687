"""What a script reports: lines, log files and trackers, and the numbers that are put into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import (
    Constant,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.graph import called_names, walk_back
from transpile.plan.query import query
from transpile.rules.pytorch.audit._log_files import silences
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

REPORTS = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.TRACK, Kind.SWITCHED_TRACK)
#: Methods by which a bar shows numbers.
OF_BARS = frozenset({"set_description", "set_description_str", "set_postfix", "set_postfix_str"})
#: Functions that make a text, or another container, of what they are given.
TEXTS = frozenset(
    {
        "builtins.str", "builtins.repr", "builtins.format", "json.dumps", "pprint.pformat",
        "builtins.list", "builtins.tuple", "builtins.dict", "builtins.sorted", "builtins.vars",
    }
)  # fmt: skip
TEXT_METHODS = frozenset({"format", "join"})
#: Packages whose objects are no meters, or take numbers over all processes by themselves.
NO_METERS = (
    "torch.", "numpy.", "builtins.", "torchmetrics.", "torcheval.", "evaluate.", "ignite.",
    "wandb.", "logging.", "tqdm.", "argparse.", "time.", "os.", "torchvision.",
)  # fmt: skip
FIELD = re.compile(r"\{(\w+)\.(\w+)")
#: More parts than this are not told apart in one report.
MOST_PARTS = 400


@query
def reports(audit: Audit) -> list[Effect]:
    """The calls that report something, in the order in which the run meets them.

    What is written into open files counts where one process does it; others have their own.
    """
    found = [
        effect
        for effect in find_effects(audit.plan, VOCABULARY)
        if effect.kind in REPORTS or (effect.kind is Kind.HANDLE and is_line_of_one(audit, effect))
    ]
    bars: dict[int, Effect] = {}
    for event in audit.facts.calls:
        if isinstance(event.node, cst.Call) and shows_bar(audit, event):
            new = Effect(Kind.PROGRESS, "set_description()", event.module, event.node, [])
            bars.setdefault(id(event.node), new).events.append(event)
    return sorted((*found, *bars.values()), key=lambda effect: effect.event.order)


def shows_bar(audit: Audit, event: Event) -> bool:
    """Whether a call shows something beside a bar of progress."""
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in OF_BARS
        and any(is_bar(audit, one) for one in callee.operands[0])
        for callee in event.callee
    )


def is_bar(audit: Audit, value: Value) -> bool:
    """Whether a value is a bar of progress, which stands for what it goes over."""
    node = getattr(value, "node", None)
    makers = audit.facts.values_of(node.func) if isinstance(node, cst.Call) else ()
    return any(getattr(maker, "name", "").startswith("tqdm.") for maker in makers)


def is_line_of_one(audit: Audit, effect: Effect) -> bool:
    """Whether one process writes texts into an open file."""
    texts = (
        isinstance(value, Opaque) and (is_text(value) or is_made_text(value))
        for event in effect.events
        for item in event.arguments.items
        for value in item.values
    )
    return any(texts) and is_of_one(audit, effect)


def is_of_one(audit: Audit, effect: Effect) -> bool:
    """Whether the first process makes a call, and another one does not."""
    first, second, _ = audit.makes(effect.node)
    return first and not second


def is_heard_once(audit: Audit, effect: Effect) -> bool:
    """Whether a report comes from one process, or is silent on the others."""
    if effect.kind is Kind.LOG and is_silenced(audit):
        return True
    if effect.kind is Kind.PRINT and replaces_print(audit):
        return True
    return is_of_one(audit, effect)


@query
def is_silenced(audit: Audit) -> bool:
    """Whether loggers are set up in another way on other processes."""
    found: bool = silences(audit, Ranks(audit.vocabulary))
    return found


@query
def replaces_print(audit: Audit) -> bool:
    """Whether the script puts a function of its own in place of ``print``."""
    return any(event.kind == "store" and event.name == "print" for event in audit.facts.events)


@query
def contents(audit: Audit) -> dict[int, list[Values]]:
    """What is put into objects by index, or given to what no module of the script makes.

    Of meters and lists of other libraries nothing else is to be known.
    """
    found: dict[int, list[Values]] = {}
    for event in audit.facts.events:
        if event.kind == "store" and event.name == "[]":
            for owner in event.callee:
                found.setdefault(id(owner), []).append(event.result)
        elif event.kind == "call" and isinstance(event.module.source.parent(event.node), cst.Expr):
            for callee in event.callee:
                if isinstance(callee, Opaque) and callee.kind == "attribute":
                    for owner in filter(is_kept, callee.operands[0]):
                        given = tuple(v for item in event.arguments.items for v in item.values)
                        found.setdefault(id(owner), []).append(given)
    return found


def is_kept(value: Value) -> bool:
    """Whether a value is an object of a class outside of the project, and no tensor."""
    names = called_names(value)
    return bool(names) and not any(name.startswith(NO_METERS) for name in names)


def with_contents(
    values: Values, stored: dict[int, list[Values]], enters: Callable[[Value], bool]
) -> Iterator[Value]:
    """What values came from, and what was put into the objects among it."""
    pending, opened = [values], set[int]()
    while pending:
        for value in walk_back(pending.pop(), enters):
            yield value
            if id(value) in stored and id(value) not in opened and enters(value):
                opened.add(id(value))
                pending.extend(stored[id(value)])


def parts_of(event: Event) -> Iterator[Values]:
    """The numbers that a call reports, each by itself.

    They are taken out of texts, containers, and objects of the script that a text shows.
    """
    pending = [item.values for item in event.arguments.items]
    pending.append(event.arguments.rest)
    opened: set[int] = set()
    count = 0
    while pending and count < MOST_PARTS:
        values = pending.pop(0)
        count += 1
        shells = [value for value in values if is_shell(value)]
        plain = tuple(value for value in values if not is_shell(value))
        if plain:
            yield plain
        new = [value for value in shells if id(value) not in opened]
        opened.update(map(id, new))
        parts = [part for value in new for part in inside(value)]
        # Which of several containers it is depends on the way: they are one number together.
        pending.extend(parts if len(shells) == 1 else [join(*parts)])


def is_shell(value: Value) -> bool:
    """Whether a value is a text or a container that others are put into, or an object."""
    if isinstance(value, (Sequence, Mapping)):
        return True
    if isinstance(value, Instance):
        return set(value.cls.external_bases()) <= {"builtins.object"}
    return isinstance(value, Opaque) and (is_text(value) or is_made_text(value))


def is_text(value: Opaque) -> bool:
    """Whether a value is a text that others are put into."""
    if value.kind != "operation":
        return False
    if value.name == "Add":
        # ``json.dumps(numbers) + "\\n"``
        return any(is_written_text(one) for group in value.operands for one in group)
    return value.name in ("format", "concatenate")


def is_written_text(value: Value) -> bool:
    """Whether a value is a text that is written in the script."""
    return type(value) is Constant and isinstance(value.value, str)


def is_made_text(value: Opaque) -> bool:
    """Whether a value is what a function or a method makes a text of."""
    if value.kind != "call":
        return False
    if not TEXTS.isdisjoint(called_names(value)):
        return True
    return any(
        isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in TEXT_METHODS
        for callee in value.callee
    )


def inside(value: Value) -> Iterator[Values]:
    """What is in a text, a container or an object."""
    if isinstance(value, Sequence):
        yield from value.elements
        yield value.rest
    elif isinstance(value, Mapping):
        yield from (entry.values for entry in value.entries.values())
        yield value.rest
    elif isinstance(value, Instance):
        yield from value.attributes.values()
    elif isinstance(value, Opaque) and value.kind == "operation":
        yield from value.operands
    elif isinstance(value, Opaque):
        named = fields(value)
        for item in value.arguments.items:
            if item.keyword not in named:
                yield item.values
                continue
            for one in item.values:
                if not isinstance(one, Instance):
                    yield (one,)
                    continue
                for name in named[item.keyword]:
                    yield one.attributes.get(name, ())
        yield value.arguments.rest


def fields(value: Opaque) -> dict[str | None, list[str]]:
    """The attributes that a text such as ``"{loss.avg}"`` shows of what it is given."""
    found: dict[str | None, list[str]] = {}
    for callee in value.callee:
        for text in callee.operands[0] if isinstance(callee, Opaque) and callee.operands else ():
            if isinstance(text, Constant) and isinstance(text.value, str):
                for name, attribute in FIELD.findall(text.value):
                    found.setdefault(name, []).append(attribute)
    return found
