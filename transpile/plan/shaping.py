"""What a framework calls that gives tensors their shapes."""

from __future__ import annotations

from transpile.records import dataclass


@dataclass(frozen=True)
class Shaping:
    """The calls whose results take their shapes from numbers.

    Args:
        callables: functions whose result takes its shape from their arguments.
        filled: those of them whose first number counts samples where any does.
        viewing: those of them that give the tensor that comes first another shape.
        methods: methods of tensors whose result takes its shape from their arguments.
        views: those of them that give the tensor itself another shape.
        keywords: the arguments that hold whole shapes.
        made: functions that make something of as many rows as a number says, which cannot become
            those of a share.
        draws: methods of what draws random numbers that do.
        joins: functions that make one row of each element of a list.
        alike: functions that make rows that are all the same.
    """

    callables: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    viewing: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    keywords: frozenset[str] = frozenset({"size", "shape"})
    made: frozenset[str] = frozenset()
    draws: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    alike: frozenset[str] = frozenset()


#: NumPy's functions that fill an array, the shape first.
NUMPY_FILLED = frozenset(
    {
        "numpy.random.randn", "numpy.random.rand", "numpy.ones", "numpy.zeros", "numpy.full",
        "numpy.empty",
    }
)  # fmt: skip
#: The distributions of NumPy's random numbers that are drawn for a shape.
DISTRIBUTIONS = frozenset(
    {
        "beta", "binomial", "chisquare", "dirichlet", "exponential", "gamma", "geometric", "gumbel",
        "hypergeometric", "laplace", "logistic", "lognormal", "logseries", "multinomial",
        "multivariate_normal", "negative_binomial", "normal", "pareto", "poisson", "rayleigh",
        "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal",
        "standard_t", "triangular", "uniform", "vonmises", "weibull",
    }
)  # fmt: skip
#: NumPy's other functions that make an array of as many rows as they are told.
NUMPY_MADE = frozenset(f"numpy.random.{name}" for name in DISTRIBUTIONS) | {
    "numpy.random.randint", "numpy.random.random", "numpy.random.permutation",
    "numpy.random.random_sample", "numpy.random.sample", "numpy.eye", "numpy.arange",
    "numpy.linspace",
}  # fmt: skip
#: The methods of generators of random numbers and of distributions that do.
DRAWS = DISTRIBUTIONS | {
    "sample", "rsample", "rand", "randn", "randint", "random", "random_sample", "integers",
    "permutation",
}  # fmt: skip
#: NumPy's functions that make rows that are all the same.
NUMPY_ALIKE = frozenset({"numpy.ones", "numpy.zeros", "numpy.full", "numpy.empty"})
#: NumPy's functions that make one row of each element of a list.
NUMPY_JOINS = frozenset(
    {"numpy.array", "numpy.asarray", "numpy.stack", "numpy.vstack", "numpy.concatenate"}
)
#: NumPy's functions that take a shape or a number of samples.
NUMPY_SHAPED = NUMPY_FILLED | {
    "numpy.random.normal", "numpy.random.uniform", "numpy.random.randint", "numpy.random.random",
}  # fmt: skip
