"""Draw the splits of the data once for all processes.

What:
    Where each process would draw a split, or an order of the samples, for itself, all take that of
    rank 0: behind the place where the processes get random numbers of their own, from generators
    without a seed, and from sources that share no seed. What cannot be sent, such as a shuffle in
    place, is drawn by every process from the random state of rank 0, and so is what a library may
    draw where it makes the training loader.

Why:
    With splits of their own, one process trains on what another tests on.

Before:
    order = np.random.default_rng().permutation(64)

After:
    order = from_main_process(np.random.default_rng().permutation(64))

Refuses when:
    the split is drawn before the processes know each other, or by a generator without a seed in
    place.

Source:
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque
from transpile.facts.walk import descendants
from transpile.layout import guard, wrap_expression
from transpile.plan.data.sources import sites
from transpile.plan.flow.places import Statement, insertion_place
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.data._data import Data, agreed_nodes, spread, within_agreement
from transpile.rules.pytorch.devices._model_places import model_place
from transpile.rules.pytorch.randomness._drawn_data import drawn_data
from transpile.rules.pytorch.randomness._private_chance import differs
from transpile.rules.pytorch.randomness._random_draws import Draws
from transpile.rules.pytorch.randomness._seeds import generators_by_chance

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT733": "a split is drawn once for all processes"}
SPLITS = {
    "torch.utils.data.random_split": "torch",
    "torch.randperm": "torch",
    "numpy.random.permutation": "numpy",
    "numpy.random.choice": "numpy",
    "numpy.random.shuffle": "numpy",
    "random.shuffle": "random",
    "random.sample": "random",
    "sklearn.model_selection.train_test_split": "numpy",
    "sklearn.utils.shuffle": "numpy",
}
SOURCES = ("torch", "numpy", "random")
SAME = "all processes take the same split"
#: Those that are a draw of samples only where a batch is cut out by their result.
POSITIONS = {
    "torch.randint": "torch",
    "numpy.random.randint": "numpy",
}
#: Those whose result is a number, an array or a list.
SENDABLE = frozenset(
    {
        "torch.randperm", "numpy.random.permutation", "numpy.random.choice", "random.sample",
        "sklearn.model_selection.train_test_split",
    }
)  # fmt: skip
#: Those that give one tensor.
TENSORS = frozenset({"torch.randperm", "torch.randint"})
IN_PLACE = frozenset({"numpy.random.shuffle", "random.shuffle"})
DRAWING_METHODS = frozenset({"permutation", "shuffle", "choice", "sample", "permuted"})


@dataclass(frozen=True, eq=False)
class Draw:
    """An expression that rank 0 evaluates for all.

    Args:
        module: where it stands.
        node: the expression.
        statement: the statement that every process runs with the random state of rank 0, where the
            result cannot be sent.
        holds_tensors: the result may be made of tensors of a GPU.
    """

    module: Module
    node: cst.BaseExpression
    statement: Statement | None = None
    holds_tensors: bool = False


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each split that each process would draw for itself."""
    if any(not backward.event.detached for backward in plan.backwards):
        yield from splits(plan, Data(plan), Draws(plan))
        yield from libraries(plan, Draws(plan))


def splits(plan: Plan, data: Data, draws: Draws) -> Iterator[Answer]:
    """Splits and orders that each process would draw for itself."""
    cut_out = places_cut_out(plan)
    together = {id(drawn.event.node) for drawn in drawn_data(plan) if drawn.repeated}
    answered: set[int] = set()
    chance = generators_by_chance(plan)
    for event in plan.facts.reached_calls:
        node = event.node
        if id(node) in together or id(node) in answered or not isinstance(node, cst.Call):
            continue
        source = splitting(event, data, cut_out)
        if source is None:
            continue
        name = name_of(event)
        if is_given(event, chance):
            source = "own"
        if source != "own" and (draws.equal(event, source) or has_seed(event)):
            continue
        answered.add(id(node))
        statement = own_line(event) if source != "own" else None
        if id(node) in agreed_nodes(plan) or within_agreement(plan, event):
            yield Ruling.done("PT733", (event.module, node), SAME)
        elif draws.joined_before(event) and sendable(event, name):
            yield Ruling.apply(
                "PT733",
                (event.module, node),
                "each process would draw this for itself",
                data=Draw(event.module, node, holds_tensors=holds_gpu_tensors(plan, event)),
            )
        elif draws.joined_before(event) and statement is not None:
            yield Ruling.apply(
                "PT733",
                (event.module, node),
                "each process would draw this for itself",
                data=Draw(event.module, node, statement),
            )
        else:
            yield Ruling.refuse(
                "PT733",
                (event.module, node),
                "each process draws this for itself, so that one trains on what another tests on",
                "seed the random numbers just before, or give a seed to this call",
            )


def places_cut_out(plan: Plan) -> set[int]:
    """The expressions that say which samples a batch consists of."""
    return {
        id(node)
        for backward in plan.backwards
        for cut in backward.cuts
        for node in descendants(cut.node)
    }


def splitting(event: Event, data: Data, cut_out: set[int]) -> str | None:
    """Where a call takes the random numbers from that it splits data by; None for other calls."""
    source = source_of(event, id(event.node) in cut_out)
    if source is None:
        return None
    touched = event.arguments.items[0].values if name_of(event) in IN_PLACE else event.result
    return source if data.holds(touched) or data.holds(spread(touched)) else None


def name_of(event: Event) -> str:
    """The external name that a call calls; empty for others."""
    return next((c.name for c in event.callee if isinstance(c, External)), "")


def libraries(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Calls of libraries that make training loaders, and may split the data by chance."""
    for site in sites(plan):
        event = site.loader.event
        if not site.loader.foreign or all(draws.equal(event, source) for source in SOURCES):
            continue
        statement = own_line(event)
        if within_agreement(plan, event):
            yield Ruling.done("PT733", site, SAME)
        elif draws.joined_before(event) and statement is not None:
            yield Ruling.apply(
                "PT733",
                site,
                "this may split the data by chance, each process for itself",
                data=Draw(site.module, site.node, statement),
            )
        else:
            yield Ruling.refuse(
                "PT733",
                site,
                "this may split the data by chance, each process for itself, so that one trains on "
                "what another tests on",
                "seed the random numbers just before, or call it on a line of its own in main()",
            )


def own_line(event: Event) -> Statement | None:
    """The expression or assignment that an event happens in, with its line if it has one."""
    statement = insertion_place(event.module, event.node)
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    return statement if isinstance(small, (cst.Expr, cst.Assign)) else None


def source_of(event: Event, cuts_out: bool) -> str | None:
    """Where a split takes its random numbers from; None for other calls.

    Args:
        event: the call.
        cuts_out: whether its result says which samples a batch consists of.
    """
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in SPLITS:
            return SPLITS[callee.name]
        if isinstance(callee, External) and callee.name in POSITIONS and cuts_out:
            return POSITIONS[callee.name]
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in DRAWING_METHODS and any(
                differs(value) for value in callee.operands[0]
            ):
                return "own"
    return None


def has_seed(event: Event) -> bool:
    """Whether a split is given a seed or a generator."""
    for name in ("generator", "random_state"):
        argument = event.arguments.get(name)
        if argument is not None and any(v != Constant(None) for v in argument.values):
            return True
    return False


def is_given(event: Event, generators: set[int]) -> bool:
    """Whether a split is given one of some generators."""
    argument = event.arguments.get("generator")
    return argument is not None and any(
        id(value) in generators for value in walk_back(argument.values)
    )


def sendable(event: Event, name: str) -> bool:
    """Whether the result of a draw can be taken from rank 0."""
    if name:
        return name in SENDABLE or name in POSITIONS
    return any(isinstance(callee, Opaque) and callee.name != "shuffle" for callee in event.callee)


def holds_gpu_tensors(plan: Plan, event: Event) -> bool:
    """Whether what a split gives may be sequences of tensors that are on a GPU."""
    if model_place(plan) == "cpu" or name_of(event) in TENSORS:
        return False
    given = (*event.callee, *(v for item in event.arguments.items for v in item.values))
    return any(
        name.split(".")[0] == "torch" for value in walk_back(given) for name in called_names(value)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The draw within the helper, or its statement within a block."""
    data: Draw = ruling.data
    if data.statement is not None:
        helper = "shared_randomness"
        yield Helper(helper, data.module)
        header = f"with {plan.names_in(data.module).fresh(helper)}():"
        for edit in guard(data.module.source, data.statement, data.statement, header):
            yield In(data.module, edit)
        return
    helper = "broadcast_object" if data.holds_tensors else "from_main_process"
    yield Helper(helper, data.module)
    name = plan.names_in(data.module).fresh(helper)
    for edit in wrap_expression(data.module.source, data.node, f"{name}(", ")"):
        yield In(data.module, edit)
