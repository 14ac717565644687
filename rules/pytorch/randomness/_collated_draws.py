"""Random numbers that a function draws once for all samples that it makes a batch of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, External
from transpile.facts.walk import descendants
from transpile.plan.data.collation import functions_of
from transpile.plan.data.data_code import given_to, reached_by
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.rules.pytorch.randomness._sent_draws import CHOOSING, NUMBERS, SIZED

LOOPS = (cst.For, cst.While, cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp, cst.Lambda)


def collated_draws(plan: Plan) -> Iterator[tuple[Module, cst.Call]]:
    """The draws in functions that make the batches of a training, for a batch as a whole."""
    seen: set[int] = set()
    for loader in plan.training_loaders:
        collating = functions_of(given_to(loader, "collate_fn"))
        for function, node in reached_by(plan, collating).nodes:
            if not isinstance(node, cst.Call) or id(node) in seen:
                continue
            seen.add(id(node))
            if draws_once(plan, node) and not in_loop(function.module, node):
                yield function.module, node


def draws_once(plan: Plan, node: cst.Call) -> bool:
    """Whether a call draws what is not for single samples."""
    names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
    if names & NUMBERS:
        return True
    if names & SIZED.keys():
        keywords = {arg.keyword.value for arg in node.args if arg.keyword is not None}
        return "size" not in keywords and len(node.args) <= max(SIZED[n] for n in names & {*SIZED})
    if not names & (CHOOSING | plan.table.draws):
        return False
    if any(name.endswith("_like") for name in names):
        return False
    parts = [part for arg in node.args for part in descendants(arg.value)]
    return all(
        isinstance(value, (Constant, External))
        for part in parts
        if isinstance(part, cst.BaseExpression) and not isinstance(part, (cst.Tuple, cst.List))
        for value in plan.facts.values_of(part)
    )


def in_loop(module: Module, node: cst.CSTNode) -> bool:
    """Whether a place may be come to for each sample, as far as its own function goes."""
    for outer in ancestors(module, node):
        if isinstance(outer, LOOPS):
            return True
        if isinstance(outer, cst.FunctionDef):
            return False
    return False
