"""Say where batches are copied into tensors that are made for whole ones.

What:
    A tensor that is made with the rows of a batch, and that batches of a training loader are copied
    into, is warned of where each process draws a share of the batch.

Why:
    A share has fewer rows than the tensor: the copy fails. Inputs that stay in one place are made
    so for CUDA graphs, and for copies out of pinned memory.

Before:
    static = torch.zeros(32, 4, device=device)
    for x, y in train_loader:
        static.copy_(x)

After:
    static = torch.zeros(32, 4, device=device)
    for x, y in train_loader:
        static.resize_(x.shape).copy_(x)

Refuses when:
    never: where calls of the model are split, every process has whole batches.

Source:
    https://pytorch.org/docs/stable/notes/cuda.html#whole-network-capture
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Sequence, Value
from transpile.plan.graph import called_names, method_calls, origin, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT237": "batches are copied into a tensor of the rows of whole ones"}
MAKERS = frozenset(
    f"torch.{name}" for name in ("empty", "zeros", "ones", "full", "rand", "randn", "Tensor")
)


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning for each such copy."""
    if plan.options.batch_size != "global":
        return
    sizes = {
        id(loader.value): argument.values
        for loader in plan.training_loaders
        for argument in [loader.argument("batch_size")]
        if argument is not None
    }
    seen: set[int] = set()
    for event in plan.facts.calls:
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.name != "copy_" or id(event.node) in seen:
                continue
            copied = [value for item in event.arguments.items for value in item.values]
            drawn = {id(value) for value in walk_back(tuple(copied))}
            rows = [value for owner, found in sizes.items() if owner in drawn for value in found]
            if any(is_made_with(value, rows) for value in callee.operands[0]):
                seen.add(id(event.node))
                yield Remark.warn(
                    "PT237",
                    event,
                    "a batch is copied into a tensor that is made with the rows of a whole one: "
                    "each process draws a share of them",
                    "make the tensor as large as the batch that it gets, or use --shard calls",
                )


def is_made_with(value: Value, rows: list[Value]) -> bool:
    """Whether a tensor is made with some number of rows."""
    made = origin(value)
    pinned = [receiver for name, receiver in method_calls(made) if name == "pin_memory"]
    if pinned:
        return any(is_made_with(one, rows) for one in pinned[0])
    if not isinstance(made, Opaque) or not MAKERS & set(called_names(made)):
        return False
    given = made.arguments.get("size", 0)
    first = given.values if given is not None else ()
    if len(first) == 1 and isinstance(first[0], Sequence) and first[0].elements:
        first = first[0].elements[0]
    return any(
        one is other or (isinstance(one, Constant) and one == other)
        for one in first
        for other in rows
    )
