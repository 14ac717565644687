"""Compute and average no gradients that are thrown away.

What:
    Where a loss goes through a model whose gradients are zeroed before anything uses them, such as
    the discriminator in the generator's step of a GAN, the model is called with its parameters
    frozen. Where two backward passes go through a model before its optimizer steps, the first
    leaves its gradients to the process, and the second averages the sum of both.

Why:
    DistributedDataParallel averages in every backward pass. What is zeroed, or averaged again with
    the next pass, costs its share of every step.

Before:
    generator_loss = criterion(discriminator(generator(noise)), real)
    generator_loss.backward()
    generator_optimizer.step()
    discriminator_optimizer.zero_grad()

After:
    with frozen(discriminator):
        generator_loss = criterion(discriminator(generator(noise)), real)
    generator_loss.backward()
    generator_optimizer.step()
    discriminator_optimizer.zero_grad()

Refuses when:
    never: where it is not certain that nothing uses the gradients, they are averaged, which is
    right and only slower.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_,
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import guard
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.gradients._unused_gradients import Needless, needless

WAYS = ("data",)
CODES = {
    "PT323": "gradients that nobody uses are neither computed nor averaged",
    "PT324": "gradients are averaged together with those of the next backward pass",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call of a model that need not average."""
    for found in needless(plan):
        yield Ruling.apply(
            "PT323" if found.frozen else "PT324",
            (found.module, found.first),
            (
                f"the gradients of '{found.model}' are zeroed before anything uses them"
                if found.frozen
                else f"the next backward pass averages these gradients of '{found.model}', too"
            ),
            data=found,
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The manager around the statements."""
    found: Needless = ruling.data
    helper = "frozen" if found.frozen else "gradients_synchronised"
    yield Helper(helper, found.module)
    arguments = found.model if found.frozen else f"{found.model}, False"
    header = f"with {plan.names_in(found.module).fresh(helper)}({arguments}):"
    for edit in guard(found.module.source, found.first, found.last, header):
        yield In(found.module, edit)
