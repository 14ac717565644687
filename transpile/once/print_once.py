"""Print to standard output once per job.

What:
    Every ``print`` becomes a call of a small helper that prints on the process with rank 0 alone.
    The arguments are still evaluated in every process, so that a forward pass, a collective or a
    random number among them stays what it was. Prints to standard error stay as they are. What
    computes before it prints, such as a summary of a model, runs in every process, too.

Why:
    With N processes every line would come out N times, mixed with those of the others.

Before:
    print("loss", evaluate(model))

After:
    print_once("loss", evaluate(model))

Refuses when:
    never.

Source:
    $rank_source
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.layout import replace_expression, wrap_expression
from transpile.once.shared import once_of
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "501": "prints once per job",
}

PRINT = (External("builtins.print"),)
#: ``print`` that is not called right there.
REFERENCE = re.compile(r"\bprint\b(?!\s*\()")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each print of the script."""
    once = once_of(plan)
    references = list(passed_on(plan, once))
    for effect, how in once.finished(Kind.PRINT):
        yield Ruling.done(
            f"{plan.table.prefix}501", effect, f"it prints {how}", claims=(effect.node,)
        )
    for effect in once.pending(Kind.PRINT):
        yield Ruling.apply(
            f"{plan.table.prefix}501",
            effect,
            "it prints once per job",
            data=replaced(plan, effect, references),
            claims=(effect.node,),
        )
    for effect in once.pending(Kind.REPORT):
        yield Ruling.apply(
            f"{plan.table.prefix}501",
            effect,
            "every process computes it, and one prints",
            data=effect,
            claims=(effect.node,),
        )
    for reference in references:
        yield Ruling.apply(
            f"{plan.table.prefix}501",
            (plan.entry, reference),
            "it is handed on in order to print",
            data=reference,
        )


def passed_on(plan: Plan, once: Once) -> Iterator[cst.Name]:
    """The places where the script hands ``print`` on as a value."""
    scope = plan.entry.scope
    if not REFERENCE.search(plan.entry.source.text) or (scope and "print" in scope.names):
        return
    source = plan.entry.source
    for node in source.nodes_of(cst.Name):
        if node.value != "print":
            continue
        if plan.facts.values_of(node) != PRINT:
            continue
        parent = source.parent(node)
        if isinstance(parent, cst.Call) and parent.func is node:
            continue
        if not guarded(plan.entry, node, once):
            yield node


def guarded(module: Module, node: cst.CSTNode, once: Once) -> bool:
    """Whether a place stands under a test of the rank."""
    return any(
        isinstance(parent, (cst.If, cst.IfExp)) and once.ranks.tests_rank(parent.test)
        for parent in module.source.parents(node)
    )


def replaced(plan: Plan, effect: Effect, references: list[cst.Name]) -> cst.BaseExpression | None:
    """What to put the helper's name in place of; None where a reference to `print` is replaced."""
    function = effect.node.func
    if isinstance(function, cst.Name) and function.value == "print":
        return function
    if references or plan.facts.values_of(function) != PRINT:
        return None
    return function


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper's name in the place of ``print``."""
    if ruling.data is None:
        return
    if isinstance(ruling.data, Effect):
        yield from reported_once(plan, ruling.module, ruling.data.node.func)
        return
    yield Helper("print_once", ruling.module)
    name = plan.names_in(ruling.module).fresh("print_once")
    for edit in replace_expression(ruling.module.source, ruling.data, name):
        yield In(ruling.module, edit)


def reported_once(plan: Plan, module: Module, function: cst.BaseExpression) -> Iterator[Change]:
    """The helper around what prints what it computes."""
    yield Helper("report_once", module)
    name = plan.names_in(module).fresh("report_once")
    for edit in wrap_expression(module.source, function, f"{name}(", ")"):
        yield In(module, edit)
