"""Refuse random changes of parameters or averaged gradients in training.

What:
    A change of a trained model's parameters or gradients by random numbers, inside the loops of
    training, is an error, unless the numbers come from a generator that is given.

Why:
    In training every process draws random numbers of its own, and gradients are averaged within the
    backward pass. What changes parameters or gradients afterwards must be equal on all processes,
    or each goes on with a model of its own, which nobody notices.

Before:
    for p in model.parameters():
        p.grad.add_(0.01 * torch.randn_like(p))

After:
    for p in model.parameters():
        p.grad.add_(0.01 * torch.randn(p.shape, generator=shared))

Refuses when:
    random numbers change parameters or gradients where the model is trained.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Values
from transpile.plan.graph import called_names, method_calls, origins, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.roles import enters_part
from transpile.result import Verdict
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch._models import Wrap, find_wrap, part_of

CODES = {"PT407": "random numbers change parameters or gradients in training"}
#: Functions that draw.
DRAWS = frozenset(
    {
        "torch.rand", "torch.rand_like", "torch.randn", "torch.randn_like", "torch.randint",
        "torch.randint_like", "torch.normal", "torch.bernoulli", "torch.multinomial",
        "torch.randperm", "torch.poisson", "numpy.random.randn", "numpy.random.normal",
        "numpy.random.rand", "numpy.random.uniform", "random.random", "random.gauss",
        "random.uniform",
    }
)  # fmt: skip
#: Methods that fill a tensor with what they draw.
FILLS = frozenset(
    {
        "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "log_normal_",
        "geometric_",
    }
)  # fmt: skip
#: Methods of distributions that draw.
SAMPLES = frozenset({"sample", "rsample", "sample_n"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that changes parameters or gradients by random numbers."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen:
            continue
        for changed, by, fills in changes(event):
            if not (fills or draws(by)):
                continue
            if any(is_wrapped(plan, model, event) for model in models_of(plan, changed)):
                seen.add(id(event.node))
                yield Ruling(
                    "PT407",
                    Verdict.REFUSE,
                    event.module,
                    event.node,
                    "random numbers change parameters or averaged gradients here, and each process "
                    "draws its own: their models would drift apart",
                    "draw them from a torch.Generator that every process seeds alike",
                )
                break


def is_wrapped(plan: Plan, model: Model, event: Event) -> bool:
    """Whether an event comes after the wrap, which makes all processes begin alike."""
    wrap = find_wrap(plan, model)
    return isinstance(wrap, Wrap) and event.order >= wrap.order


def changes(event: Event) -> Iterator[tuple[Values, Values, bool]]:
    """What an event changes in place, by which values, and whether it draws these itself."""
    if event.kind == "call":
        given = tuple(value for item in event.arguments.items for value in item.values)
        generator = event.arguments.get("generator", None) is not None
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name.endswith("_") and not callee.name.startswith("_"):
                    yield callee.operands[0], given, callee.name in FILLS and not generator
    elif event.kind == "store" and event.name in ("grad", "data"):
        yield event.callee, event.result, False
    elif event.kind == "operate":
        yield event.callee, event.result, False


def draws(values: Values) -> bool:
    """Whether random numbers of the process's own are among what values are made of."""
    for value in walk_back(values, lambda value: isinstance(value, Opaque)):
        if not isinstance(value, Opaque) or value.kind != "call":
            continue
        if value.arguments.get("generator", None) is not None:
            continue
        if any(name in DRAWS for name in called_names(value)):
            return True
        if any(name in FILLS or name in SAMPLES for name, _ in method_calls(value)):
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
