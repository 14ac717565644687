"""Lay out buffers that a wrap cannot send as they are.

What:
    A buffer whose memory is laid out in another order than its shape says, or in which one place
    serves several entries, is copied where it is registered: what ``expand`` gives, and what
    ``transpose`` or ``permute`` give behind ``unsqueeze``.

Why:
    DistributedDataParallel sends the buffers of rank 0 to the others before each forward pass, and
    stops at such a one. The numbers in it stay the same.

Before:
    pe = pe.unsqueeze(0).transpose(0, 1)
    self.register_buffer("pe", pe)

After:
    pe = pe.unsqueeze(0).transpose(0, 1)
    self.register_buffer("pe", contiguous_copy(pe))

Refuses when:
    never.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    (``broadcast_buffers``); https://pytorch.org/docs/stable/generated/torch.clone.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Values
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

CODES = {"PT364": "a buffer gets memory of its own, in the order of its shape"}
#: Methods that let one place serve several entries.
SHARING = frozenset({"expand", "expand_as", "broadcast_to"})
#: Methods that bring the axes into another order.
TURNING = frozenset({"transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis"})
#: Methods that leave the memory as it is, or in the same order.
KEEPING = frozenset({"to", "float", "double", "half", "detach", "clone", "contiguous", "type"})
#: Steps back from a buffer to where its memory was made.
LONGEST_WAY = 12


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each such buffer."""
    if not plan.trained_models:
        return
    seen: set[int] = set()
    for event in plan.facts.calls:
        if not any(isinstance(c, Opaque) and c.name == "register_buffer" for c in event.callee):
            continue
        tensor = event.arguments.get("tensor", 1)
        if tensor is None or not isinstance(tensor.node, cst.BaseExpression):
            continue
        if id(tensor.node) not in seen and is_laid_out_otherwise(tensor.values):
            seen.add(id(tensor.node))
            yield Ruling.apply(
                "PT364",
                (event.module, tensor.node),
                "it is sent to other processes, which its memory must be laid out for",
                data=tensor.node,
            )


def is_laid_out_otherwise(values: Values) -> bool:
    """Whether the memory of a tensor is not in the order of its shape."""
    turned = False
    for _ in range(LONGEST_WAY):
        step = next(steps_back(values), None)
        if step is None:
            return False
        word, values = step
        if word in SHARING or (turned and word == "unsqueeze"):
            return True
        turned = turned or word in TURNING
        if word not in KEEPING and word not in TURNING and word != "unsqueeze":
            return False
    return False


def steps_back(values: Values) -> Iterator[tuple[str, Values]]:
    """What tensors were made by, as a method, a function or an index, and of what."""
    for value in values:
        yield from method_calls(value)
        if not isinstance(value, Opaque):
            continue
        for name in called_names(value) if value.arguments.items else ():
            yield name.rpartition(".")[2], value.arguments.items[0].values
        if value.kind == "item" and adds_axis(value.node):
            yield "unsqueeze", value.operands[0]


def adds_axis(node: cst.CSTNode) -> bool:
    """Whether an index has a ``None``, which stands for an axis of its own."""
    return isinstance(node, cst.Subscript) and any(
        isinstance(element.slice, cst.Index)
        and isinstance(element.slice.value, cst.Name)
        and element.slice.value.value == "None"
        for element in node.slice
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The copy in the place of the buffer."""
    node: cst.BaseExpression = ruling.data
    yield Helper("contiguous_copy", ruling.module)
    name = plan.names_in(ruling.module).fresh("contiguous_copy")
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")"):
        yield In(ruling.module, edit)
