"""Average gradients only in the micro steps after which the optimizer steps.

What:
    Where the gradients of several batches are gathered before a step, the forward and the backward
    pass of each batch go under a manager that leaves the gradients to the process, except where
    the step follows. The gradients gathered so far are averaged together with those of that batch.

Why:
    DistributedDataParallel averages in every backward pass. The result is right, but of all these
    rounds only the last before a step is needed, and on several machines they take most of the
    time.

Before:
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

After:
    for i, (x, y) in enumerate(loader):
        with gradients_synchronised(model, (i + 1) % 4 == 0):
            loss = criterion(model(x), y) / 4
            loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

Refuses when:
    never: where it is not certain in which micro steps gradients are needed, every one of them
    averages, which is right and only slower.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Function
from transpile.facts.walk import descendants
from transpile.layout import guard
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.flow.places import ancestors
from transpile.plan.graph import walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.gradients._accumulation import (
    MicroStep,
    find_micro_step,
    windows,
)
from transpile.rules.pytorch.gradients._window_tests import Window

CODES = {
    "PT321": "gradients are averaged only where the optimizer steps",
    "PT322": "gradients are averaged in every micro step",
}

#: Methods of wraps and sharded models that leave gradients to the process.
SKIPPING = ("no_sync", "set_requires_gradient_sync")


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place at which gradients of several batches are gathered."""
    found: dict[int, tuple[Window, list[MicroStep | str]]] = {}
    for model in plan.trained_models:
        done = manager_around(plan, model)
        if done is not None:
            yield Ruling.done(
                "PT321", done, "the model is called where it may leave its gradients to the process"
            )
            continue
        if wrapped_already(plan, model) or not isinstance(find_wrap(plan, model), Wrap):
            continue
        for window in {id(w.test or w.loop.node): w for w in windows(plan, model)}.values():
            _, answers = found.setdefault(id(window.test or window.loop.node), (window, []))
            answers.append(find_micro_step(plan, model, window))
    for window, answers in found.values():
        node = window.test or window.loop.node
        reasons = [answer for answer in answers if isinstance(answer, str)]
        if reasons:
            yield Remark.note(
                "PT322",
                (window.module, node),
                "the gradients of several batches are gathered here, and averaged over the "
                f"processes for each of them: right, but slower than needed ({reasons[0]})",
                "put the batches before the last of a window under 'model.no_sync()' by hand",
            )
            continue
        micro = answers[0]
        assert isinstance(micro, MicroStep)
        yield Ruling.apply(
            "PT321",
            (window.module, micro.first),
            "gradients are averaged here only where the optimizer steps",
            data=micro,
        )


def manager_around(plan: Plan, model: Model) -> Event | None:
    """A training call of the model that stands under a manager that leaves out averages."""
    forwards: list[Event] = training_forwards(plan, model)
    for forward in forwards:
        for around in ancestors(forward.module, forward.node):
            if isinstance(around, cst.With) and any(
                skips(plan, forward.module, item.item) for item in around.items
            ):
                return forward
    return None


def skips(plan: Plan, module: Module, manager: cst.BaseExpression) -> bool:
    """Whether a manager is, or leads to, ``no_sync()``."""
    trees: list[cst.CSTNode] = [manager]
    if isinstance(manager, cst.Call):
        values = (*plan.facts.values_of(manager), *plan.facts.values_of(manager.func))
        trees += [value.node for value in walk_back(values) if isinstance(value, Function)]
    return any(
        isinstance(node, cst.Attribute) and node.attr.value in SKIPPING
        for tree in trees
        for node in descendants(tree)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The manager around the micro step."""
    micro: MicroStep = ruling.data
    yield Helper("gradients_synchronised", ruling.module)
    source = ruling.module.source
    base = statement_indentation(source, micro.first)
    lines = written_call(
        f"with {plan.names_in(ruling.module).fresh('gradients_synchronised')}",
        [micro.model, micro.condition],
        len(base),
        ":",
    )
    # Continuation lines stand in the file's own indentation.
    head = (source.newline + base).join(
        line.replace("    ", source.indent, 1) if line.startswith(" ") else line for line in lines
    )
    for edit in guard(source, micro.first, micro.last, head):
        yield In(ruling.module, edit)
