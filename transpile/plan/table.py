"""What the machine must be told about a framework: its vocabulary, by meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from transpile.facts.state import Dialect
from transpile.plan.shaping import Shaping
from transpile.plan.versions import Versions
from transpile.plan.vocabulary import Vocabulary
from transpile.records import dataclass, field

if TYPE_CHECKING:
    import libcst as cst

    from transpile.facts.events import Event
    from transpile.facts.module import Module
    from transpile.plan.model import Plan


@dataclass(frozen=True)
class Table:
    """The vocabulary of one framework.

    Args:
        framework: its name, as the command line says it.
        prefix: the letters of its codes.
        packages: dotted names of packages whose import makes a script one of this framework; where
            several frameworks match, the longest name decides.
        dialect: what the interpreter must know.
        module_bases: base classes of models.
        loader_parameters: loader class to its parameters, in order, without ``self``.
        foreign_loaders: what a library gives may be a loader, rebuilt when the script runs.
        no_loaders: dotted prefixes of functions whose results are known to be no such loaders.
        optimizer_packages: dotted prefixes of optimizer classes.
        not_optimizers: dotted prefixes below those that are something else.
        parameters_keyword: the argument of an optimizer that takes the parameters.
        learns_tensors: whether optimizers may hold tensors that belong to no model.
        parameter_groups: the attribute of an optimizer that holds its groups of parameters.
        group_methods: methods of an optimizer that give it more parameters.
        parameters_first: it stands first among the positional ones; else whichever argument gives
            a model's parameters counts.
        parameter_methods: methods of a model that give its parameters.
        backward_methods: methods of a loss that start the backward pass.
        backward_functions: functions that do.
        step_methods: methods of an optimizer that update the parameters.
        no_gradient: managers and decorators that switch gradients off.
        gradient_modes: functions that switch them on or off until further notice.
        layer_packages: dotted prefixes of classes that make layers.
        distributed_starts: calls that join a process group.
        distributed_uses: calls that make use of one for training.
        distributed_engines: dotted prefixes of libraries that distribute by themselves, to the
            name that people know.
        engine_tools: dotted prefixes below those of what distributes nothing.
        launch_variables: environment variables in which a launcher tells a process of its job.
        quiet_packages: packages of the framework's surroundings that distribute nothing.
        gradient_functions: functions that take gradients without a backward pass.
        gradients_of: those of them whose argument of that name and position says of what.
        rank_calls: calls whose result differs from rank to rank.
        rank_attributes: calls and attributes of what they give that differ from rank to rank.
        world_size_calls: calls whose result is the number of processes.
        wrappers: functions and classes that average the gradients of the model they are given.
        preparing_methods: methods that change where a model is or what of it learns.
        loading_methods: those of them that give it whole weights.
        saving_methods: methods that give the weights of a model and all its parts, by name.
        moving_methods: those that move it, each to whether it always goes elsewhere. A wrap loses
            hold of parameters that do.
        elsewhere: names of devices and types, at which a model does not train.
        replacing: functions whose result takes a model's place, or that change its parameters.
        gradient_switches: attributes of parameters that switch their learning, to the value with
            which they learn.
        joins: the processes join within the script; else a process knows its role from the start.
        joins_by_import: they join where the helpers are defined, or imported, before anything else.
        layer_containers: classes that hold several layers, which a forward pass calls one by one.
        thaws: a wrap can be made to know parameters that are frozen when it is made.
        draws: functions that draw random numbers from a state of the process.
        filling_methods: methods of tensors that fill them with such numbers.
        assigning_methods: methods of tensors that give them other values, beside those whose name
            ends with an underscore.
        filling_functions: functions that fill the tensor that they are given with such numbers.
        redrawing_methods: methods of layers that draw their parameters anew.
        shared_draws: dotted prefixes of functions that draw from a state that all code shares.
        index_draws: functions that draw positions of samples at random.
        shaped_draws: those of them whose size is a shape, wherever among the arguments it stands.
        rank_samplers: samplers that give each process its share.
        pieces: functions that cut data into batches, given the data and a size or a number.
        piece_methods: methods of data that do, given a size or a number.
        shaping: calls that give tensors their shapes.
        quantities: what operations are called, for the analysis of how values depend on a batch.
        distributed: a framework's own way to see how a script is distributed already, asked after
            the common one; empty text where it is not.
        trains: a framework's own way to see that a script trains, asked after the common one.
        sites: a framework's own places that some rule must claim, beside backward passes, optimizer
            steps and training loaders: what to call them, the module and the node.
        early: what a framework's processes must have joined for, beside what trains.
        splits_calls: the framework has rules that shard the calls of models.
        versions: the versions of the framework that outputs run on.
        apart: names of models of in-house code that keep the samples of a batch apart; all below
            one that ends in ``.*``.
    """

    framework: str
    prefix: str
    packages: frozenset[str]
    dialect: Dialect
    module_bases: frozenset[str] = frozenset()
    loader_parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    foreign_loaders: bool = False
    no_loaders: tuple[str, ...] = ()
    optimizer_packages: tuple[str, ...] = ()
    not_optimizers: tuple[str, ...] = ()
    parameters_keyword: str = "params"
    learns_tensors: bool = False
    parameter_groups: str = "param_groups"
    group_methods: frozenset[str] = frozenset()
    parameters_first: bool = True
    parameter_methods: frozenset[str] = frozenset()
    backward_methods: frozenset[str] = frozenset()
    backward_functions: frozenset[str] = frozenset()
    step_methods: frozenset[str] = frozenset()
    no_gradient: frozenset[str] = frozenset()
    gradient_modes: frozenset[str] = frozenset()
    layer_packages: tuple[str, ...] = ()
    distributed_starts: frozenset[str] = frozenset()
    distributed_uses: frozenset[str] = frozenset()
    distributed_engines: dict[str, str] = field(default_factory=dict)
    engine_tools: tuple[str, ...] = ()
    launch_variables: frozenset[str] = frozenset()
    quiet_packages: tuple[str, ...] = ()
    gradient_functions: frozenset[str] = frozenset()
    gradients_of: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    rank_calls: frozenset[str] = frozenset()
    rank_attributes: frozenset[tuple[str, str]] = frozenset()
    world_size_calls: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    preparing_methods: frozenset[str] = frozenset()
    loading_methods: frozenset[str] = frozenset()
    saving_methods: frozenset[str] = frozenset()
    moving_methods: Mapping[str, bool] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()
    replacing: frozenset[str] = frozenset()
    gradient_switches: Mapping[str, bool] = field(default_factory=dict)
    joins: bool = True
    joins_by_import: bool = False
    layer_containers: frozenset[str] = frozenset()
    thaws: bool = False
    draws: frozenset[str] = frozenset()
    filling_methods: frozenset[str] = frozenset()
    assigning_methods: frozenset[str] = frozenset()
    filling_functions: frozenset[str] = frozenset()
    redrawing_methods: frozenset[str] = frozenset()
    shared_draws: tuple[str, ...] = ()
    index_draws: frozenset[str] = frozenset()
    shaped_draws: frozenset[str] = frozenset()
    rank_samplers: frozenset[str] = frozenset()
    pieces: frozenset[str] = frozenset()
    piece_methods: frozenset[str] = frozenset()
    shaping: Shaping = Shaping()
    quantities: Vocabulary = Vocabulary()
    distributed: Callable[[Plan], str] | None = None
    trains: Callable[[Plan], bool] | None = None
    sites: Callable[[Plan], Iterable[tuple[str, Module, cst.CSTNode]]] | None = None
    early: Callable[[Plan], Iterable[Event]] | None = None
    splits_calls: bool = False
    versions: Versions | None = None
    apart: tuple[str, ...] = ()

    def engine_of(self, name: str) -> str:
        """The library that distributes by itself, as people know it; empty for any other name."""
        if f"{name}.".startswith(self.engine_tools) or name.endswith("seed_everything"):
            return ""
        for prefix, word in self.distributed_engines.items():
            if f"{name}.".startswith(prefix if prefix.endswith(".") else f"{prefix}."):
                return word
        return ""

    def is_apart(self, name: str) -> bool:
        """Whether a project says of a model that it keeps the samples of a batch apart."""
        return any(
            name.startswith(one[:-1]) if one.endswith(".*") else name == one for one in self.apart
        )

    def is_optimizer(self, name: str) -> bool:
        """Whether a dotted name is an optimizer class."""
        return name.startswith(self.optimizer_packages) and not name.startswith(self.not_optimizers)
