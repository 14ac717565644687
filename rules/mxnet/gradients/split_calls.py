"""Split the calls of trained networks over the workers, and leave whole batches to the script.

What:
    Every worker draws the whole batch. The ``forward`` of each Gluon network that a trainer updates
    computes this worker's rows in training and returns the outputs of all rows, with gradients; the
    servers add the rows up. Losses, numbers, decisions and state of the script stay as they are, on
    the values that one process has. The first batch must show that rows are apart.

Why:
    A loss that compares the samples of a batch, a statistic or a mined example is another one on a
    share of the batch. On whole batches all of them are those of one process, wherever the batches
    come from.

Before:
    trainer = gluon.Trainer(net.collect_params(), "sgd")

After:
    split_calls(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd")

Refuses when:
    something else than Gluon networks with a trainer in a loop is trained; the noise of dropout
    would part the workers; second derivatives are taken, which ``autograd.Function`` does not have;
    a network does something else in training, or keeps something between its calls, or is given
    or gives something else than arrays, such as lists of states, or is made for batches of one
    size; the batches are the same in every step.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/autograd/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, External, Function
from transpile.facts.walk import descendants, is_of_self
from transpile.layout import insert_before
from transpile.plan.data.batch_kinds import Batch, batch_of
from transpile.plan.flow.places import Statement, insertion_place
from transpile.plan.hooks.kept_by_models import classes_of, parts, targets
from transpile.plan.hooks.methods_of_models import reached_by_passes
from transpile.plan.model import Model, Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import has_modules, trainer_argument, trainers
from transpile.rules.mxnet.data._batch_shapes import fits_one_size
from transpile.rules.mxnet.gradients._inputs import no_arrays

CODES = {
    "MX351": "the calls of trained networks are split over the workers",
    "MX352": "the calls of what is trained cannot be split",
    "MX354": "the first batch must show that the samples of a network are apart",
}
#: Where batches are sharded, calls are not.
WAYS = ("calls",)
ADVICE = "keep the samples of a batch apart within the network, or distribute it by hand"
#: What a network may do in training alone: ask for the mode, and draw noise.
TRAINING = frozenset(
    {"is_training", "train_mode", "predict_mode", "random", "normal", "uniform", "random_normal",
     "random_uniform", "sample_normal", "normal_like", "uniform_like", "Dropout"}
)  # fmt: skip
#: Networks that may drop out.
ZOOS = ("mxnet.gluon.model_zoo.", "gluoncv.", "gluonnlp.")
KEEPING = frozenset({"append", "extend", "add", "update", "set_data"})
HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})


@dataclass(frozen=True, eq=False)
class Place:
    """Where a network is split.

    Args:
        module: where that is.
        statement: the statement that makes its trainer.
        text: what the network is called there.
        model: the network.
    """

    module: Module
    statement: Statement
    text: str
    model: Model


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each trainer's network, and for each backward pass."""
    node = plan.entry.source.tree
    why = obstacle(plan)
    if why:
        yield Ruling.refuse("MX352", (plan.entry, node), why, ADVICE)
        return
    found = places(plan)
    if isinstance(found, str):
        yield Ruling.refuse("MX352", (plan.entry, node), found, ADVICE)
        return
    claims = tuple(loader.event.node for loader in plan.training_loaders)
    for place in found:
        yield Ruling.apply(
            "MX351",
            (place.module, place.statement),
            f"the calls of '{place.text}' are split over the workers",
            data=place,
            claims=claims,
            done=is_split(plan),
        )
        yield Remark.note(
            "MX354",
            (place.module, place.statement),
            f"whether '{place.text}' keeps its samples apart is checked with the first batch, and "
            "the job stops where it does not",
        )


#: What gathers rows derives from.
GATHERS = "mxnet.autograd.Function"


def is_split(plan: Plan) -> bool:
    """Whether the script splits the calls of its networks already."""
    called = list(plan.facts.calls)
    return any(GATHERS in names_of(event.callee) for event in called) and any(
        isinstance(callee, Function) and callee.name.startswith("split_calls")
        for event in called
        for callee in event.callee
    )


def names_of(callees: tuple[object, ...]) -> set[str]:
    """The dotted names behind what is called."""
    found: set[str] = set()
    for callee in callees:
        if isinstance(callee, External):
            found.add(callee.name)
        if isinstance(callee, Class):
            found.update(callee.external_bases())
    return found


def obstacle(plan: Plan) -> str:
    """Why no calls can be split, whatever the network is; empty where they can."""
    if plan.options.kvstore == "dist_async":
        return "with dist_async the rows of the workers do not meet"
    if plan.options.batches == "broadcast":
        return "--batches broadcast is for PyTorch alone: every worker draws them"
    if has_modules(plan) or not trainers(plan):
        return "calls are split for Gluon networks that a trainer updates in a loop of the script"
    if drops_out(plan):
        return (
            "dropout and noise within split calls would part the random numbers of the workers, "
            "whose state MXNet does not give out"
        )
    if fits_one_size(plan):
        return (
            "a model is made for the batch of the script, but computes the rows of one worker "
            "where its calls are split"
        )
    for event in plan.facts.reached_calls:
        if "mxnet.autograd.grad" in names_of(event.callee):
            return "gradients are taken by function, and split calls have no second derivatives"
        if any(getattr(callee, "name", "") in HOOKS for callee in event.callee):
            return "a hook of a block sees the rows of one worker alone"
    for backward in plan.backwards:
        if backward.event.detached or not backward.models:
            continue
        batch = batch_of(plan, backward)
        if batch is Batch.ACTED:
            return "each step trains on what acting with the network gave just before"
        if batch is Batch.FIXED and plan.options.shard != "calls":
            return "every step trains on the same rows: no batch is drawn from data"
    return ""


def drops_out(plan: Plan) -> bool:
    """Whether networks may hold dropout: known layers of that kind, or networks of others."""
    for event in plan.facts.calls:
        if event.arguments.keyword("dropout") is not None:
            return True
        if any(n.startswith(ZOOS) or "dropout" in n.lower() for n in names_of(event.callee)):
            return True
    return False


def places(plan: Plan) -> list[Place] | str:
    """Where the networks are split, each before its trainer is made; or why that is not known."""
    found: list[Place] = []
    for trainer in trainers(plan):
        argument = trainer_argument(trainer, "params")
        statement = insertion_place(trainer.event.module, trainer.event.node)
        node = argument.node if argument is not None else None
        text = network_of(trainer.event.module, node)
        models = [model for model in plan.trained_models if trainer in model.optimizers]
        if not text or statement is None or len(models) != 1:
            return "which network a trainer updates is not written as collect_params() of a name"
        kept = what_is_kept(plan, models[0])
        if kept:
            return kept
        other = no_arrays(models[0])
        if other:
            return f"'{text}' {other}: what of them is a row for each sample cannot be told"
        found.append(Place(trainer.event.module, statement, text, models[0]))
    return found


def network_of(module: Module, node: cst.CSTNode | None) -> str:
    """The text of the network whose parameters an expression collects; empty where unclear."""
    while isinstance(node, cst.Call) and node.args and not isinstance(node.func, cst.Attribute):
        node = node.args[0].value
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return ""
    base = node.func.value
    simple = isinstance(base, (cst.Name, cst.Attribute)) and not node.args
    return module.source.code(base) if simple and node.func.attr.value == "collect_params" else ""


def what_is_kept(plan: Plan, model: Model) -> str:
    """What a network of the project does in its calls that the first batch would not show."""
    passes = reached_by_passes(classes_of(plan, model))
    for cls in classes_of(plan, model):
        for name, values in cls.scope.names.items():
            for function in values:
                if not isinstance(function, Function) or name == "__init__":
                    continue
                if id(function.node) not in passes:
                    continue
                for node in descendants(function.node):
                    if not fits_split_calls(node):
                        return (
                            f"'{name}' of '{cls.name}' does something in training that the "
                            "first batch would not show, or keeps something between its calls"
                        )
    return ""


def fits_split_calls(node: cst.CSTNode) -> bool:
    """Whether a node of a network's method is none that the first batch would not show."""
    if isinstance(node, cst.Attribute):
        return node.attr.value not in TRAINING
    if isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)):
        return not any(is_of_self(part) for one in targets(node) for part in parts(one))
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.attr.value not in KEEPING or not is_of_self(node.func.value)
    return True


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call before the statement that makes the trainer."""
    place: Place = ruling.data
    yield Helper("split_calls", place.module)
    line = f"{plan.names_in(place.module).fresh('split_calls')}({place.text})"
    for edit in insert_before(place.module.source, place.statement, [line], order=5):
        yield In(place.module, edit)
