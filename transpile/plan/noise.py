"""Random numbers that change parameters or averaged gradients, of each process's own."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Values
from transpile.plan.graph import called_names, method_calls, origins, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.parts import part_of
from transpile.plan.roles.surroundings import enters_part
from transpile.plan.wraps import Wrap, find_wrap

#: Functions of other libraries that draw.
DRAWS = frozenset(
    {
        "numpy.random.randn", "numpy.random.normal", "numpy.random.rand", "numpy.random.uniform",
        "numpy.random.standard_normal", "random.random", "random.gauss", "random.uniform",
    }
)  # fmt: skip
#: Methods of distributions that draw.
SAMPLES = frozenset({"sample", "rsample", "sample_n"})


def uneven_noise(plan: Plan) -> Iterator[Event]:
    """The events that change parameters or gradients of a wrapped model by random numbers."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen:
            continue
        for changed, by, fills in changes(plan, event):
            if not (fills or draws(plan, by)):
                continue
            if any(is_wrapped(plan, model, event) for model in models_of(plan, changed)):
                seen.add(id(event.node))
                yield event
                break


def is_wrapped(plan: Plan, model: Model, event: Event) -> bool:
    """Whether an event comes after the wrap, which makes all processes begin alike.

    Models without a wrap begin alike, too, and change together once they are trained.
    """
    wrap = find_wrap(plan, model)
    if not isinstance(wrap, Wrap):
        return plan.in_training(event.stack)
    return event.order >= wrap.order


def changes(plan: Plan, event: Event) -> Iterator[tuple[Values, Values, bool]]:
    """What an event changes in place, by which values, and whether it draws these itself."""
    if event.kind == "call":
        given = tuple(value for item in event.arguments.items for value in item.values)
        generator = event.arguments.get("generator", None) is not None
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in plan.table.assigning_methods or (
                    callee.name.endswith("_") and not callee.name.startswith("_")
                ):
                    yield callee.operands[0], given, (
                        callee.name in plan.table.filling_methods and not generator
                    )
    elif event.kind == "store" and event.name in ("grad", "data"):
        yield event.callee, event.result, False
    elif event.kind == "operate":
        yield event.callee, event.result, False


def draws(plan: Plan, values: Values) -> bool:
    """Whether random numbers of the process's own are among what values are made of."""
    for value in walk_back(values, lambda value: isinstance(value, Opaque)):
        if not isinstance(value, Opaque) or value.kind != "call":
            continue
        if value.arguments.get("generator", None) is not None:
            continue
        if any(name in DRAWS or name in plan.table.draws for name in called_names(value)):
            return True
        filling = plan.table.filling_methods
        if any(name in filling or name in SAMPLES for name, _ in method_calls(value)):
            return True
    return False


def models_of(plan: Plan, values: Values) -> Iterator[Model]:
    """The trained models that values are parameters of, or the data or gradients of these."""
    for value in walk_back(values, enters_part):
        owners: Values = ()
        for name, receiver in method_calls(value):
            if name in plan.table.parameter_methods:
                owners = (*owners, *origins(receiver))
        optimizers: Values = ()
        if isinstance(value, Opaque) and value.kind == "attribute":
            if value.name == "param_groups":
                optimizers = value.operands[0]
            elif value.name in ("weight", "bias"):
                owners = (*owners, *origins(value.operands[0]))
        for model in plan.trained_models:
            if any(part_of(plan, owner, model) for owner in owners):
                yield model
            elif any(each.value is one for each in model.optimizers for one in optimizers):
                yield model
