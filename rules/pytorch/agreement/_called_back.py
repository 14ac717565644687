"""Code of the script that the framework calls while it trains, and what it changes the model by."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Scope,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.hooks.functions import code_of
from transpile.plan.model import Plan
from transpile.quantity.asking import quantity
from transpile.rules.pytorch.agreement._amounts import is_own_count
from transpile.rules.pytorch.agreement._averaging import is_of_batch
from transpile.rules.pytorch.agreement._divergence.reduced import Reduced

SCHEDULERS = "torch.optim.lr_scheduler."
RATE = "the learning rate"
CHANGE = "how parameters or gradients are changed"
#: Methods that are given a function to call in each backward pass, or around each step.
HOOKING = frozenset(
    {
        "register_hook", "register_full_backward_hook", "register_full_backward_pre_hook",
        "register_post_accumulate_grad_hook", "register_step_pre_hook", "register_step_post_hook",
        "register_multi_grad_hook", "register_module_full_backward_hook",
        "register_module_full_backward_pre_hook", "register_optimizer_step_pre_hook",
        "register_optimizer_step_post_hook",
    }
)  # fmt: skip
#: Functions that compute parameters by a layer in each forward pass.
PARAMETRIZING = frozenset(
    {
        "torch.nn.utils.parametrize.register_parametrization",
        "torch.nn.utils.parametrizations.register_parametrization",
    }
)
#: Methods of a scheduler by which the framework asks for its rates.
RATES = ("get_lr", "_get_closed_form_lr")
#: The module of an expression, the expression, and what depends on it.
CalledBack = tuple[Module, cst.BaseExpression, str]


def called_back(plan: Plan, reduced: Reduced) -> Iterator[CalledBack]:
    """The expressions by which such code sets rates, gradients or parameters by numbers of a share.

    When it runs, what it reads holds whatever the training has put there by then. Where calls are
    split, that is of the whole batch.

    Args:
        plan: the plan.
        reduced: what becomes that of the global batch.
    """
    for event in plan.facts.calls if plan.way == "data" else ():
        for value, matter in handed(event):
            function = code_of(value)
            for node in given_or_put(function) if function is not None else ():
                assert function is not None
                if any(is_of_share(plan, reduced, one) for one in read(plan, function, node)):
                    yield function.module, node, matter


def is_of_share(plan: Plan, reduced: Reduced, value: Value) -> bool:
    """Whether a value is a number of a process's part of the batch, or counts its samples."""
    if id(value) in reduced.values or id(getattr(value, "node", None)) in reduced.nodes:
        return False
    counted = plan.options.batch_size == "global" and is_own_count(quantity(plan, (value,)))
    return bool(counted) or is_of_batch(plan, value)


def read(plan: Plan, function: Function, node: cst.CSTNode) -> Iterator[Value]:
    """What an expression of a function may read, whenever it runs."""
    pending, seen = [(node, function)], {id(node)}
    while pending:
        part, function = pending.pop()
        local = assigned_in(function)
        held = list(plan.facts.values_of(part))
        inner = list(part.children)
        called = plan.facts.values_of(part.func) if isinstance(part, cst.Call) else ()
        if isinstance(part, cst.Subscript) and (key := key_of(part)) is not None:
            held += kept_under(plan.facts.values_of(part.value), key)
            inner = []
        elif isinstance(part, cst.Attribute):
            for base in plan.facts.values_of(part.value):
                if isinstance(base, Instance):
                    held += base.attributes.get(part.attr.value, ())
                    # A property is a method that is called.
                    called = (*called, *methods(base.cls, part.attr.value))
            inner = [] if isinstance(part.value, cst.Name) else inner
        elif isinstance(part, cst.Name) and part.value in local:
            inner += local[part.value]
        elif isinstance(part, cst.Name):
            held += named(function.closure, part.value)
        for value in held:
            yield from value.every() if isinstance(value, (Mapping, Sequence)) else (value,)
        new = [(one, function) for one in inner]
        for callee in filter(None, map(code_of, called)):
            new += [(one, callee) for one in given_or_put(callee)]
        pending.extend(one for one in new if id(one[0]) not in seen)
        seen.update(id(one) for one, _ in new)


def assigned_in(function: Function) -> dict[str, list[cst.CSTNode]]:
    """What a function's own names are assigned; nothing for its parameters."""
    found: dict[str, list[cst.CSTNode]] = {}
    parameters = function.node.params
    for each in (*parameters.params, *parameters.kwonly_params, *parameters.posonly_params):
        found[each.name.value] = []
    for node in descendants(function.node):
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    found.setdefault(target.target.value, []).append(node.value)
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign)):
            if isinstance(node.target, cst.Name) and node.value is not None:
                found.setdefault(node.target.value, []).append(node.value)
        elif isinstance(node, (cst.Global, cst.Nonlocal)):
            for name in node.names:
                found.pop(name.name.value, None)
    return found


def named(scope: Scope | None, name: str) -> Values:
    """What a name around a function stands for in the end."""
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.parent
    return ()


def key_of(node: cst.Subscript) -> object:
    """The text or number that an item is picked by; None where it is computed."""
    element = node.slice[0].slice if len(node.slice) == 1 else None
    value = element.value if isinstance(element, cst.Index) else None
    if isinstance(value, (cst.SimpleString, cst.Integer)):
        return value.evaluated_value
    return None


def kept_under(bases: Values, key: object) -> Iterator[Value]:
    """What containers of the project hold under a key, whenever it is put there."""
    for base in bases:
        entry = (
            base.entries.get(key) if isinstance(base, Mapping) and isinstance(key, str) else None
        )
        if entry is not None:
            yield from entry.values
        elif isinstance(base, (Mapping, Sequence)):
            yield from base.every()


def handed(event: Event) -> Iterator[tuple[Value, str]]:
    """What a call hands to the framework to be called later, and what depends on it."""
    given = [value for item in event.arguments.items for value in item.values]
    for callee in event.callee:
        if isinstance(callee, Class):
            yield from ((method, RATE) for method in rates_of(callee))
        name = callee.name if isinstance(callee, (External, Opaque)) else ""
        if isinstance(callee, External) and name.startswith(SCHEDULERS):
            yield from ((value, RATE) for value in every(given))
        elif isinstance(callee, External) and name in PARAMETRIZING:
            for value in given:
                if isinstance(value, Instance):
                    yield from ((one, CHANGE) for one in methods(value.cls, "forward"))
        elif name.rpartition(".")[2] in HOOKING:
            yield from ((value, CHANGE) for value in given)


def rates_of(cls: Class) -> Iterator[Value]:
    """The methods by which the framework asks a scheduler of the script's own for its rates."""
    if any(base.startswith(SCHEDULERS) for base in cls.external_bases()):
        for name in RATES:
            yield from methods(cls, name)


def methods(cls: Class, name: str) -> Values:
    """What a class of the project, or one that it is derived from, says under a name."""
    for ancestor in cls.ancestry():
        if isinstance(ancestor, Class) and ancestor.scope.names.get(name):
            return ancestor.scope.names[name]
    return ()


def every(values: list[Value]) -> Iterator[Value]:
    """Values, and what lists of them hold."""
    for value in values:
        if isinstance(value, Sequence):
            yield from value.every()
        else:
            yield value


def given_or_put(function: Function) -> Iterator[cst.BaseExpression]:
    """What a function gives back, or changes something in place by."""
    if isinstance(function.node, cst.Lambda):
        yield function.node.body
    for node in descendants(function.node):
        if isinstance(node, cst.Return) and node.value is not None:
            yield node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value.endswith("_"):
                yield from (arg.value for arg in node.args)
        elif isinstance(node, cst.AugAssign):
            yield node.value
        elif isinstance(node, cst.Assign):
            if any(not isinstance(one.target, cst.Name) for one in node.targets):
                yield node.value
