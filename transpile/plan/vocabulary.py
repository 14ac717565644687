"""What a framework calls the operations that the quantity analysis knows by its own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from transpile.records import dataclass, field

if TYPE_CHECKING:
    from transpile.facts.values import Opaque
    from transpile.plan.model import Plan


@dataclass(frozen=True)
class Loss:
    """A loss, as a function or as a class.

    Args:
        function: what it is called in messages: the word of the functional form.
        inputs: how many tensors it compares.
        parameters: those behind the tensors, of the function.
        settings: the parameters of the class.
        names: the parameters that take the tensors.
        reduction: how it reduces unless it is told.
        by_targets: its mean is weighted by class and leaves an index out.
        sized: its mean is over the elements of its target, and needs no other setting.
        couples: it compares the samples of a batch with each other.
        unsure: why nothing is known of a mean that leaves out targets that nobody named.
        negative: why nothing is known of one that leaves out a negative number.
    """

    function: str
    inputs: int
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    names: tuple[str, ...] = ("input", "target")
    reduction: str = "mean"
    by_targets: bool = False
    sized: bool = False
    couples: bool = False
    unsure: str = ""
    negative: str = ""


@dataclass(frozen=True)
class Batching:
    """What a collate function calls to make tensors of samples.

    Args:
        default: the framework's own collate function.
        stacks: functions that lay samples side by side along the dimension that they are given.
        joins: functions that lay rows of samples one behind the other, along a dimension likewise.
        shaped: functions that make a tensor of shape, with a size for each dimension.
        listed: functions that make one tensor, with a row for each sample, of a list of them.
        pads: functions that fill up samples to one length, behind the first dimension.
        tensors: data sets whose samples are parts of the tensors that they are given.
        of_tensors: dotted prefixes of data sets whose samples are tuples of tensors and numbers.
        wrappers: data sets whose samples are those of others.
        chains: those of them that are several, one behind the other.
    """

    default: frozenset[str] = frozenset()
    stacks: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    shaped: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()
    pads: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    of_tensors: tuple[str, ...] = ()
    wrappers: frozenset[str] = frozenset()
    chains: frozenset[str] = frozenset()


class Head(NamedTuple):
    """What a model of a library that is given labels computes its loss from.

    Args:
        mean_over: ``samples``, ``labels`` (those that are not left out), ``next labels`` (the same
            behind the first of each row), or empty where that is not known.
    """

    mean_over: str


@dataclass(frozen=True)
class LayerOperation:
    """The function that a layer applies.

    Args:
        word: what the analysis calls it.
        when_made: its arguments are given where the layer is made, not where it is called.
        order: the parameters of the layer, where they are not those of the function.
        default: the dimension of the layer where none is given, where it is not the function's.
        rank: how many dimensions what it is given has at least.
    """

    word: str
    when_made: bool = True
    order: tuple[str, ...] = ()
    default: int | None = None
    rank: int = 0


@dataclass(frozen=True)
class TimeFirst:
    """When a layer takes the first dimension for time, and the second for samples.

    Args:
        keyword: the setting that says so.
        value: what it is then.
        otherwise: whether it does so where that is not given.
    """

    keyword: str
    value: object
    otherwise: bool


@dataclass(frozen=True)
class Layers:
    """The layers and models of a framework, as far as their outputs need telling apart.

    Args:
        packages: dotted prefixes of what makes layers.
        functional: dotted prefixes below those of functions on tensors.
        models: dotted prefixes of libraries' models.
        whole: dotted prefixes of those of them that certainly have parameters.
        flat: dotted prefixes of those that give one tensor.
        several_models: how the names of those begin that give several tensors nonetheless.
        several: layers that give several tensors.
        recurrent: layers that give outputs and last states, to whether the states are a pair.
        parameterless: layers without parameters of their own.
        containers: layers that hold others, and have parameters where those have.
        along_first: layers that go along the first dimension unless they are told otherwise.
        time_first: layers of sequences, to when they take the first dimension for time.
        stacks: layers that repeat the one that they are given.
        samples_first: layers that take samples along the first dimension alone.
        contracting: layers that sum over the last dimension.
        axes: layers, to how many axes their outputs have at least.
        rows: all layers that take each sample by itself, where others count as unknown; None where
            other rules know them.
        operations: layers that may go along any dimension, to what they do.
        by_name: layers that apply the function of which they are given the name.
        heads: the head of a model that may compute losses by itself, by the name of what makes it.
        renewing: functions that put other parameters in the place of those of a layer.
        lazy: how the dotted names begin of layers that make their parameters in their first call.
    """

    packages: tuple[str, ...] = ()
    functional: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()
    several_models: tuple[str, ...] = ()
    several: frozenset[str] = frozenset()
    recurrent: Mapping[str, bool] = field(default_factory=dict)
    parameterless: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    along_first: frozenset[str] = frozenset()
    time_first: Mapping[str, TimeFirst] = field(default_factory=dict)
    stacks: frozenset[str] = frozenset()
    samples_first: frozenset[str] = frozenset()
    contracting: frozenset[str] = frozenset()
    axes: Mapping[str, int] = field(default_factory=dict)
    rows: frozenset[str] | None = None
    operations: Mapping[str, LayerOperation] = field(default_factory=dict)
    by_name: frozenset[str] = frozenset()
    heads: Callable[[str], Head | None] | None = None
    renewing: frozenset[str] = frozenset()
    lazy: tuple[str, ...] = ()

    def makes(self, name: str) -> bool:
        """Whether a dotted name is a layer of the framework."""
        return name.startswith(self.packages) and not name.startswith(self.functional)

    def word(self, name: str) -> str:
        """The word of a layer by its dotted name; empty for anything else."""
        package, _, word = name.rpartition(".")
        return word if f"{package}." in self.packages else ""


@dataclass(frozen=True)
class Vocabulary:
    """What a framework calls things, for the quantity analysis.

    Args:
        tensors: dotted prefixes of functions that make or take tensors.
        packages: dotted prefixes of all functions whose words are those of operations.
        operations: words of functions and methods to what the analysis calls the operation. What
            is not among them is unknown.
        parameters: word of a function to its parameters behind the tensor, where they have another
            order than the analysis supposes.
        defaults: word of a function to the dimension that it takes where none is given.
        several: words of what gives several tensors.
        lists: attributes of batches that are lists of tensors.
        sizes_kept: sizes of a shape that stand for those of the tensor itself.
        numbers_wait: numbers that leave the tensors are taken over all processes where they do;
            else they stay what they are, and rules look for the place.
        losses: dotted names of loss functions.
        loss_classes: dotted names of classes whose objects are losses.
        left_out: the number that losses of classes leave out unless they are told another one.
        batching: what collate functions call.
        layers: the layers and models.
        gradients: functions that give the gradients of their first argument by their second.
        sums: collectives that add a tensor up over the processes.
        collectives: the package of all collectives.
        distributions: dotted prefixes of what makes distributions.
        agreed: dotted prefixes of functions that give the same on all processes.
        scaling: ends of names of functions that give a loss back, scaled against underflow.
        searching: ends of names of optimizers that do not hand on the loss of a closure as it is.
        samples: functions that give the samples of a batch.
        parameter: whether what such a function gave is a parameter instead.
        means: functions that give a mean over the samples.
        layer_functions: dotted prefixes of functions that make and apply a layer.
        layer_words: those of them that take each sample by itself; empty where all do.
        operations_first: a function whose word is one of the operations is no layer.
        weights: functions that make parameters.
        flattening: operations that go along all elements where they are given no axis.
        apart: whether the models are shown to keep samples apart; None where nobody can tell.
    """

    tensors: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    operations: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    several: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    sizes_kept: frozenset[int] = frozenset()
    numbers_wait: bool = True
    losses: Mapping[str, Loss] = field(default_factory=dict)
    loss_classes: Mapping[str, Loss] = field(default_factory=dict)
    left_out: int = -100
    batching: Batching = Batching()
    layers: Layers = Layers()
    gradients: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    collectives: str = ""
    distributions: tuple[str, ...] = ()
    agreed: tuple[str, ...] = ()
    scaling: tuple[str, ...] = ()
    searching: tuple[str, ...] = ()
    samples: frozenset[str] = frozenset()
    parameter: Callable[[Opaque], bool] | None = None
    means: frozenset[str] = frozenset()
    layer_functions: tuple[str, ...] = ()
    layer_words: frozenset[str] = frozenset()
    operations_first: bool = False
    weights: frozenset[str] = frozenset()
    flattening: frozenset[str] = frozenset()
    apart: Callable[[Plan], bool] | None = None

    def operation(self, word: str) -> str:
        """What the analysis calls an operation; empty for what is not known."""
        plain = word if word.startswith("__") else word.rstrip("_") or word
        return self.operations.get(plain, "")
