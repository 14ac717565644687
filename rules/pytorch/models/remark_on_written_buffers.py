"""Warn of buffers that are written with one process's share of a batch.

What:
    Where a buffer of a model is given a number or a tensor that is made of the samples of a
    training batch, this is warned of. Of the model's own ``forward`` it is told elsewhere.

Why:
    Buffers are part of ``state_dict()``, and a model that is evaluated may read them. Each process
    has its share of the batch, and DistributedDataParallel makes the buffers of all processes those
    of rank 0 before each forward pass, so that what the other processes have written is lost.

Before:
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        model.total.add_(loss.detach())

After:
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        model.total.add_(mean)

Refuses when:
    never: it is a warning, as for all that training keeps of one process's share.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    (``broadcast_buffers``)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import function_of
from transpile.plan.graph import is_instance_of
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, quantity
from transpile.quantity.tensors.in_place import changed_in_place
from transpile.rows.kept import kept_tensors
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._kept_shares import kept_shares
from transpile.rules.pytorch.losses._reported import reported
from transpile.rules.pytorch.models._split.left_behind import FORWARD

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT419": "a buffer of a model is written with one process's share of a batch"}
SHARES = frozenset({Kind.SAMPLE, Kind.PART, Kind.UNKNOWN})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for each place that writes such a number into a buffer."""
    # Of what enters a loss it is told there; numbers of samples may be made those of all already.
    seen = {id(event.node) for event in kept_shares(plan)}
    whole = {id(leaf.node) for leaf in reported(plan, VOCABULARY).leaves.values()}
    for name, module, node, written in writes(plan):
        found = quantity(plan, written)
        share = found.kind in SHARES or bool(found.pending)
        counts = found.kind is Kind.EQUAL and bool(found.degrees - {0})
        if id(node) in seen or not (share or counts):
            continue
        if counts and any(id(part) in whole for part in descendants(node)):
            continue
        function = function_of(module, node)
        if share and function is not None and function.name.value in FORWARD:
            continue
        seen.add(id(node))
        yield Remark.warn(
            "PT419",
            (module, node),
            f"the buffer '{name}' of a model is given here what this process alone has seen of the "
            "batch",
            "write what all processes have seen, or use --shard calls, where each sees the whole "
            "batch",
        )


def writes(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode, Values]]:
    """What is written into buffers: the name, and where."""
    tensors: dict[int, str] = {}
    for owner, name, values in buffers(plan):
        tensors.update((id(value), name) for value in values)
        for value in owner.attributes.get(name, ()):
            if isinstance(value, Opaque) and id(value) not in tensors:
                yield name, value.module, value.node, (value,)
    for event in plan.facts.events:
        if event.detached:
            continue
        for value in changed_in_place(event):
            if id(value) in tensors:
                given = tuple(one for item in event.arguments.items for one in item.values)
                yield tensors[id(value)], event.module, event.node, given


def buffers(plan: Plan) -> Iterator[tuple[Instance, str, Values]]:
    """The buffers of the project's own models, with what they were registered with."""
    owners: dict[int, Value] = {
        id(value): value
        for event in plan.facts.calls
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.name == "register_buffer"
        for value in callee.operands[0]
    }
    for (key, name), values in kept_tensors(plan.facts).items():
        owner = owners.get(key)
        if isinstance(owner, Instance) and is_instance_of(owner, plan.table.module_bases):
            yield owner, name, values
