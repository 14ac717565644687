"""Compress gradients on their way between the processes.

What:
    With ``--compression fp16``, ``bf16`` or ``powersgd`` every wrapped model gets the hook of
    ``torch.distributed`` of that name: gradients travel as 16-bit floats, or as the factors of a
    matrix of low rank. A single process has no wrap and no hook. ``bf16`` and ``powersgd`` need
    NCCL and are left out where processes communicate otherwise: there is no such sum of bfloat16,
    and PowerSGD starts one round from the end of another, which Gloo's threads may do in another
    order on each process, so that they wait for each other for ever.

Why:
    On a slow network averaging gradients takes longer than computing them. 16-bit floats halve
    what travels, PowerSGD leaves a small part of it, from its 1000th step on. The numbers are no
    longer those of one process to the last digits.

Before:
    model = Net().to(device)
    optimizer = SGD(model.parameters(), lr=0.1)

After:
    model = Net().to(device)
    if get_world_size() > 1:
        model = DistributedDataParallel(model)
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    optimizer = SGD(model.parameters(), lr=0.1)

Refuses when:
    never; a model that cannot be wrapped is refused for that.

Source:
    https://pytorch.org/docs/stable/ddp_comm_hooks.html; Vogels et al., PowerSGD: Practical Low-Rank
    Gradient Compression for Distributed Optimization (arXiv:1905.13727)
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque
from transpile.plan.model import Plan
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Remark, Ruling
from transpile.rules.pytorch.gradients._compression import WARM_UP

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT331": "the gradients of a model are compressed",
    "PT332": "compressed gradients may overflow",
}
#: What each way of compressing does to the numbers.
LOSSES = {
    "fp16": "gradients travel as 16-bit floats: what is trained agrees with one process to about "
    "three digits, no longer to the last ones",
    "bf16": "gradients travel as bfloat16 where the processes communicate by NCCL: what is trained "
    "agrees with one process to about two digits, no longer to the last ones",
    "powersgd": f"from step {WARM_UP} on gradients travel as matrices of rank 1 where the "
    "processes communicate by NCCL: training converges, but no longer to the numbers of one "
    "process",
}
ADVICE = {
    "powersgd": "matrix_approximation_rank and start_powerSGD_iter of PowerSGDState set how close "
    "it stays, and from which step on"
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each variable that holds a trained model, if gradients are compressed."""
    kind = plan.options.compression
    if kind not in LOSSES:
        return
    seen: set[tuple[int, str]] = set()
    for model in plan.trained_models:
        if wrapped_already(plan, model):
            yield from registered(plan)
            continue
        found = find_wrap(plan, model)
        if not isinstance(found, Wrap) or (id(found.node), found.text) in seen:
            continue
        if not seen:
            yield Remark.note("PT331", found, LOSSES[kind], ADVICE.get(kind, ""))
        seen.add((id(found.node), found.text))
        yield Ruling.apply("PT331", found, f"the gradients of '{found.text}' are compressed")
    if kind == "fp16" and seen:
        yield from overflows(plan)


def registered(plan: Plan) -> Iterator[Ruling]:
    """The calls that register a hook on a model."""
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name == "register_comm_hook":
                yield Ruling.done("PT331", event, "the gradients of this model are compressed")


def overflows(plan: Plan) -> Iterator[Remark]:
    """A word on losses that are scaled up, so that their gradients may leave what fp16 holds."""
    seen: set[int] = set()
    for event in plan.facts.calls_to("torch.amp.GradScaler"):
        if not event.detached and id(event.node) not in seen:
            seen.add(id(event.node))
            yield Remark.warn(
                "PT332",
                event,
                "gradients of the scaled loss travel as 16-bit floats, too: where they overflow, "
                "the scaler skips more steps, and lowers its scale further, than in one process",
                "use --compression bf16 where the GPUs have it, or a smaller init_scale",
            )
