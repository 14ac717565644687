"""What the arithmetic must be told about a framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from transpile.arithmetic.formula import Formula
from transpile.records import dataclass, field

if TYPE_CHECKING:
    from transpile.arithmetic.reading import Reader
    from transpile.arithmetic.scenario import Figure, Scenario
    from transpile.facts.values import Opaque
    from transpile.plan.model import Loader, Plan
    from transpile.rule import Rulings


@dataclass(frozen=True)
class Parameter:
    """A parameter of a schedule.

    Args:
        name: its name.
        position: where it stands without its name.
        kind: ``count`` (of calls of the schedule), ``rate`` (a learning rate), ``epochs``,
            ``batches`` (of one epoch) or ``factor``.
        default: what it is where it is not given; None where it is left out then.
    """

    name: str
    position: int
    kind: str = "count"
    default: float | None = None


@dataclass(frozen=True)
class Drawing:
    """How a loader draws its batches, for one process and for several.

    Args:
        samples: the samples of a pass over the data; None where the loader cannot say.
        batch: the samples of a batch in the script.
        drop_last: the incomplete last batch is left out; None where that is not known.
        sharing: how the processes share the data: ``padded`` (each the same number, rounded up),
            ``cut`` (rounded down), ``batches`` (each a part of every batch), or empty where each
            goes through all of it.
        in_blocks: a loader that evaluates, of which ``--eval shard`` gives each process a block of
            whole batches.
        divided: each process takes its share of a batch where the batch is the global one.
        unknown_because: why the steps of a pass cannot be told.
    """

    samples: Formula
    batch: Formula
    drop_last: bool | None = False
    sharing: str = ""
    divided: bool = True
    in_blocks: bool = False
    unknown_because: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """A framework's words for what is counted.

    Args:
        drawing: how a loader draws its batches; None where it is not known.
        size: the length of what a library made; None where it is not known.
        schedules: dotted name of a schedule to what it is told.
        rates: name of an optimizer to the learning rate that it has by itself.
        rate: the parameter of an optimizer that is its learning rate.
        shapes: functions to the position of the argument whose first number is the length of what
            they make.
        ranges: functions that make what ``range`` would.
        orders: functions that make the numbers of a permutation.
        same_length: functions and methods whose result is as long as their first argument.
        lambdas: schedules to the parameter that is a function of the step.
        scales: whether ``--scale-lr`` is carried out.
        figures: everything that there is to say, where loops and optimizers are none of the plan.
    """

    drawing: Callable[[Plan, Rulings, Loader, Reader], Drawing | None]
    size: Callable[[Opaque, Reader], Formula | None]
    schedules: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    rate: Parameter = Parameter("lr", 1, "rate")
    shapes: Mapping[str, int] = field(default_factory=dict)
    ranges: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    same_length: frozenset[str] = frozenset()
    lambdas: Mapping[str, Parameter] = field(default_factory=dict)
    scales: bool = True
    figures: Callable[[Scenario], Iterator[Figure]] | None = None
