"""What a framework distributes training with, as far as rules in common ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from transpile.evaluation import Evaluation
from transpile.facts.module import Module
from transpile.plan.data.collation import Padding
from transpile.plan.model import Model, Plan
from transpile.plan.models.reaches import Wrapper
from transpile.plan.models.wraps import Wrap
from transpile.records import dataclass
from transpile.rule import Rulings
from transpile.text.span import Span


@dataclass(frozen=True, eq=False)
class Backend:
    """What a framework distributes training with.

    Args:
        framework: its name.
        prefix: that of its codes.
        words: what the manuals of the rules say in the words of the framework.
        wrapper: what models are wrapped into.
        padding: what fills up samples of different lengths.
        evaluations: the loops of a script that evaluate.
        starters: what starts processes, beside the standard library.
        shared_noise: how noise is made that is the same on all processes.
        in_place: whether a wrap takes the place of the script's own wrapper.
        broadcasts: whether a model has buffers that all processes take from rank 0.
        removed: the stretches of a module that other rules remove.
    """

    framework: str
    prefix: str
    words: Mapping[str, str]
    wrapper: Wrapper
    padding: Padding
    evaluations: Callable[[Plan], Iterable[Evaluation]]
    shared_noise: str
    starters: tuple[str, ...] = ()
    in_place: Callable[[Plan, Wrap], bool] = lambda plan, wrap: False
    broadcasts: Callable[[Plan, Model], bool] = lambda plan, model: False
    removed: Callable[[Rulings, Module], Iterable[Span]] = lambda rulings, module: ()
