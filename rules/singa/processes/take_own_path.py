"""Take the path for several processes that a script has.

What:
    A function that asks its optimizer for a ``communicator`` and is given ``global_rank``,
    ``world_size`` and ``local_rank`` gets those of the ``DistOpt``, and parts the data by itself.
    Under a global batch it is given its share of the batch size, too.

Why:
    The script has what several processes need, as the examples of SINGA do, and is only told of one
    process. With ``--batch-size per-device`` it does what ``train_mpi.py`` of these examples does.

Before:
    run(0, 1, args.device_id, args.max_epoch, args.batch_size, sgd)

After:
    run(
        getattr(sgd, "global_rank", 0),
        getattr(sgd, "world_size", 1),
        getattr(sgd, "local_rank", args.device_id),
        args.max_epoch,
        share_size(args.batch_size),
        sgd,
    )

Refuses when:
    the function is not given these, or, under a global batch, not the size of the batch.

Source:
    https://github.com/apache/singa/blob/master/examples/cnn/train_mpi.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, Opaque, Sequence, Values
from transpile.finding import Level
from transpile.layout import add_argument, replace_expression, wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.singa._roles import compiles, methods_of, model_calls
from transpile.rules.singa._vocabulary import TENSOR
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import OwnPath, given_on, own_path

CODES = {
    "SG151": "the script's own path for several processes is taken",
    "SG152": "the script's own path for several processes cannot be taken",
    "SG153": "the script parts the data by itself",
    "SG154": "nothing adds up what the processes print",
}
ALONE = {"global_rank": "0", "world_size": "1", "local_rank": "0"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for the call that is told of one process."""
    path = own_path(plan)
    if path is None:
        return
    if is_shared(plan):
        yield Ruling.done(
            "SG151",
            (path.module, path.call or path.asked.node),
            "the script's own path for several processes is taken",
        )
        return
    size, why = None, path.why_not
    if not why and plan.options.batch_size == "global":
        size = batch_size(plan, path)
        why = "" if size else "the size of a batch is not seen among what the function is given"
    if why:
        yield Ruling.refuse(
            "SG152",
            (path.asked.module, path.call or path.asked.node),
            f"the script asks for a communicator, but {why}",
            (
                "choose --batch-size per-device, or make the DistOpt by hand"
                if size is None and not path.why_not
                else "make the DistOpt by hand"
            ),
        )
        return
    assert path.call is not None
    yield Ruling.apply(
        "SG151",
        (path.module, path.call),
        "the script's own path for several processes is taken",
        data=(path, size),
    )
    shared = plan.options.batch_size == "global"
    yield Remark(
        "SG153",
        Level.WARNING if shared else Level.NOTE,
        path.module,
        path.call,
        "the script parts the data by rank, so that a step takes other samples than in one process"
        + (
            "; what it adds up once for each batch, such as the means that are losses, is added up "
            "for as many batches in every process, each with a part of the samples"
            if shared
            else ""
        ),
        "choose --batch-size per-device for the batches and the sums that the script has for this",
    )
    if not any(
        name == "all_reduce" for event in plan.facts.reached_calls for name, _ in methods_of(event)
    ):
        yield Remark.warn(
            "SG154",
            (path.module, path.call),
            "nothing adds up numbers over the processes: what is printed is of a part of the data",
            "add them up with the optimizer's all_reduce",
        )


def batch_size(plan: Plan, path: OwnPath) -> Argument | None:
    """The argument of the call that is the size of a batch, as all tensors of the model have it."""
    ranks = {id(argument.node) for argument in path.ranks.values() if argument is not None}
    found: dict[int, Argument] = {}
    for event in [*model_calls(plan), *compiles(plan)]:
        for size in sizes_of(event):
            argument = given_on(plan, path, size)
            if argument is None or id(argument.node) in ranks:
                return None
            found[id(argument.node)] = argument
    return next(iter(found.values())) if len(found) == 1 else None


def sizes_of(event: Event) -> Iterator[Values]:
    """The first lengths of the tensors that a call is given."""
    for item in event.arguments.items:
        for value in item.values:
            inside = value.elements if isinstance(value, Sequence) else [(value,)]
            for tensor in (one for values in inside for one in values):
                if isinstance(tensor, Opaque) and TENSOR in called_names(tensor):
                    shape = tensor.arguments.get("shape", 0)
                    for lengths in shape.values if shape is not None else ():
                        if isinstance(lengths, Sequence) and lengths.elements:
                            yield lengths.elements[0]


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """What the DistOpt knows, in the place of what one process has."""
    path, size = ruling.data
    module, source = path.module, path.module.source
    optimizer = source.code(path.optimizer)
    for order, (name, argument) in enumerate(path.ranks.items()):
        node: Any = argument.node if argument is not None else None
        old = source.code(node) if node is not None else ALONE[name]
        text = f'getattr({optimizer}, "{name}", {old})'
        if node is None:
            changes = add_argument(source, path.call, f"{name}={text}", order=order)
        else:
            changes = replace_expression(source, node, text)
        for edit in changes:
            yield In(module, edit)
    if size is not None:
        assert isinstance(size.node, cst.BaseExpression)
        yield Helper("share_size", module)
        name = plan.names_in(module).fresh("share_size")
        for edit in wrap_expression(source, size.node, f"{name}(", ")"):
            yield In(module, edit)
