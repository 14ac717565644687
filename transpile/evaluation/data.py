"""Whether what a loader delivers can be sharded batch by batch."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call
from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Value,
)
from transpile.facts.walk import descendants
from transpile.plan.data.sources import depends_on_world_size
from transpile.plan.graph import called_names, method_calls, parents
from transpile.plan.model import Loader, Plan

from .effects import DRAWS, SAMPLING
from .model import Obstacle
from .words import EvaluationWords

#: Libraries whose transforms draw random numbers where their names do not tell otherwise.
AUGMENTING = ("albumentations.", "imgaug.", "kornia.augmentation.", "monai.transforms.Rand")
RANDOM_WORDS = ("Random", "ColorJitter", "AutoAugment", "TrivialAugment", "AugMix", "Rand")
ITERATING = frozenset({"builtins.enumerate", "tqdm.tqdm", "rich.progress.track"})


def head(plan: Plan, loop: cst.For) -> cst.BaseExpression:
    """The loader in the head of a loop.

    Raises:
        Obstacle: the loop goes over something else that is made of it.
    """
    node = loop.iter
    while isinstance(node, cst.Call):
        values = plan.facts.values_of(node.func)
        if not values or not all(isinstance(v, External) and v.name in ITERATING for v in values):
            break
        if not node.args or node.args[0].star or node.args[0].keyword is not None:
            break
        if External("builtins.enumerate") in values:
            check_numbers(loop)
        node = node.args[0].value
    if isinstance(node, cst.Call) and not node.args:
        # A loader that gives its batches when it is called is called where it is sharded, too.
        made = plan.facts.values_of(node.func)
        if made and {id(v) for v in made} == {id(v) for v in plan.facts.values_of(node)}:
            node = node.func
    return node


def check_numbers(loop: cst.For) -> None:
    """Make sure that nothing depends on a batch's number.

    Raises:
        Obstacle: something might.
    """
    target = loop.target
    number = target.elements[0].value if isinstance(target, cst.Tuple) else None
    if not isinstance(number, cst.Name):
        raise Obstacle(loop, "the numbers of the batches are kept")
    for node in descendants(loop.body):
        if isinstance(node, cst.Name) and node.value == number.value:
            raise Obstacle(node, f"the number of the batch, '{number.value}', is used")


def check_loader(plan: Plan, loader: Loader, words: EvaluationWords) -> None:
    """Make sure that the batches of a loader can be sharded.

    Raises:
        Obstacle: they cannot.
    """
    node = loader.event.node
    if not isinstance(loader.value, Opaque):
        raise Obstacle(node, "the loader's class is the script's own")
    dataset = loader.argument("dataset")
    if dataset is not None and words.is_stream(dataset.values):
        raise Obstacle(node, "its data is a stream, of which the length is not known")
    for name in ("sampler", "batch_sampler"):
        argument = loader.argument(name)
        if argument is not None and (
            words.is_distributed(argument.values) or depends_on_world_size(plan, argument.values)
        ):
            raise Obstacle(node, "its sampler knows of several processes already")
    size = loader.argument("batch_size")
    if size is not None and any(value == Constant(None) for value in size.values):
        raise Obstacle(node, "the loader makes no batches")
    held = [
        value
        for argument in (
            *map(loader.argument, ("dataset", "sampler", "batch_sampler")),
            loader.collating,
        )
        if argument is not None
        for value in argument.values
    ]
    if draws_random_numbers(plan, held):
        raise Obstacle(node, "its samples are made with random numbers")


def draws_random_numbers(plan: Plan, values: list[Value]) -> bool:
    """Whether the samples of a data set are made with random numbers."""
    seen: set[int] = set()
    pending = list(values)
    classes: set[int] = set()
    functions: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        names = list(called_names(value))
        if isinstance(value, External):
            names.append(value.name)
        if any(is_random(name) for name in names):
            return True
        if isinstance(value, Instance):
            classes.update(id(one) for one in value.cls.ancestry() if isinstance(one, Class))
            pending.extend(v for values in value.attributes.values() for v in values)
            continue
        if isinstance(value, Function):
            functions.add(id(value))
        for group in parents(value):
            pending.extend(group)
    if not classes and not functions:
        return False
    return any(
        draws(plan, callee)
        for event in plan.facts.calls
        if any(
            isinstance(frame, Call)
            and (
                id(frame.function) in functions
                or (
                    frame.function.name in ("__getitem__", "__call__", "__getitems__")
                    and id(frame.function.owner) in classes
                )
            )
            for frame in event.stack
        )
        for callee in event.callee
    )


def is_random(name: str) -> bool:
    """Whether a class or function makes samples with random numbers."""
    package, _, word = name.rpartition(".")
    if name.startswith(AUGMENTING):
        return True
    return "transforms" in package and word.startswith(RANDOM_WORDS)


def draws(plan: Plan, callee: Value) -> bool:
    """Whether a call draws random numbers."""
    if isinstance(callee, External):
        return callee.name in plan.table.draws or callee.name.startswith(DRAWS)
    if isinstance(callee, Opaque) and callee.kind == "attribute":
        return callee.name in SAMPLING or any(
            name.startswith(("numpy.random.", "random."))
            for receiver in callee.operands[0]
            for name in (*called_names(receiver), *(word for word, _ in method_calls(receiver)))
        )
    return False
