"""Say which random numbers are not those of a batch: of one number, or of one for each sample.

What:
    A number that a training step draws once for all samples of its batch, such as the coefficient
    of a mixture, is reported where the workers draw random numbers of their own. Where nothing but
    such numbers is drawn, all workers draw the same ones, and nothing is said. Reported is also the
    noise for the samples of a share that a generator with a seed of the script's own gives: it is
    the same in all workers.

Why:
    One process has one number for a batch. Workers of which each draws its own have one for each
    share, which is another training. They need numbers of their own for noise and dropout.

Before:
    data = data * mx.nd.random.uniform(shape=(1,)) + mx.nd.random.normal(shape=data.shape)

After:
    data = data * mx.nd.random.uniform(shape=(1,))

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/ndarray/random/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import External
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.mxnet.data._common_draws import HOST, common_draws
from transpile.rules.mxnet.data._generators import same_noise
from transpile.rules.mxnet.stores._streams import augments_on_its_own, draws_on_its_own

CODES = {
    "MX319": "a number that is drawn once for a batch differs from worker to worker",
    "MX320": "all workers draw the same noise for their shares of a batch",
}
#: Where calls are split, all workers draw the same numbers.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning for each call that draws such a number."""
    seen: set[int] = set()
    for event in common_draws(plan):
        of_host = any(
            isinstance(callee, External) and callee.name.startswith(HOST) for callee in event.callee
        )
        apart = augments_on_its_own(plan) if of_host else draws_on_its_own(plan)
        if apart and id(event.node) not in seen:
            seen.add(id(event.node))
            yield Remark.warn(
                "MX319",
                event,
                "this is drawn once for all samples of a batch, but each worker draws its own for "
                "its share: other random numbers of this training are noise that must differ from "
                "worker to worker",
                "draw it of a generator that is seeded alike on all workers, such as "
                "np.random.RandomState(0)",
            )
    for event in same_noise(plan):
        if id(event.node) not in seen:
            seen.add(id(event.node))
            yield Remark.warn(
                "MX320",
                event,
                "all workers draw the same numbers here, each for its share of the batch, because "
                "the generator has one seed in all of them: one process draws others for every "
                "sample",
                "draw noise by mx.nd.random or np.random, or seed the generator by the rank of the "
                "worker",
            )
