"""Arrays that a training loop makes up: random numbers, ones and zeros of a shape."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import Class, External, Function, Instance, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.mxnet._roles import receivers_of, updates

#: Functions that draw random numbers of a shape.
RANDOM = ("mxnet.nd.random", "mxnet.np.random", "mxnet.random.", "numpy.random.")
#: What these modules hold beside such functions.
OTHER_RANDOM = frozenset(
    {"seed", "shuffle", "permutation", "choice", "get_state", "set_state", "RandomState",
     "default_rng"}
)  # fmt: skip
#: Functions that fill an array of a shape.
FILLED = frozenset(
    f"{package}.{name}"
    for package in ("mxnet.nd", "mxnet.np", "numpy")
    for name in ("zeros", "ones", "full", "empty")
)
SHAPED_METHODS = frozenset({"begin_state", "reshape", "bind", "simple_bind"})
#: Functions that take the lengths of the axes one by one.
BY_AXIS = frozenset(
    {"numpy.random.rand", "numpy.random.randn", "mxnet.nd.random.randn", "mxnet.np.random.rand",
     "mxnet.np.random.randn", "mxnet.random.randn"}
)  # fmt: skip
#: How many arguments stand before the shape of random numbers, other than two.
BEFORE_SHAPE = {
    "exponential": 1, "poisson": 1, "geometric": 1, "chisquare": 1, "rayleigh": 1, "pareto": 1,
    "weibull": 1, "power": 1, "standard_gamma": 1, "standard_t": 1, "random": 0, "random_sample": 0,
    "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0, "bytes": 0,
    "bernoulli": 1, "triangular": 3, "hypergeometric": 3,
}  # fmt: skip
LAYERS = ("mxnet.gluon.nn.", "mxnet.gluon.rnn.", "mxnet.gluon.model_zoo.")


def is_random(event: Event) -> bool:
    """Whether a call draws random numbers of a shape."""
    return any(
        isinstance(callee, External)
        and callee.name.startswith(RANDOM)
        and callee.name.rpartition(".")[2] not in OTHER_RANDOM
        for callee in event.callee
    )


def fills(event: Event) -> bool:
    """Whether a call fills an array of a shape."""
    return any(isinstance(callee, External) and callee.name in FILLED for callee in event.callee)


def shapes(event: Event) -> bool:
    """Whether a call's result takes its shape from its arguments."""
    if is_random(event) or fills(event):
        return True
    return any(
        isinstance(callee, Opaque)
        and callee.name in SHAPED_METHODS
        and bool(receivers_of(event, callee.name))
        for callee in event.callee
    )


def first_axis(event: Event) -> cst.BaseExpression | None:
    """The length of the first axis of what a call makes up, as it is written in the call."""
    if not isinstance(event.node, cst.Call) or not (is_random(event) or fills(event)):
        return None
    for argument in event.node.args:
        if argument.keyword is not None and argument.keyword.value in ("shape", "size"):
            return leading(argument.value)
    given = [each.value for each in event.node.args if each.keyword is None and not each.star]
    if given and (fills(event) or any(External(name) in event.callee for name in BY_AXIS)):
        return leading(given[0])
    for callee in event.callee:
        place = BEFORE_SHAPE.get(getattr(callee, "name", "").rpartition(".")[2], 2)
        if len(given) > place:
            return leading(given[place])
    return None


def bound_lengths(event: Event) -> list[cst.BaseExpression] | None:
    """The lengths of the first axes that a module is bound to; None where they cannot be read."""
    found: list[cst.BaseExpression] = []
    for place, name in enumerate(("data_shapes", "label_shapes")):
        argument = event.arguments.get(name, place)
        if argument is None:
            continue
        if not isinstance(argument.node, (cst.List, cst.Tuple)):
            return None
        for element in argument.node.elements:
            parts: list[cst.BaseExpression] = []
            if isinstance(element.value, (cst.List, cst.Tuple)):
                parts = [each.value for each in element.value.elements]
            elif isinstance(element.value, cst.Call):  # a DataDesc
                parts = [each.value for each in element.value.args]
            shape = parts[1] if len(parts) > 1 else None
            if not isinstance(shape, (cst.List, cst.Tuple)) or not shape.elements:
                return None
            found.append(shape.elements[0].value)
    return found or None


def leading(shape: cst.BaseExpression) -> cst.BaseExpression | None:
    """The first length of a shape."""
    if isinstance(shape, (cst.Tuple, cst.List)):
        return shape.elements[0].value if shape.elements else None
    return shape


def noise(plan: Plan) -> set[int]:
    """The random numbers that a training loop draws, and that a loss is made of."""
    return set(noise_of_samples(plan))


@query
def noise_of_samples(plan: Plan) -> dict[int, bool]:
    """Those random numbers, and whether they are a number of samples: several on the first axis."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    behind = {id(value) for value in walk_back(losses)}
    return {
        id(value): has_samples(first_axis(event))
        for event in plan.facts.reached_calls
        if is_random(event)
        if any(isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack)
        for value in event.result
        if id(value) in behind
    }


def has_samples(length: cst.BaseExpression | None) -> bool:
    """Whether something with that length has samples on its first axis."""
    return length is not None and not (isinstance(length, cst.Integer) and length.value == "1")


def holds_batch(value: Value) -> bool:
    """Whether what a value is made of may have samples: not what layers are made of."""
    if isinstance(value, (Instance, Function, Class)):
        return False
    return not any(name.startswith(LAYERS) for name in called_names(value))
