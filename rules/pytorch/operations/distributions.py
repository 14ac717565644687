"""Distributions within models: what they hold is as apart as the parameters they are given.

Source: https://pytorch.org/docs/stable/distributions.html
"""

from __future__ import annotations

from transpile.facts.values import Constant
from transpile.rows.along import reduced
from transpile.rows.bound import Bound, pointwise, tensor_of
from transpile.rows.domain import PLAIN, Known, Record, Tensor
from transpile.rows.kinds import KINDS
from transpile.rows.shapes import Unclear
from transpile.rows.state import Given, Running

#: The parameters of distributions whose every entry is one of its own.
SINGLE = {
    **dict.fromkeys(("Normal", "LogNormal", "Laplace", "Cauchy", "Gumbel"), "loc scale"),
    **dict.fromkeys(("HalfNormal", "HalfCauchy"), "scale"),
    **dict.fromkeys(("Exponential", "Poisson"), "rate"),
    **dict.fromkeys(("Bernoulli", "ContinuousBernoulli", "Geometric"), "probs logits"),
    **dict.fromkeys(("Binomial", "NegativeBinomial"), "total_count probs logits"),
    **dict.fromkeys(("Gamma", "InverseGamma"), "concentration rate"),
    **dict.fromkeys(("RelaxedBernoulli", "LogitRelaxedBernoulli"), "temperature probs logits"),
    "Beta": "concentration1 concentration0",
    "Chi2": "df",
    "Kumaraswamy": "concentration1 concentration0",
    "Pareto": "scale alpha",
    "StudentT": "df loc scale",
    "Uniform": "low high",
    "VonMises": "loc concentration",
    "Weibull": "scale concentration",
}  # fmt: skip
#: The same for those whose last axis is one draw, or what one is drawn from.
OF_LAST_AXIS = {
    **dict.fromkeys(
        ("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"), "probs logits"
    ),
    "RelaxedOneHotCategorical": "temperature probs logits",
    "Dirichlet": "concentration",
    "Multinomial": "total_count probs logits",
    "MultivariateNormal": "loc",
}
#: Those whose parameters have as many rows as they draw: rows of several can be put together.
REMADE = frozenset(
    {
        "Normal", "LogNormal", "Laplace", "Cauchy", "HalfNormal", "Exponential", "Poisson",
        "Bernoulli", "Geometric", "Gamma", "Beta", "StudentT", "Uniform", "Categorical",
        "OneHotCategorical", "Dirichlet",
    }
)  # fmt: skip
#: Those that draw a number of the last axis, not all of it.
PLACES = frozenset({"Categorical"})
#: Parameters that have no entry for each draw.
SETTINGS = frozenset({"total_count", "temperature"})
#: Axes of what is the same for each draw, such as a covariance: more of them count draws.
MATRIX = 2
DIVERGENCES = frozenset(
    {"torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence"}
)
#: Attributes that have an entry for each draw, or for each place that is drawn from.
ENTRIES = frozenset(
    {
        "loc", "scale", "mean", "stddev", "variance", "mode", "probs", "logits", "rate", "low",
        "high", "concentration", "concentration0", "concentration1", "df",
    }
)  # fmt: skip
DRAWS = frozenset({"sample", "rsample"})
CHANCES = frozenset({"log_prob", "cdf", "icdf"})


def made(run: Running, word: str, given: Given) -> Known | None:
    """A distribution, by what it is given; None for one of another family."""
    given = Given(
        given.items,
        {name: one for name, one in given.keywords.items() if name != "validate_args"},
        given.more,
    )
    if word == "Independent":
        return run.apply(lambda *values: independent(run, given, *values), *given.every())
    signature = SINGLE.get(word) or OF_LAST_AXIS.get(word)
    if signature is None or given.more:
        return None

    def one(*values: Known) -> Known:
        keywords = dict(zip(given.keywords, values[len(given.items) :], strict=True))
        bound = Bound(run, word, Given(values[: len(given.items)], keywords), signature)
        named = [name for name in signature.split() if name not in SETTINGS]
        parameters = [bound.get(name) for name in named]
        kept = [each for each in parameters if each is not None and each != Constant(None)]
        further = values[len(signature.split()) : len(given.items)]
        others = [tensor_of(run, each) for each in further]
        others += [bound.tensor(name) for name in bound.values if name not in named]
        if any(not each.whole or len(each.dims or ()) > MATRIX for each in others):
            raise Unclear(f"what '{word}' is given beside its entries may be of the samples")
        entries = pointwise(run, word, *kept)
        # Each is drawn from by itself, whatever drew its parameters.
        batch = without_last(run, word, entries) if word in OF_LAST_AXIS else entries
        draws = batch if word in PLACES else entries
        return law(word, entries, draws, batch)

    return run.apply(one, *given.items, *given.keywords.values())


def law(
    word: str, entries: Tensor, draws: Tensor, batch: Tensor, remade: bool | None = None
) -> Record:
    """A distribution: its parameters, what it draws, and what has one entry for each draw."""
    held = (("entries", entries), ("draws", draws), ("batch", batch))
    return Record(held, family=word, remade=word in REMADE if remade is None else remade)


def without_last(run: Running, word: str, tensor: Tensor) -> Tensor:
    """A tensor of which the last axis goes into one number."""
    return reduced(Bound(run, word, Given((tensor,)), "input"), (-1,))


def independent(run: Running, given: Given, *values: Known) -> Known:
    """A distribution whose last axes are one draw."""
    keywords = dict(zip(given.keywords, values[len(given.items) :], strict=True))
    bound = Bound(
        run,
        "Independent",
        Given(values[: len(given.items)], keywords),
        "base_distribution reinterpreted_batch_ndims",
    )
    base = bound.get("base_distribution")
    count = bound.integer("reinterpreted_batch_ndims")
    if not isinstance(base, Record) or not base.family or count is None:
        raise Unclear("what is independent here is not known")

    def one(entries: Tensor, draws: Tensor, batch: Tensor) -> Known:
        for _ in range(count):
            batch = without_last(run, "Independent", batch)
        return law("Independent", entries, draws, batch, base.remade)

    return run.apply(one, *parts(base))


def parts(record: Record) -> tuple[Known, ...]:
    """What :func:`law` made a distribution of; each may be one of several tensors."""
    return tuple(part for _, part in record.entries)


def method(run: Running, base: Record, word: str, given: Given) -> Known | None:
    """What a method of a distribution gives; None where nothing is known."""
    known = word in ("entropy", *DRAWS) or (word in CHANCES and len(given.every()) == 1)
    if not known:
        return None
    several = len(given.items)

    def one(entries: Tensor, draws: Tensor, batch: Tensor, *values: Known) -> Known:
        keywords = dict(zip(given.keywords, values[several:], strict=True))
        return asked(run, word, draws, batch, Given(values[:several], keywords))

    return run.apply(one, *parts(base), *given.items, *given.keywords.values())


def asked(run: Running, word: str, draws: Tensor, batch: Tensor, given: Given) -> Known:
    """What a method gives, of what a distribution draws and of one entry for each draw."""
    if word in DRAWS and not given.every():
        run.noise = True
        return Tensor(draws.dims, drawn=draws.whole)
    if word in DRAWS:
        if draws.dims == ():
            # As many draws as is said, of a distribution that has a single entry.
            return KINDS["drawn"](Bound(run, word, Given(given.every()), "*size"))
        raise Unclear(f"how many times '{word}' draws for each sample is not known")
    if word == "entropy":
        return batch
    return probability(run, word, draws, batch, given.every()[0])


def probability(run: Running, word: str, draws: Tensor, batch: Tensor, value: Known) -> Known:
    """How probable a draw is."""
    found = pointwise(run, word, draws, value)
    if draws.dims is None or batch.dims is None or found.dims is None:
        if draws.whole and found.whole:
            return Tensor(None, drawn=found.drawn)
        raise Unclear(f"the shape that '{word}' gives is not known")
    for _ in range(len(draws.dims) - len(batch.dims)):
        found = without_last(run, word, found)
    return found


def attribute(base: Record, word: str) -> Known | None:
    """What an attribute of a distribution is; None where that is not known."""
    if base.family in PLACES and word in ("mode", "mean", "stddev", "variance"):
        return base.get("batch")
    return base.get("entries") if word in ENTRIES else None


def divergence(run: Running, given: Given) -> Known | None:
    """How far two distributions are from each other, entry by entry."""

    def one(first: Known, second: Known) -> Known:
        first, second = run.held(first), run.held(second)
        if not (isinstance(first, Record) and isinstance(second, Record)):
            raise Unclear("what is compared here is not known")
        if not (first.family and second.family):
            raise Unclear("what is compared here is not known")
        sides = (first.get("batch") or PLAIN, second.get("batch") or PLAIN)
        return run.apply(lambda *both: pointwise(run, "kl_divergence", *both), *sides)

    return run.apply(one, *given.items) if len(given.items) == 2 else None
