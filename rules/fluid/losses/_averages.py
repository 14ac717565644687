"""Which numbers that trainers fetch the parameter servers can average."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Opaque, Value, Values, only_constant
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.asking import quantity
from transpile.records import dataclass
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.losses._losses import Kind, counts_tokens
from transpile.rules.fluid.programs._place import Place, place_of

ACCURACY = "paddle.fluid.layers.accuracy"
#: What reads variables of a program that was saved without averages.
LOADING = ("paddle.fluid.io.load_", "paddle.fluid.load")
BINDING = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor)
BY_ITSELF = frozenset({"paddle.fluid.io.load_inference_model"})


@dataclass(frozen=True, eq=False)
class Averaged:
    """A run that fetches means over a batch, alone or beside other variables.

    Args:
        event: the run.
        node: the list of what it fetches.
        names: how the means are written there, and where the program becomes distributed.
        sums: those of them that are sums over the batch.
        places: where they stand among what is fetched.
    """

    event: Event
    node: cst.List
    names: tuple[str, ...]
    sums: frozenset[str]
    places: frozenset[int]

    @property
    def whole(self) -> bool:
        """Whether all that is fetched is averaged."""
        return len(self.places) == len(self.node.elements)

    def gives(self, value: Value) -> bool:
        """Whether a value is one of the averages, taken out of what the run gives by its place."""
        index = only_constant(value.index) if isinstance(value, Opaque) else None
        if not isinstance(value, Opaque) or value.kind != "item" or index is None:
            return False
        results = {id(one) for one in self.event.result}
        place = index.value
        if isinstance(place, int) and place < 0:
            place += len(self.node.elements)
        return place in self.places and all(id(one) in results for one in value.operands[0])


@query
def averaged(plan: Plan) -> list[Averaged]:
    """The runs of the training whose numbers are averaged over the trainers, each place once."""
    options, roles, place = plan.options, roles_of(plan), place_of(plan)
    found: dict[int, Averaged] = {}
    if options.mode in ("nccl2", "collective") or options.async_mode or roles.transpiles:
        return []
    if not isinstance(place, Place) or place.condition or place.others or loads(plan):
        return []
    for run in roles.training:
        given = run.event.arguments.get("fetch_list", 2)
        node = given.node if given is not None else None
        source = run.event.module.source
        if run.whole or not isinstance(node, cst.List) or not run.event.module.is_entry:
            continue
        if isinstance(source.parent(run.event.node), cst.Expr):
            continue  # nobody looks at it
        if any(isinstance(each, cst.StarredElement) for each in node.elements):
            continue
        numbers = list(numbers_in(plan, run.event.module, node, place))
        kinds = {name: kind for _, name, kind in numbers}
        places = frozenset(at for at, *_ in numbers)
        if kinds:
            sums = frozenset(name for name, kind in kinds.items() if kind is Kind.SUM)
            each = Averaged(run.event, node, tuple(kinds), sums, places)
            found.setdefault(id(run.event.node), each)
    return list(found.values())


def loads(plan: Plan) -> bool:
    """Whether the script loads variables of a program."""
    return any(
        name.startswith(LOADING) and name not in BY_ITSELF
        for event in plan.facts.reached_calls
        for name in names_of(event)
    )


def numbers_in(
    plan: Plan, module: Module, fetched: cst.List, place: Place
) -> Iterator[tuple[int, str, Kind]]:
    """The places and names of the means and sums over a batch in a list of what is fetched."""
    for at, element in enumerate(fetched.elements):
        node = element.value
        if isinstance(node, cst.Attribute) and node.attr.value == "name":
            node = node.value
        if not isinstance(node, cst.Name) or not is_bound_for_both(module, node, place):
            continue
        kind = number(plan, plan.facts.values_of(node))
        if kind is not None:
            yield at, node.value, kind


def number(plan: Plan, values: Values) -> Kind | None:
    """Whether a variable is a mean or a sum over the samples of a batch; None for anything else."""
    if values and all(ACCURACY in called_names(value) for value in values):
        return Kind.MEAN
    found = quantity(plan, values)
    if found.pending or counts_tokens(values):
        return None
    return Kind.MEAN if found.is_mean else Kind.SUM if found.is_sum else None


def is_bound_for_both(module: Module, node: cst.Name, place: Place) -> bool:
    """Whether a name has one value, which it has where the program becomes distributed, too."""
    here = bindings(module, node, node.value)
    there = bindings(module, place.statement, node.value)
    if len(here) != 1 or len(there) != 1 or here[0] is not there[0]:
        return False
    source = module.source
    return source.span(here[0]).start < source.span(place.statement).start


def bindings(module: Module, node: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """Where the name is bound that stands at a place, in the innermost scope that binds it."""
    function = function_of(module, node)
    while function is not None:
        found = bound_in(module, function, name)
        if found:
            return found
        function = function_of(module, function)
    return bound_in(module, None, name)


def bound_in(module: Module, function: cst.FunctionDef | None, name: str) -> list[cst.CSTNode]:
    """The targets of assignments and parameters of a name in one scope."""
    found: list[cst.CSTNode] = [
        node
        for node in module.source.nodes
        if isinstance(node, BINDING)
        and function_of(module, node) is function
        and name in names_among(node.target)
    ]
    if function is not None:
        params = (*function.params.params, *function.params.kwonly_params)
        found.extend(param for param in params if param.name.value == name)
    return found


def names_among(target: cst.CSTNode) -> set[str]:
    """The names that an assignment binds."""
    if isinstance(target, cst.Name):
        return {target.value}
    if isinstance(target, (cst.Tuple, cst.List)):
        return {name for each in target.elements for name in names_among(each.value)}
    return set()
