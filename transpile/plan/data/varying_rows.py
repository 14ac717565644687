"""Collate functions that give another number of rows than they are given samples."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Function, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.data.collation import collated_by
from transpile.plan.data.data_code import body_of, called
from transpile.plan.graph import walk_back
from transpile.plan.model import Loader, Plan
from transpile.records import dataclass

#: Methods that add to a list.
ADDING = frozenset({"append", "extend", "add"})
#: Functions that hand on the elements of what they are given.
PASSING = frozenset(
    f"builtins.{name}" for name in ("enumerate", "zip", "list", "tuple", "sorted", "reversed")
)
#: Functions that give some of the elements of what they are given last.
CHOOSING = frozenset({"builtins.filter", "builtins.set", "builtins.frozenset"})
#: Operators whose results pick rows where they are an index.
COMPARISONS = frozenset(
    {
        "Equal", "NotEqual", "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual",
        "BitAnd", "BitOr", "Invert",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Rows:
    """The place at which the number of rows comes apart from that of samples."""

    module: Module
    node: cst.CSTNode


def varying_rows(plan: Plan, loader: Loader) -> Iterator[Rows]:
    """Where the collate functions of a loader leave out samples by what they are."""
    pending = list(collated_by(loader))
    seen: set[int] = set()
    while pending:
        function = pending.pop()
        if id(function.node) in seen:
            continue
        seen.add(id(function.node))
        batch = samples_of(function)
        for node in body_of(function):
            if isinstance(function.module.source.parent(node), cst.AssignTarget):
                # A part that is written to takes nothing, as where samples are padded.
                continue
            if leaves_out(plan, node, batch):
                yield Rows(function.module, node)
            if isinstance(node, cst.Call) and any(
                goes_over(plan, argument.value, batch) for argument in node.args
            ):
                for value in plan.facts.values_of(node.func):
                    pending.extend(called(value))


def samples_of(function: Function) -> set[str]:
    """The parameters of a function that may be the samples."""
    parameters = function.node.params
    return {
        each.name.value
        for each in (*parameters.posonly_params, *parameters.params)
        if each.name.value not in ("self", "cls") and each.default is None
    }


def leaves_out(plan: Plan, node: cst.CSTNode, batch: set[str]) -> bool:
    """Whether a node takes some of the samples, according to what they are or where they stand."""
    if isinstance(node, (cst.ListComp, cst.GeneratorExp, cst.SetComp)):
        clause = node.for_in
        return bool(clause.ifs) and goes_over(plan, clause.iter, batch)
    if isinstance(node, cst.DictComp):
        return goes_over(plan, node.for_in.iter, batch)
    if isinstance(node, cst.Call):
        names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
        return bool(names) and names <= CHOOSING and goes_over(plan, node.args[-1].value, batch)
    if isinstance(node, cst.For):
        adds = adds_to_some(node.body) or any(map(puts_once, descendants(node.body)))
        return adds and goes_over(plan, node.iter, batch)
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        part = node.slice[0].slice
        if isinstance(part, cst.Slice) and goes_over(plan, node.value, batch):
            return part.lower is not None or part.upper is not None
        return isinstance(part, cst.Index) and any(
            is_mask(value) for value in plan.facts.values_of(part.value)
        )
    return False


def goes_over(plan: Plan, node: cst.BaseExpression, batch: set[str]) -> bool:
    """Whether the elements of an expression are those of the samples that a function is given."""
    if isinstance(node, cst.Name) and node.value in batch:
        return True
    if isinstance(node, cst.Call):
        names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
        return names <= PASSING and any(
            goes_over(plan, argument.value, batch) for argument in node.args
        )
    return isinstance(node, cst.Name) and any(
        isinstance(value, Opaque) and value.kind == "parameter" and value.name in batch
        for value in walk_back(plan.facts.values_of(node), is_no_sample)
    )


def is_no_sample(value: Value) -> bool:
    """Whether a value is anything but one sample out of those that a function is given."""
    return not (
        isinstance(value, Opaque)
        and value.kind in ("item", "element")
        and any(isinstance(one, Opaque) and one.kind == "parameter" for one in value.operands[0])
    )


def puts_once(node: cst.CSTNode) -> bool:
    """Whether a call keeps a sample under a key unless another one is there."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "setdefault"
        and len(node.args) == 2
        and not isinstance(node.args[1].value, (cst.List, cst.Dict, cst.Call))
    )


def adds_to_some(body: cst.CSTNode) -> bool:
    """Whether the body of a loop adds to a list in some rounds only."""
    adds = skips = False
    pending = [(body, False)]
    while pending:
        node, within = pending.pop()
        if isinstance(node, cst.Continue) and within:
            skips = True
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value in ADDING:
                if within:
                    return True
                adds = True
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            continue
        inner = within or (isinstance(node, cst.If) and node.orelse is None)
        inner = inner or isinstance(node, (cst.Try, cst.While))
        pending.extend((child, inner) for child in node.children)
    return adds and skips


def is_mask(value: Value) -> bool:
    """Whether an index tells for each row whether it is taken."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name in COMPARISONS
