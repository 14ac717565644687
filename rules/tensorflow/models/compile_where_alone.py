"""Let XLA compile steps where there is one worker alone.

What:
    ``tf.function(jit_compile=True)`` around a step is told not to compile it where there are
    several workers.

Why:
    XLA compiles no communication between workers, which calls of models need there. The function
    is still a graph, and computes the same.

Before:
    @tf.function(jit_compile=True)
    def step(x):
        return tf.reduce_sum(x)

After:
    @tf.function(jit_compile=get_world_size() == 1)
    def step(x):
        return tf.reduce_sum(x)

Refuses when:
    the argument is not written as ``True`` there.

Source:
    https://www.tensorflow.org/xla/known_issues
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, only_constant
from transpile.layout import replace_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.tensorflow._sites import calls_of, connects_workers, fits, loops_by_hand

CODES = {
    "TF311": "XLA compiles where there is one worker alone",
    "TF312": "XLA compiles no communication between workers",
}
WORDS = ("jit_compile", "experimental_compile")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each function that XLA compiles."""
    if (not fits(plan) and not loops_by_hand(plan)) or connects_workers(plan):
        return
    seen: set[int] = set()
    for event in calls_of(plan, frozenset({"tensorflow.function"})):
        given = compiled(event)
        if given is None or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        if isinstance(given.node, cst.Name) and given.node.value == "True":
            why = "XLA compiles this where there is one worker alone"
            yield Ruling.apply("TF311", event, why, data=given.node)
        else:
            why = "XLA may compile this, and compiles no communication between workers"
            yield Ruling.refuse("TF312", event, why, "leave jit_compile out")


def compiled(event: Event) -> Argument | None:
    """The argument that has XLA compile a function."""
    for word in WORDS:
        given = event.arguments.keyword(word)
        constant = only_constant(given.values) if given is not None else None
        if constant is not None and constant.value is True:
            return given
    return None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The condition in the place of the constant."""
    yield Helper("get_world_size", ruling.module)
    name = plan.names_in(ruling.module).fresh("get_world_size")
    for edit in replace_expression(ruling.module.source, ruling.data, f"{name}() == 1"):
        yield In(ruling.module, edit)
