"""Refuse tensors without a model that the script itself moves along their gradients.

What:
    A tensor that is no parameter of a model and no sample, and that training changes by what a
    backward pass has left at it, is an error.

Why:
    Its gradient is that of one process's share of the batch. A wrap averages the gradients of a
    model's parameters alone, so that each process would go on with another tensor.

Before:
    loss = criterion(model(x) * scale.exp(), y)
    loss.backward()
    with torch.no_grad():
        scale -= 0.1 * scale.grad

After:
    optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.1)
    loss = criterion(model(x) * scale.exp(), y)
    loss.backward()
    optimizer.step()

Refuses when:
    a tensor without a model, or what a loss is made of, is made of such a gradient.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    ("gradients are averaged")
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.noise import changes, models_of
from transpile.quantity.asking import Kind, analysis
from transpile.records import dataclass
from transpile.rule import Answer, Ruling

#: Where calls are sharded, every rank has the gradient of the whole batch.
WAYS = ("data",)
CODES = {"PT418": "a tensor without a model is moved along its gradient by hand"}


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of a plan that no wrap averages and no sample has of its own."""

    plan: Plan

    def among(self, values: Values) -> Opaque | None:
        """The first of them that some values are made of."""
        found = (one for one in walk_back(values) if isinstance(one, Opaque) and self.has(one))
        return next(found, None)

    def has(self, value: Opaque) -> bool:
        """Whether a value is one."""
        if value.kind != "attribute" or value.name != "grad":
            return False
        tensor = value.operands[0]
        # Of what nothing is known, the tensor may be a sample that an attack moves.
        is_tensor = analysis(self.plan).of(tensor).kind is Kind.EQUAL
        return is_tensor and not any(True for _ in models_of(self.plan, tensor))


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each such gradient."""
    gradients = Gradients(plan)
    held = {id(one) for optimizer in plan.optimizers for one in optimizer.tensors}
    loops = {id(loop.node) for each in plan.backwards for loop in each.event.loops()}
    made: list[Values] = [value for each in plan.backwards for value in [each.loss]]
    for event in plan.facts.events:
        if not event.detached and any(id(loop.node) in loops for loop in event.loops()):
            made.extend(by for _, by, _ in changes(plan, event))
    seen: set[int] = set()
    for values in made:
        found = gradients.among(values)
        if found is None or id(found.node) in seen:
            continue
        seen.add(id(found.node))
        if any(id(one) in held for one in walk_back(found.operands[0])):
            continue
        yield Ruling.refuse(
            "PT418",
            found,
            "this is the gradient of one process's share of the batch, and nothing averages it",
            "let an optimizer hold the tensor, or make it a parameter of the model",
        )
