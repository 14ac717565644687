"""Spread the parameters of the model over all processes.

What:
    With ``--strategy fsdp`` the model that learns is sharded by ``fully_shard`` (FSDP2, PyTorch 2.6
    or later) where it would be wrapped otherwise: blocks in a ``ModuleList``, as transformers have
    them, then the rest. It keeps its class, its attributes and its methods; only its parameters
    become shards, before the optimizer is made. A single process has the model as it is.

Why:
    Every process then holds a part of the parameters, gradients and optimizer states, so that
    models train that do not fit into the memory of one GPU. Gradients are averaged over the same
    global batch as with DistributedDataParallel.

Before:
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)

After:
    model = Net().to(device)
    if get_world_size() > 1:
        shard_model(model)
    optimizer = SGD(model.parameters(), lr=0.1)

Refuses when:
    several models learn; the optimizer is made before the model is ready, or does not update each
    element by itself; the model has batch norm, parts that a backward pass may leave out, or
    parameters that thaw; single parameters or gradients are looked at; the model is copied,
    compiled or pickled after that; a GradScaler is used.

Source:
    https://pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.wrapping import claims, home, written
from transpile.plan.model import Plan
from transpile.plan.models.absent import world_test
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, Remark, Ruling, Rulings
from transpile.rules.pytorch.models._sharded import obstacles

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT341": "the parameters of a model are spread over the processes",
    "PT342": "a model cannot be sharded",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for the model that learns, where models are to be sharded."""
    if plan.options.strategy != "fsdp":
        return
    wraps: list[Wrap] = []
    for model in plan.trained_models:
        module, node = home(plan, model)
        if wrapped_already(plan, model):
            yield Ruling.done("PT341", (module, node), "the model is sharded", claims=claims(model))
            continue
        found = find_wrap(plan, model)
        if not isinstance(found, Wrap):
            continue
        wraps.append(found)
        if len(wraps) > 1:
            yield refusal(found, "several models learn, whose parts would have to be met in turn")
            continue
        refused = [
            Ruling.refuse("PT342", each, each.reason, each.advice)
            for each in obstacles(plan, model, found)
        ]
        yield from refused
        if refused:
            continue
        yield Ruling.apply(
            "PT341",
            found,
            f"the parameters of '{found.text}' are spread over the processes",
            data=found,
            claims=claims(model),
        )
        yield Remark.note(
            "PT341",
            found,
            "the parameters of this model are spread over the processes, for which PyTorch 2.6 or "
            "later is needed",
        )


def refusal(wrap: Wrap, why: str) -> Ruling:
    """The answer for a model that cannot be sharded."""
    return Ruling.refuse("PT342", wrap, why, "use --strategy ddp")


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call that shards, under the condition that there are several processes."""
    wrap: Wrap = ruling.data
    yield Helper("get_world_size", wrap.module)
    yield Helper("shard_model", wrap.module)
    names = plan.names_in(wrap.module)
    lines = [
        world_test(plan, wrap, f"{names.fresh('get_world_size')}()"),
        f"    {names.fresh('shard_model')}({wrap.text})",
    ]
    yield from written(wrap, lines)
