"""See to it that all trainers read the same samples in the same order.

What:
    Threads that map the samples of a reader are told to keep their order. What else gives each
    process or machine an order of its own is refused or reported.

Why:
    Each trainer takes its share of every batch: with different orders the shares would overlap, and
    samples be left out.

Before:
    mapped = fluid.io.xmap_readers(decode, rows, 4, 1000)

After:
    mapped = fluid.io.xmap_readers(decode, rows, 4, 1000, order=True)

Refuses when:
    several processes read; a seed is taken from the clock; the arguments of the threads cannot be
    written.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/io/xmap_readers.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Sequence
from transpile.layout import add_argument, replace_argument_value
from transpile.plan.data.foreign_loaders import sources
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, In, Remark, Ruling, Rulings
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of

CODES = {
    "FL112": "the order of the samples differs from process to process",
    "FL113": "the order of files differs from machine to machine",
    "FL114": "an order or a number follows from hashes, which differ from process to process",
    "FL116": "threads are told to keep the order of the samples",
}
#: Where what keeps the order stands among the arguments.
PLACES = {"order": 4, "use_xmap": 2}
FLOWERS = frozenset(f"paddle.dataset.flowers.{part}" for part in ("train", "test", "valid"))
CLOCKS = ("time.", "os.urandom", "os.getpid", "uuid.", "datetime.")
LISTINGS = frozenset({"os.listdir", "glob.glob", "os.scandir", "os.walk", "glob.iglob"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that may put samples into another order."""
    roles = roles_of(plan)
    if roles.transpiles or not roles.minimizes:
        return
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        for answer in order_of(plan, event):
            if id(answer.node) not in seen:
                seen.add(id(answer.node))
                yield answer
    yield from hashes(plan)


def order_of(plan: Plan, event: Event) -> Iterator[Answer]:
    """What is to say about a call that may put samples into another order."""
    names = names_of(event)
    if "paddle.fluid.io.xmap_readers" in names:
        order = event.arguments.get("order", PLACES["order"])
        if order is None or order.values != (Constant(True),):
            yield kept_order(
                plan, event, "threads map the samples without keeping their order", "order", "True"
            )
    if "paddle.fluid.io.multiprocess_reader" in names:
        yield refusal(event, "several processes read without an order", "one reader")
    if names & FLOWERS:
        threads = event.arguments.get("use_xmap", PLACES["use_xmap"])
        if threads is None or threads.values != (Constant(False),):
            yield kept_order(
                plan, event, "threads map the samples in any order", "use_xmap", "False"
            )
    if names & {"random.seed", "numpy.random.seed"}:
        first = event.arguments.get("a", 0) or event.arguments.keyword("seed")
        if first is None or any(
            name.startswith(CLOCKS) for v in walk_back(first.values) for name in called_names(v)
        ):
            yield refusal(event, "this seed differs from process to process", "a fixed seed")
    if names & LISTINGS and not is_sorted(event):
        yield Remark.warn(
            "FL113",
            event,
            "files are listed without sorting: on machines that list them in another order the "
            "trainers' shares overlap",
            "sort the listing",
        )


def is_sorted(event: Event) -> bool:
    """Whether a listing is handed to ``sorted`` right there."""
    parent = event.module.source.parent(event.node)
    if isinstance(parent, cst.Arg):
        outer = event.module.source.parent(parent)
        return isinstance(outer, cst.Call) and getattr(outer.func, "value", "") in ("sorted", "len")
    return False


def kept_order(plan: Plan, event: Event, why: str, name: str, value: str) -> Ruling:
    """How threads are told to keep the order of the samples, or why they cannot be."""
    call = event.node
    if not isinstance(call, cst.Call) or any(argument.star for argument in call.args):
        return refusal(event, why, f"{name}={value}")
    if not names_of(event).intersection(
        getattr(each, "name", "") for each in plan.facts.values_of(call.func)
    ):
        return refusal(event, why, f"{name}={value}")
    return Ruling.apply(
        "FL116",
        (event.module, call),
        f"{why}: told to keep it, so that the trainers' shares of a batch do not overlap",
        data=(name, value),
    )


def refusal(event: Event, why: str, instead: str) -> Ruling:
    """Why the trainers would not read the same samples in the same order."""
    return Ruling.refuse(
        "FL112",
        event,
        f"{why}, so that the trainers' shares of a batch would overlap",
        f"use {instead}",
    )


def hashes(plan: Plan) -> Iterator[Remark]:
    """Orders of sets and numbers from ``hash``."""
    found: dict[int, Event] = {}
    for event in plan.facts.events:
        if event.detached:
            continue
        if event.kind == "call" and "builtins.hash" in names_of(event):
            found.setdefault(id(event.node), event)
        elif event.kind == "iterate" and event.name != "copy":
            for value in sources(event.callee):
                if isinstance(value, Sequence) and value.kind == "set":
                    found.setdefault(id(event.node), event)
    for event in found.values():
        yield Remark.warn(
            "FL114",
            event,
            "hashes of texts differ from process to process, and with them the order of a set: "
            "numbers that follow from it do not mean the same to all trainers",
            "sort the set, or take a hash of the text's bytes from zlib",
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The argument that has threads keep the order of the samples."""
    call, (name, value) = ruling.node, ruling.data
    assert isinstance(call, cst.Call)
    source = ruling.module.source
    edits = add_argument(source, call, f"{name}={value}")
    for position, argument in enumerate(call.args):
        keyword = argument.keyword.value if argument.keyword is not None else ""
        if keyword == name or (not keyword and position == PLACES[name]):
            edits = replace_argument_value(source, call, argument, value)
    for edit in edits:
        yield In(ruling.module, edit)
