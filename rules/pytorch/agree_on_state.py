"""Make what training starts from equal on all processes.

What:
    The order of a set becomes its sorted order; listings that data or labels are read from are
    those of rank 0; splits that the processes would draw each for itself are drawn by rank 0.
    What cannot be agreed on, such as a hash, random weights outside of the wrapped models or a
    restored random state, is reported.

Why:
    The hash of a string differs from process to process, and so does the order of a set: one
    process's word number 5 would be another's number 7. A split that differs trains on what
    another process tests on.

Before:
    words = list(set(text.split()))

After:
    words = sorted(set(text.split()))

Refuses when:
    a split is drawn before the processes know each other, or by a function that changes its
    argument.

Source:
    https://docs.python.org/3/reference/datamodel.html#object.__hash__,
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from transpile.rules.pytorch._models import reached_by_losses
from transpile.rules.pytorch._random_draws import Draws, own_generator
from transpile.rules.pytorch._together import agreed_values, agreeing_calls

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.finding import Level
from transpile.layout import replace_expression, wrap_expression
from transpile.plan.graph import called_names, method_calls, origin, parents
from transpile.plan.model import Plan
from transpile.plan.places import ancestors, function_of
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

CODES = {
    "PT731": "a set has the same order on all processes",
    "PT732": "a listing is that of rank 0",
    "PT733": "a split is drawn once for all processes",
    "PT734": "a hash differs from process to process",
    "PT735": "a model that is not wrapped has weights of each process's own",
    "PT736": "a restored random state makes the processes draw the same",
}
#: What makes a sequence of an iterable, in its order.
ORDERING = frozenset({"builtins.list", "builtins.tuple"})
#: What looks at an iterable in its order.
LOOKING = frozenset({"builtins.enumerate", "builtins.zip", "builtins.map", "builtins.iter"})
#: What does not care for an order.
CARELESS = frozenset(
    f"builtins.{word}"
    for word in ("sorted", "len", "set", "frozenset", "sum", "max", "min", "any", "all", "dict")
)
SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
#: How the elements of a set that may not be sortable are taken from rank 0.
SENT = {"sorted": "rank 0", "sort": "list of rank 0"}
STRING_METHODS = frozenset(
    {
        "join", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "read", "readline",
        "decode", "title", "capitalize", "casefold", "zfill", "read_text", "strftime", "group",
    }
)  # fmt: skip
STRING_FUNCTIONS = frozenset(
    {"builtins.str", "builtins.chr", "builtins.input", "os.path.basename", "os.path.join"}
)
#: Methods that give lists of strings.
TEXT_METHODS = frozenset({"split", "rsplit", "splitlines", "readlines", "findall", "tokenize"})
LISTINGS = frozenset({"os.listdir", "glob.glob", "os.scandir", "glob.iglob", "os.walk"})
#: Listings that are lists, and so can be sent to other processes.
LISTS = frozenset({"os.listdir", "glob.glob"})
LISTING_METHODS = frozenset({"iterdir", "glob", "rglob"})
SPLITS = {
    "torch.utils.data.random_split": "torch",
    "torch.randperm": "torch",
    "numpy.random.permutation": "numpy",
    "numpy.random.choice": "numpy",
    "numpy.random.shuffle": "numpy",
    "random.shuffle": "random",
    "random.sample": "random",
    "sklearn.model_selection.train_test_split": "numpy",
}
#: Those whose result is a number, an array or a list.
SENDABLE = frozenset(
    {
        "torch.randperm", "numpy.random.permutation", "numpy.random.choice", "random.sample",
        "sklearn.model_selection.train_test_split",
    }
)  # fmt: skip
IN_PLACE = frozenset({"numpy.random.shuffle", "random.shuffle"})
DRAWING_METHODS = frozenset({"permutation", "shuffle", "choice", "sample", "permuted"})
RANDOM_STATES = frozenset(
    {
        "torch.set_rng_state", "torch.random.set_rng_state", "torch.cuda.set_rng_state",
        "torch.cuda.set_rng_state_all", "random.setstate", "numpy.random.set_state",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ordering:
    """An expression whose order becomes equal.

    Args:
        module: where it stands.
        node: the expression.
        way: ``sorted`` in place of its function, ``sort`` around it, ``rank 0`` or ``list of rank
            0``.
    """

    module: Module
    node: cst.BaseExpression
    way: str


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each thing that would differ from process to process."""
    if not any(not backward.event.detached for backward in plan.backwards):
        return
    data = Data(plan)
    draws = Draws(plan)
    yield from sets(plan, draws)
    yield from listings(plan, data, draws)
    yield from splits(plan, data, draws)
    yield from hashes(plan)
    yield from weights(plan, draws)
    yield from random_states(plan)


# Sets.


def sets(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Places that look at the elements of a set in their order."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen or event.kind not in ("call", "iterate"):
            continue
        seen.add(id(event.node))
        found: Ordering | None = None
        if isinstance(event.node, cst.Call):
            found = set_in_call(plan, event.module, event.node)
        elif isinstance(event.node, (cst.For, cst.CompFor)):
            iterated = event.node.iter
            if is_set(plan, iterated) and order_matters(plan, event.module, event.node):
                found = Ordering(event.module, iterated, "sort")
        if found is None:
            continue
        elements = elements_of(plan, found)
        if all_numbers(elements):
            continue
        yield set_answer(found, all_strings(elements), event, draws)


def set_answer(found: Ordering, strings: bool, event: Event, draws: Draws) -> Answer:
    """What is done about one set: sorted where it can be, else taken from rank 0."""
    why = "the order of a set differs from process to process"
    if strings:
        return Ruling("PT731", Verdict.APPLY, found.module, found.node, why, data=found)
    if event.module.is_entry and draws.joined_before(event):
        sent = Ordering(found.module, found.node, SENT[found.way])
        return Ruling("PT731", Verdict.APPLY, found.module, found.node, why, data=sent)
    return Remark("PT731", Level.WARNING, found.module, found.node, why, "sort its elements")


def set_in_call(plan: Plan, module: Module, node: cst.Call) -> Ordering | None:
    """A set that a call brings into an order; None for anything else."""
    names = names_called(plan, node)
    if names & ORDERING and len(node.args) == 1 and is_set(plan, node.args[0].value):
        if ignored(plan, module, node) or sorted_later(plan, module, node):
            return None
        if id(node) in agreed_nodes(plan):
            return None
        if "builtins.list" in names:
            return Ordering(module, node, "sorted")
        return Ordering(module, node.args[0].value, "sort")
    if names & LOOKING and not ignored(plan, module, node):
        for arg in node.args:
            if is_set(plan, arg.value):
                return Ordering(module, arg.value, "sort")
    return None


def elements_of(plan: Plan, found: Ordering) -> Values:
    """The elements of the set that an ordering is about."""
    node = found.node
    if found.way == "sorted" and isinstance(node, cst.Call):
        node = node.args[0].value
    elements: list[Value] = []
    for part in set_parts(node):
        if isinstance(part, cst.SetComp):
            elements.extend(plan.facts.values_of(part.elt))
        for value in plan.facts.values_of(part):
            if isinstance(value, Sequence):
                elements.extend(value.every())
    return tuple(elements)


def set_parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The sets that an expression of set operations is made of."""
    if isinstance(node, cst.BinaryOperation):
        yield from set_parts(node.left)
        yield from set_parts(node.right)
    elif (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in SET_METHODS
    ):
        yield from set_parts(node.func.value)
    else:
        yield node


def names_called(plan: Plan, node: cst.Call) -> set[str]:
    """The external names that a call may call."""
    return {value.name for value in plan.facts.values_of(node.func) if isinstance(value, External)}


def is_set(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a set."""
    return any(
        isinstance(part, cst.SetComp)
        or any(
            isinstance(value, Sequence) and value.kind == "set"
            for value in plan.facts.values_of(part)
        )
        for part in set_parts(node)
    )


def all_strings(values: Values) -> bool:
    """Whether values are certainly strings, which can be sorted."""
    return bool(values) and all(is_string(value) for value in values)


def is_string(value: Value, depth: int = 0) -> bool:
    """Whether a value is certainly a string."""
    if isinstance(value, Constant):
        return isinstance(value.value, str)
    if not isinstance(value, Opaque) or depth > 8:
        return False
    if value.kind in ("element", "item"):
        return any(is_text(source, depth + 1) for source in value.operands[0])
    if value.kind == "operation":
        return value.name in ("format", "concatenate") or (
            value.name in ("Add", "Modulo")
            and any(is_string(v, depth + 1) for v in value.operands[0])
        )
    if any(name in STRING_FUNCTIONS for name in called_names(value)):
        return True
    return any(name in STRING_METHODS for name, _ in method_calls(value))


def is_text(value: Value, depth: int) -> bool:
    """Whether the elements of a value are strings."""
    if is_string(value, depth):
        return True
    if isinstance(value, Sequence):
        return all_strings(value.every())
    if any(name in LISTS or name in ("builtins.open",) for name in called_names(value)):
        return True
    return any(name in TEXT_METHODS for name, _ in method_calls(value))


def all_numbers(values: Values) -> bool:
    """Whether values are certainly numbers, whose hashes are the same everywhere."""
    return bool(values) and all(is_number(value) for value in values)


def is_number(value: Value) -> bool:
    """Whether a value is certainly a number."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element":
        return any(
            "builtins.range" in called_names(source) or from_tensor(source)
            for source in value.operands[0]
        )
    if value.kind == "operation":
        return value.name in ("len", "index")
    return any(
        name in ("builtins.int", "builtins.float", "builtins.hash", "builtins.id")
        for name in called_names(value)
    ) or from_tensor(value)


def from_tensor(value: Value) -> bool:
    """Whether a value holds the numbers of a tensor or an array."""
    return any(name in ("tolist", "item", "numpy") for name, _ in method_calls(value)) or any(
        name.startswith(("numpy.", "torch.")) for name in called_names(value)
    )


def ignored(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether what an expression is given to does not care for its order."""
    outer = module.source.parent(node)
    if isinstance(outer, cst.Arg):
        call = module.source.parent(outer)
        if isinstance(call, cst.Call):
            return bool(names_called(plan, call) & CARELESS)
    if isinstance(outer, cst.ComparisonTarget):
        return isinstance(outer.operator, (cst.In, cst.NotIn))
    return isinstance(outer, cst.Comparison) or (
        isinstance(outer, cst.CompFor)
        and isinstance(module.source.parent(outer), (cst.SetComp, cst.DictComp))
    )


def sorted_later(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether the list is sorted in place wherever it goes, or only looked at without order."""
    statement = module.source.parent(node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    if not isinstance(target, (cst.Name, cst.Attribute)):
        return False
    text = module.source.code(target)
    scope = function_of(module, node) or module.source.tree
    for other in descendants(scope):
        if isinstance(other, cst.Attribute) and other.attr.value == "sort":
            if module.source.code(other.value) == text:
                return True
    if not isinstance(target, cst.Name):
        return False
    uses = [
        other
        for other in descendants(scope)
        if isinstance(other, cst.Name) and other.value == text and other is not target
    ]
    return bool(uses) and all(ignored(plan, module, use) for use in uses)


def order_matters(plan: Plan, module: Module, node: cst.For | cst.CompFor) -> bool:
    """Whether a loop over a set makes something that depends on the order."""
    if isinstance(node, cst.CompFor):
        made = module.source.parent(node)
        if isinstance(made, (cst.SetComp, cst.DictComp)):
            return False
        return made is not None and not ignored(plan, module, made)
    for inner in descendants(node.body):
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            if inner.func.attr.value in ("append", "extend", "insert"):
                return True
        if isinstance(inner, cst.Call) and "builtins.len" in names_called(plan, inner):
            if any(isinstance(outer, cst.Assign) for outer in ancestors(module, inner)):
                return True
        if isinstance(inner, cst.AugAssign) and isinstance(inner.value, cst.Integer):
            return True
    return False


# Listings.


class Data:
    """What the loaders' data is made of."""

    def __init__(self, plan: Plan) -> None:
        self.reached: set[int] = set()
        pending: list[Value] = []
        for loader in plan.loaders:
            for name in ("dataset", "sampler", "batch_sampler"):
                argument = loader.argument(name)
                if argument is not None:
                    pending.extend(argument.values)
        while pending:
            value = pending.pop()
            if id(value) in self.reached:
                continue
            self.reached.add(id(value))
            if isinstance(value, Instance):
                for values in value.attributes.values():
                    pending.extend(values)
                if value.arguments is not None:
                    for item in value.arguments.items:
                        pending.extend(item.values)
            else:
                for group in parents(value):
                    pending.extend(group)

    def holds(self, values: Values) -> bool:
        """Whether the data is made of one of the values."""
        return any(id(value) in self.reached for value in values)


def listings(plan: Plan, data: Data, draws: Draws) -> Iterator[Answer]:
    """Listings of files that data or labels are read from."""
    numbered = numbered_values(plan)
    for event in calls(plan):
        node = event.node
        names = {callee.name for callee in event.callee if isinstance(callee, External)}
        if not (names & LISTINGS or lists_path(event)) or not isinstance(node, cst.Call):
            continue
        if ignored(plan, event.module, node) or sorted_later(plan, event.module, node):
            continue
        if not data.holds(event.result) and not any(id(v) in numbered for v in event.result):
            continue
        if id(event.node) in agreed_nodes(plan) or any(
            id(value) in agreed_values(plan) for value in event.result
        ):
            yield Ruling(
                "PT732",
                Verdict.ALREADY_DONE,
                event.module,
                node,
                "all processes take the same listing",
            )
        elif names & LISTS and event.module.is_entry and draws.joined_before(event):
            yield Ruling(
                "PT732",
                Verdict.APPLY,
                event.module,
                node,
                "files are listed in an order that may differ from machine to machine",
                data=Ordering(event.module, node, "rank 0"),
            )
        else:
            yield Remark(
                "PT732",
                Level.WARNING,
                event.module,
                node,
                "files are listed in an order that may differ from machine to machine, and data "
                "is read in that order",
                "sort the listing",
            )


def calls(plan: Plan) -> Iterator[Event]:
    """The calls of the run, one for each place."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind == "call" and not event.detached and id(event.node) not in seen:
            seen.add(id(event.node))
            yield event


def lists_path(event: Event) -> bool:
    """Whether a call lists a directory through a path object."""
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in LISTING_METHODS
        and any(is_path(value) for value in callee.operands[0])
        for callee in event.callee
    )


def is_path(value: Value) -> bool:
    """Whether a value is a path object."""
    if any(name.startswith("pathlib.") for name in called_names(value)):
        return True
    if isinstance(value, Opaque) and value.kind == "operation" and value.name == "Divide":
        return any(is_path(v) for v in value.operands[0])
    return False


def numbered_values(plan: Plan) -> set[int]:
    """The identities of values that ``enumerate`` numbers, and of what they were made of."""
    found: set[int] = set()
    for event in plan.facts.events:
        if event.kind == "call" and External("builtins.enumerate") in event.callee:
            pending = [v for item in event.arguments.items for v in item.values]
            while pending:
                value = pending.pop()
                if id(value) in found or isinstance(value, Instance):
                    continue
                found.add(id(value))
                for group in parents(value):
                    pending.extend(group)
    return found


def agreed_nodes(plan: Plan) -> set[int]:
    """The expressions that are given to a function that makes them equal."""
    agreeing = agreeing_calls(plan)
    return {
        id(arg.value)
        for event in plan.facts.events
        if id(event.node) in agreeing and isinstance(event.node, cst.Call)
        for arg in event.node.args
    }


# Splits.


def splits(plan: Plan, data: Data, draws: Draws) -> Iterator[Answer]:
    """Splits and orders that each process would draw for itself."""
    for event in calls(plan):
        node = event.node
        source = source_of(event)
        if source is None or not isinstance(node, cst.Call):
            continue
        name = next((c.name for c in event.callee if isinstance(c, External)), "")
        touched = event.arguments.items[0].values if name in IN_PLACE else event.result
        if not data.holds(touched) and not data.holds(spread(touched)):
            continue
        if source != "own" and (draws.equal(event, source) or has_seed(event)):
            continue
        if id(node) in agreed_nodes(plan):
            yield Ruling(
                "PT733",
                Verdict.ALREADY_DONE,
                event.module,
                node,
                "all processes take the same split",
            )
        elif draws.joined_before(event) and sendable(event, name):
            yield Ruling(
                "PT733",
                Verdict.APPLY,
                event.module,
                node,
                "each process would draw this for itself",
                data=Ordering(event.module, node, "rank 0"),
            )
        else:
            yield Ruling(
                "PT733",
                Verdict.REFUSE,
                event.module,
                node,
                "each process draws this for itself, so that one trains on what another tests on",
                "seed the random numbers just before, or give a seed to this call",
            )


def source_of(event: Event) -> str | None:
    """Where a split takes its random numbers from; None for other calls."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in SPLITS:
            return SPLITS[callee.name]
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in DRAWING_METHODS and any(
                own_generator(value) for value in callee.operands[0]
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


def spread(values: Values) -> Values:
    """The elements of sequences, and what is unpacked of opaque results."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Sequence):
            found.extend(value.every())
        elif isinstance(value, Mapping):
            found.extend(value.every())
    return tuple(found)


def sendable(event: Event, name: str) -> bool:
    """Whether the result of a draw can be taken from rank 0."""
    if name:
        return name in SENDABLE
    return any(isinstance(callee, Opaque) and callee.name != "shuffle" for callee in event.callee)


# What can only be reported.


def hashes(plan: Plan) -> Iterator[Answer]:
    """Hashes that are more than an object's own ``__hash__``."""
    for event in calls(plan):
        if External("builtins.hash") not in event.callee:
            continue
        function = event.function()
        if function is not None and function.name == "__hash__":
            continue
        if event.arguments.items and all_numbers(event.arguments.items[0].values):
            continue
        yield Remark(
            "PT734",
            Level.WARNING,
            event.module,
            event.node,
            "the hash of a string differs from process to process",
            "take zlib.crc32 of its bytes",
        )


def weights(plan: Plan, draws: Draws) -> Iterator[Answer]:
    """Models that take part in training, are not wrapped, and were made with random weights."""
    reached = reached_by_losses(plan)
    for model in plan.models:
        if model.trained or not isinstance(model.value, (Instance, Opaque)):
            continue
        if not any(id(v) in reached for event in model.forwards for v in event.result):
            continue
        made = next((e for e in plan.facts.events if e.node is model.value.node), None)
        if made is None or not has_parameters(plan, model.value) or copied(plan, model.value):
            continue
        if draws.equal(made, "torch"):
            continue
        yield Remark(
            "PT735",
            Level.WARNING,
            made.module,
            made.node,
            "this model is made where each process has random numbers of its own, and it is not "
            "wrapped: its weights differ",
            "make it before the training loop, or load its weights from a file",
        )


def has_parameters(plan: Plan, value: Instance | Opaque) -> bool:
    """Whether a model may have parameters: losses and activations have none."""
    names = called_names(value)
    if names:
        return any(
            name.startswith(("torch.nn.", "torchvision.models."))
            and not name.endswith("Loss")
            and name.rpartition(".")[2] not in WITHOUT_PARAMETERS
            for name in names
        )
    if isinstance(value, Instance):
        return any(
            has_parameters(plan, part)
            for values in value.attributes.values()
            for part in values
            if isinstance(part, (Opaque, Instance)) and part is not value
        )
    return False


WITHOUT_PARAMETERS = frozenset(
    {
        "ReLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Dropout", "Flatten", "Identity",
        "MaxPool1d", "MaxPool2d", "AvgPool2d", "Upsample", "CosineSimilarity", "PairwiseDistance",
        "LeakyReLU", "GELU", "ELU", "Module",
    }
)  # fmt: skip


def copied(plan: Plan, value: Value) -> bool:
    """Whether a model's weights come from elsewhere: loaded, or copied from another model."""
    for event in plan.facts.events:
        if event.kind != "call":
            continue
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name in ("load_state_dict", "copy_"):
                if any(origin(v) is value for v in callee.operands[0]):
                    return True
    return any(name.startswith("copy.") for name in called_names(value))


def random_states(plan: Plan) -> Iterator[Answer]:
    """Random states that are set from a file."""
    for event in calls(plan):
        if any(isinstance(c, External) and c.name in RANDOM_STATES for c in event.callee):
            yield Remark(
                "PT736",
                Level.WARNING,
                event.module,
                event.node,
                "every process takes up the random state of the one that saved it, and draws the "
                "same noise",
                "restore it on rank 0 only, or seed anew with the rank",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression in an order that is equal everywhere."""
    data: Ordering = ruling.data
    source = data.module.source
    if data.way == "rank 0":
        yield Helper("from_main_process")
        name = plan.names.fresh("from_main_process")
        changes = wrap_expression(source, data.node, f"{name}(", ")")
    elif data.way == "list of rank 0":
        yield Helper("from_main_process")
        name = plan.names.fresh("from_main_process")
        changes = wrap_expression(source, data.node, f"{name}(list(", "))")
    elif data.way == "sorted":
        assert isinstance(data.node, cst.Call)
        changes = replace_expression(source, data.node.func, "sorted")
    else:
        changes = wrap_expression(source, data.node, "sorted(", ")")
    for edit in changes:
        yield In(data.module, edit)
