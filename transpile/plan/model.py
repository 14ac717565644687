"""The plan: what a script is made of, in the terms of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import libcst as cst

from transpile.facts.events import Event, Loop, Stack
from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import Argument, Instance, Opaque, Value, Values
from transpile.options import Options
from transpile.plan.names import Names, identifiers, takes_everything
from transpile.plan.query import Answers
from transpile.plan.table import Table
from transpile.records import dataclass, field

if TYPE_CHECKING:
    from transpile.plan.data.cuts.bounds import Bounds
    from transpile.plan.effects.treatment import Once
    from transpile.prelude import HelperSource

#: What the ranks shard: every batch, or the calls of the models.
Way = Literal["data", "calls"]


@dataclass(eq=False)
class Cut:
    """A place where the script takes a batch out of its data by position, without a loader.

    Args:
        module: where it stands.
        node: the expression that is the batch, or its positions.
        size: the expression that says how large a batch is; None where none is seen.
        values: what the expression gives.
        done: each process cuts out a part of its own already.
        draws: the positions are drawn at random in each step.
        pieces: the expression gives all batches, one behind the other.
        bounds: those of the slice, where it is one.
        streams: the expression gives streams that lie beside each other along this dimension; each
            batch takes the next piece of all of them.
        sizes: what the size is here, for streams and for what is redrawn.
        fresh: the expression draws samples anew in each step, each process some for itself.
    """

    module: Module
    node: cst.BaseExpression
    size: cst.BaseExpression | None
    values: list[Value]
    done: bool = False
    draws: bool = False
    pieces: bool = False
    bounds: Bounds | None = None
    streams: int | None = None
    sizes: Values = ()
    fresh: bool = False


@dataclass(eq=False)
class Loader:
    """Something that delivers batches.

    Args:
        value: the object.
        event: the call that makes it.
        parameters: the parameters of its class, in order.
        iterations: the events that iterate over it.
        training: a backward pass depends on what it delivers.
        wrapped: it reaches its loop through something that cannot be analysed.
        foreign: a call that cannot be analysed gives it; whether it is a loader, the run tells.
    """

    value: Opaque | Instance
    event: Event
    parameters: tuple[str, ...]
    iterations: list[Event] = field(default_factory=list)
    training: bool = False
    wrapped: str = ""
    foreign: bool = False

    @property
    def node(self) -> cst.CSTNode:
        """The call that makes it."""
        return self.event.node

    def argument(self, name: str) -> Argument | None:
        """The argument for a parameter, by keyword or by position."""
        position = self.parameters.index(name) if name in self.parameters else None
        return self.event.arguments.get(name, position)

    @property
    def collating(self) -> Argument | None:
        """What makes batches of samples, by whatever name its class asks for it."""
        return self.argument("collate_fn") or self.argument("batchify_fn")


@dataclass(eq=False)
class Model:
    """Something with parameters that is called.

    Args:
        value: the object, device moves and the like looked through.
        forwards: calls of it outside of other models.
        trained: an optimizer holds parameters of it and a backward pass goes through it.
        optimizers: those that hold parameters of it.
        updated_by_hand: the script changes its parameters itself.
    """

    value: Value
    forwards: list[Event] = field(default_factory=list)
    trained: bool = False
    optimizers: list[Optimizer] = field(default_factory=list)
    updated_by_hand: bool = False


@dataclass(eq=False)
class Optimizer:
    """Something that updates parameters.

    Args:
        value: the object.
        event: the call that makes it.
        modules: the objects whose parameters it was given.
        steps: the calls that update.
        unknown_because: why it is not known what it updates; empty where it is.
        tensors: what it updates that belongs to no model.
        read: those of its models that a loss is made of without calling them.
    """

    value: Opaque | Instance
    event: Event
    modules: tuple[Value, ...] = ()
    steps: list[Event] = field(default_factory=list)
    unknown_because: str = ""
    tensors: tuple[Value, ...] = ()
    read: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Backward:
    """A backward pass.

    Args:
        event: the call.
        loss: what it is called on.
        loaders: the loaders whose batches the loss depends on.
        models: the models that the loss went through.
        tensors: the optimizers that hold tensors without a model that the loss is made of.
        batch_loop: the loop that draws the batches.
        epoch_loops: the loops around the batch loop, outermost first.
        cuts: without loaders, where the script cuts the batches out of its data.
        cut_problem: why what is cut out is not certain to be batches; empty where it is.
    """

    event: Event
    loss: Values
    loaders: tuple[Loader, ...] = ()
    models: tuple[Model, ...] = ()
    tensors: tuple[Optimizer, ...] = ()
    batch_loop: Loop | None = None
    epoch_loops: tuple[Loop, ...] = ()
    iteration: Event | None = None
    cuts: tuple[Cut, ...] = ()
    cut_problem: str = ""


def no_text(path: str) -> str | None:
    """Nothing, where there are no files beside the script."""
    return None


@dataclass(eq=False)
class Plan:
    """What a script is made of, and what the rules need to decide and to edit.

    Args:
        facts: what the run saw.
        table: the framework's vocabulary.
        options: what the user chose.
        way: what the ranks shard: batches (``data``) or the calls of models (``calls``).
        loaders, models, optimizers, backwards: the roles.
        answered: answers to questions about it, see :func:`~transpile.plan.query.query`.
        helpers: the variants of helpers that it needs, by name.
        once: what is decided about effects, which the framework's rules find.
        requirements: reads the files of the project that name its packages.
        text_beside: reads a file of the project; None where it cannot be read.
        names: names for what is inserted, by module; see :meth:`names_in`.
        samples: values with one entry for each sample of a batch that is cut out of the data, by
            identity, to the dimension that counts them.
        kept: those values, so that no other takes over their identity.
        by_hand: it is distributed as it is, and looked at; no rule adds anything.
    """

    facts: Facts
    table: Table
    options: Options
    way: Way = "data"
    loaders: list[Loader] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    optimizers: list[Optimizer] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    answered: Answers = field(default_factory=dict)
    helpers: dict[str, HelperSource] = field(default_factory=dict)
    once: Once | None = None
    requirements: Callable[[], Mapping[str, str]] = dict
    text_beside: Callable[[str], str | None] = no_text
    names: dict[Module, Names] = field(default_factory=dict)
    samples: dict[int, int] = field(default_factory=dict)
    kept: list[Value] = field(default_factory=list)
    by_hand: bool = False

    @property
    def entry(self) -> Module:
        """The script."""
        return self.facts.entry

    def names_in(self, module: Module) -> Names:
        """The names for what is inserted into a module."""
        if module not in self.names:
            used = identifiers(module.source)
            for other in self.facts.modules.values():
                # What `import *` takes over must not hide anything there.
                if other is not module and takes_everything(other.source):
                    used |= identifiers(other.source)
            self.names[module] = Names(module, used)
        return self.names[module]

    @property
    def trained_models(self) -> list[Model]:
        """The models that learn."""
        return [model for model in self.models if model.trained]

    @property
    def training_loaders(self) -> list[Loader]:
        """The loaders that feed a backward pass."""
        return [loader for loader in self.loaders if loader.training]

    def in_training(self, stack: Stack) -> bool:
        """Whether a place runs once for each training batch."""
        loops = {id(b.batch_loop.node) for b in self.backwards if b.batch_loop is not None}
        return any(isinstance(frame, Loop) and id(frame.node) in loops for frame in stack)
