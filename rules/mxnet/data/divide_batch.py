"""Divide the batch, so that all workers together take the batch of the script.

What:
    The batch size of the training data becomes this worker's share of it; data for evaluation
    keeps its own, but where ``FeedForward`` wants one size for both. With
    ``--batch-size per-device`` each worker, or each of its devices, takes the script's batch.

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

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Opaque, Unknown
from transpile.layout import add_argument, insert_after, replace_expression, wrap_expression
from transpile.plan.flow.start import PARSERS
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.loaders import enters_iterator
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import fits
from transpile.rules.mxnet.data._batch_shapes import Inferred, Share, batch_size, other_uses
from transpile.rules.mxnet.data._devices import count_of_devices
from transpile.rules.mxnet.data._loaders import (
    ARRAYS,
    Site,
    counts_workers,
    from_store,
    sites,
    written,
)
from transpile.rules.mxnet.data._shares import SAMPLER, way

CODES = {
    "MX211": "the workers share the batch of the script",
    "MX212": "the batch size of the training data cannot be followed",
    "MX213": "each worker takes the batch of the script",
    "MX214": "the batch size is used for something else, too",
    "MX215": "a symbol takes the number of samples from its input",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)
BY_HAND = "divide the batch size of the training data by the number of workers by hand"
#: What the record iterators and MNISTIter take without an argument.
DEFAULTS = {ARRAYS: "1", "mxnet.io.MNISTIter": "128"}


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
            yield Ruling.done("MX211", site, "the batch size is divided by the number of workers")
        elif plan.options.batch_size == "per-device":
            yield Remark.note(
                "MX213",
                site,
                f"each {taker(plan)} takes the batch size of the script: the global batch is that "
                f"times the number of {taker(plan)}s",
            )
        elif counts_workers(plan):
            yield from shared_where_parsed(plan, site, argument, parsed)
        else:
            yield share_of(site, argument)
            if argument is not None:
                yield from other_uses(plan, site, argument)


def taker(plan: Plan) -> str:
    """What takes the batch size of the script where each device or worker takes it."""
    return "device" if (count_of_devices(plan) or 1) > 1 else "worker"


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
        yield Ruling.refuse(
            "MX212",
            site,
            "the script asks the store for the number of workers: what it says of batches is about "
            "one worker, and it cannot be seen where to divide it",
            "choose --batch-size per-device",
        )
    elif id(found.node) not in seen:
        seen.add(id(found.node))
        yield Ruling.apply(
            "MX211", found, "the workers share the batch of the command line", data=found
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
        return Ruling.refuse("MX212", site, why, BY_HAND)
    node: cst.CSTNode = site.node
    if argument is not None and argument.node is not None:
        node = argument.node
    assert isinstance(node, cst.BaseExpression)
    default = DEFAULTS.get(site.kind, "") if argument is None else ""
    return Ruling.apply(
        "MX211",
        (site.module, node),
        "the workers share this batch",
        data=Share(site.module, node, default),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression divided, in its place."""
    data: Share | Parsed | Inferred = ruling.data
    if isinstance(data, Inferred):
        for edit in replace_expression(data.module.source, data.node, data.text):
            yield In(data.module, edit)
        return
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
