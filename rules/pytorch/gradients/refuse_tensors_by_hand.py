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

from transpile.backends.tensors_by_hand import used_by_hand
from transpile.plan.model import Plan
from transpile.quantity.asking import analysis
from transpile.rule import Answer, Ruling

#: Where calls are sharded, every rank has the gradient of the whole batch.
WAYS = ("data",)
CODES = {"PT418": "a tensor without a model is moved along its gradient by hand"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each such gradient."""
    for found in used_by_hand(plan, analysis(plan)):
        yield Ruling.refuse(
            "PT418",
            found,
            "this is the gradient of one process's share of the batch, and nothing averages it",
            "let an optimizer hold the tensor, or make it a parameter of the model",
        )
