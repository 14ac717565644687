"""Divide the batch, so that all workers together take the batch of the script.

What:
    The batch size of the training data becomes this worker's share of it; data for evaluation
    keeps its own, but where ``FeedForward`` wants one size for both. With
    ``--batch-size per-device`` each worker takes the script's batch.

Why:
    N workers with the script's batch size train with an N times larger batch: other gradients,
    fewer steps, another schedule. A batch that N does not divide stops the script at its start.

Before:
    train_iter = mx.io.NDArrayIter(images, labels, batch_size=args.batch_size)

After:
    train_iter = mx.io.NDArrayIter(images, labels, batch_size=split_batch(args.batch_size))

Refuses when:
    the batch size of the training data cannot be followed, or the script itself counts what each
    worker takes.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, External, Opaque, Unknown
from transpile.facts.walk import children
from transpile.finding import Level
from transpile.layout import add_argument, insert_after, wrap_expression
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import data_sources
from transpile.plan.roles.loaders import enters_iterator
from transpile.plan.start import PARSERS
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._loaders import ARRAYS, Site, counts_workers, from_store, sites, written
from transpile.rules.mxnet._roles import fits, receivers_of, training_loaders
from transpile.rules.mxnet._shares import SAMPLER, way

CODES = {
    "MX211": "the workers share the batch of the script",
    "MX212": "the batch size of the training data cannot be followed",
    "MX213": "each worker takes the batch of the script",
    "MX214": "the batch size is used for something else, too",
}
BY_HAND = "divide the batch size of the training data by the number of workers by hand"
#: What the record iterators and MNISTIter take without an argument.
DEFAULTS = {ARRAYS: "1", "mxnet.io.MNISTIter": "128"}
#: What takes its shape from a batch size.
SHAPED = (
    "mxnet.nd.zeros", "mxnet.nd.ones", "mxnet.nd.full", "mxnet.nd.empty", "mxnet.nd.random",
    "mxnet.np.zeros", "mxnet.np.ones", "mxnet.np.full", "mxnet.np.random", "mxnet.random.",
)  # fmt: skip
SHAPED_METHODS = frozenset({"begin_state", "reshape", "bind", "simple_bind"})


@dataclass(frozen=True, eq=False)
class Share:
    """An expression to divide; where it is missing, the default that stands for it."""

    module: Module
    node: cst.BaseExpression
    default: str = ""


@dataclass(frozen=True, eq=False)
class Parsed:
    """The statement that parses the command line, and the batch size that it gives."""

    module: Module
    node: cst.Assign
    text: str


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training data."""
    parsed: set[int] = set()
    for site in divided(plan):
        argument = batch_size(site)
        if argument is not None and from_store(argument.values, "num_workers"):
            yield Ruling(
                "MX211",
                Verdict.ALREADY_DONE,
                site.module,
                site.node,
                "the batch size is divided by the number of workers",
            )
        elif plan.options.batch_size == "per-device":
            yield Remark(
                "MX213",
                Level.NOTE,
                site.module,
                site.node,
                "each worker takes the batch size of the script: the global batch is that times "
                "the number of workers",
            )
        elif counts_workers(plan):
            yield from shared_where_parsed(plan, site, argument, parsed)
        else:
            yield share_of(site, argument)
            if argument is not None:
                yield from other_uses(plan, site, argument)


def shared_where_parsed(
    plan: Plan, site: Site, argument: Argument | None, seen: set[int]
) -> Iterator[Answer]:
    """The batch of a script that counts workers: all that it says of batches is about one of them.

    It is divided where the command line is parsed, and everything follows.
    """
    found = None
    for value in argument.values if argument is not None and len(argument.values) == 1 else ():
        if isinstance(value, Opaque) and value.kind == "attribute":
            found = parsing(plan, value)
    if found is None:
        yield Ruling(
            "MX212",
            Verdict.REFUSE,
            site.module,
            site.node,
            "the script asks the store for the number of workers: what it says of batches is about "
            "one worker, and it cannot be seen where to divide it",
            "choose --batch-size per-device",
        )
    elif id(found.node) not in seen:
        seen.add(id(found.node))
        yield Ruling(
            "MX211",
            Verdict.APPLY,
            found.module,
            found.node,
            "the workers share the batch of the command line",
            data=found,
        )


def parsing(plan: Plan, value: Opaque) -> Parsed | None:
    """The statement that parses the command line which a value is an attribute of."""
    makers = [base for base in value.operands[0] if isinstance(base, Opaque)]
    for base in makers:
        if len(makers) != 1 or base.kind != "call":
            return None
        if any(getattr(callee, "name", "") in PARSERS for callee in base.callee):
            return binding(plan, base, value.name)
    return None


def binding(plan: Plan, parsed: Opaque, option: str) -> Parsed | None:
    """The one statement that binds a parsed command line to a name, perhaps through a function."""
    found: list[Parsed] = []
    for module in plan.facts.modules.values():
        for node in module.source.nodes:
            if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call):
                continue
            target = node.targets[0].target
            same = any(each is parsed for each in plan.facts.values_of(node.value))
            if same and len(node.targets) == 1 and isinstance(target, cst.Name):
                found.append(Parsed(module, node, f"{target.value}.{option}"))
    return found[0] if len(found) == 1 else None


def divided(plan: Plan) -> list[Site]:
    """The data whose batches are shared: for training, and what must have batches of its size.

    A ``FeedForward`` evaluates in batches of the size that it trains with.
    """
    found = [site for site in sites(plan) if way(plan, site) in ("", SAMPLER)]
    seen = {id(site.node) for site in found}
    for fit in fits(plan):
        argument = fit.argument("eval_data") if fit.word.startswith("FeedForward") else None
        reached = walk_back(argument.values, enters_iterator) if argument is not None else ()
        behind = {id(value) for value in reached}
        for loader in plan.loaders:
            node = loader.node
            if id(loader.value) in behind and id(node) not in seen and isinstance(node, cst.Call):
                seen.add(id(node))
                found.append(Site(loader.event.module, node, (loader,)))
    return found


def batch_size(site: Site) -> Argument | None:
    """The argument that says how large a batch is."""
    named: Argument | None = site.loader.argument("batch_size")
    return named or site.loader.event.arguments.keyword("batch_size")


def share_of(site: Site, argument: Argument | None) -> Ruling:
    """The answer for one call."""
    why = ""
    if argument is None and site.kind not in DEFAULTS:
        why = "it is not known what the batch size is"
    elif argument is not None and any(isinstance(value, Unknown) for value in argument.values):
        why = "it is not known what the batch size is"
    elif argument is not None and (argument.maybe or not written(site, argument)):
        why = "the batch size does not stand in the call that makes the training data"
    if why:
        return Ruling("MX212", Verdict.REFUSE, site.module, site.node, why, BY_HAND)
    node: cst.CSTNode = site.node
    if argument is not None and argument.node is not None:
        node = argument.node
    assert isinstance(node, cst.BaseExpression)
    default = DEFAULTS.get(site.kind, "") if argument is None else ""
    return Ruling(
        "MX211",
        Verdict.APPLY,
        site.module,
        node,
        "the workers share this batch",
        data=Share(site.module, node, default),
    )


def other_uses(plan: Plan, site: Site, argument: Argument) -> Iterator[Answer]:
    """Shapes in training that follow the batch size: they take the share, too."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    reached = {id(value) for value in walk_back(losses)}
    text = site.module.source.code(argument.node) if argument.node is not None else ""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind != "call" or event.detached or not shapes(event):
            continue
        if not isinstance(event.node, cst.Call):
            continue
        if not any(id(value) in reached for value in event.result) and not any(
            loader.training
            for name in SHAPED_METHODS
            for loader, _ in data_sources(receivers_of(event, name), plan)
        ):
            continue
        for given in event.node.args:
            for node in mentions(plan, event.module, given.value, argument, text):
                if id(node) not in seen:
                    seen.add(id(node))
                    yield Ruling(
                        "MX211",
                        Verdict.APPLY,
                        event.module,
                        node,
                        "this shape follows the batch of one worker",
                        data=Share(event.module, node),
                    )
    yield from in_symbols(plan, argument, text)
    yield from in_models(plan, argument, text)
    yield from counted(plan, {id(loader.value) for loader in training_loaders(plan)})


def in_symbols(plan: Plan, argument: Argument, text: str) -> Iterator[Answer]:
    """Symbols that are made for the batch of the script."""
    for event in plan.facts.events:
        if event.kind != "call" or event.detached or not isinstance(event.node, cst.Call):
            continue
        symbol = any(
            isinstance(callee, External) and callee.name.startswith("mxnet.sym.")
            for callee in event.callee
        )
        if symbol and any(
            mentions(plan, event.module, given.value, argument, text) for given in event.node.args
        ):
            yield Remark(
                "MX214",
                Level.ERROR,
                event.module,
                event.node,
                "the batch size shapes this symbol, which a batch of one worker would not fit",
                "use -1 or 0 in its shape, or choose --batch-size per-device",
            )


def in_models(plan: Plan, argument: Argument, text: str) -> Iterator[Answer]:
    """Models that are made for the batch of the script."""
    trained = {id(model.value) for model in plan.models if model.optimizers}
    for event in plan.facts.events:
        if event.kind != "call" or event.detached or not isinstance(event.node, cst.Call):
            continue
        if any(id(value) in trained for value in event.result) and any(
            mentions(plan, event.module, given.value, argument, text) for given in event.node.args
        ):
            yield Remark(
                "MX214",
                Level.ERROR,
                event.module,
                event.node,
                "this model is made for the batch of the script: what it does with that number "
                "would not fit the batch of one worker",
                "let the model take the number of samples from its input, or choose "
                "--batch-size per-device",
            )


def mentions(
    plan: Plan, module: Module, node: cst.CSTNode, argument: Argument, text: str
) -> list[cst.BaseExpression]:
    """The outermost names below an expression that are the batch size itself."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        values = plan.facts.values_of(node)
        same = bool(values) and all(value in argument.values for value in values)
        opaque = all(isinstance(value, Opaque) for value in values)
        return [node] if same and (opaque or module.source.code(node) == text) else []
    return [
        found for child in children(node) for found in mentions(plan, module, child, argument, text)
    ]


def counted(plan: Plan, made: set[int]) -> Iterator[Answer]:
    """Uses of the number of samples that a part of the data has."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes:
            if not isinstance(node, cst.Attribute) or node.attr.value != "num_data":
                continue
            if any(id(value) in made for value in plan.facts.values_of(node.value)):
                yield Remark(
                    "MX214",
                    Level.ERROR,
                    module,
                    node,
                    "num_data of the training data is that of one worker's part, and is used here "
                    "for something else",
                    "use the number of samples of the arrays themselves",
                )


def shapes(event: Event) -> bool:
    """Whether a call's result takes its shape from its arguments."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name.startswith(SHAPED):
            return True
        if isinstance(callee, Opaque) and callee.name in SHAPED_METHODS:
            return bool(receivers_of(event, callee.name))
    return False


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression divided, in its place."""
    data: Share | Parsed = ruling.data
    yield Helper("split_batch", data.module)
    split = plan.names_in(data.module).fresh("split_batch")
    source = data.module.source
    if isinstance(data, Parsed):
        line = f"{data.text} = {split}({data.text})"
        for edit in insert_after(source, data.node, [line]):
            yield In(data.module, edit)
        return
    changes = (
        add_argument(source, call_at(data), f"batch_size={split}({data.default})")
        if data.default
        else wrap_expression(source, data.node, f"{split}(", ")")
    )
    for edit in changes:
        yield In(data.module, edit)


def call_at(data: Share) -> cst.Call:
    """The call that lacks a batch size."""
    assert isinstance(data.node, cst.Call)
    return data.node
