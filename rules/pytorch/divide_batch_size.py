"""Divide the batch, so that all processes together take the batch of the script.

What:
    The batch size of each training loader becomes this process's share of it. Evaluation loaders
    keep theirs. With ``--batch-size per-device`` nothing changes and each process takes the
    script's batch.

Why:
    N processes with the script's batch size train with an N times larger batch: other gradients,
    fewer steps, another schedule. A batch that N does not divide stops the script at its start.

Before:
    loader = DataLoader(train_set, batch_size=args.batch_size)

After:
    loader = DataLoader(train_set, batch_size=split_batch(args.batch_size))

Refuses when:
    the batch size of a training loader cannot be followed, or also shapes what the model computes
    in a way that cannot be followed.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html; Goyal et al., Accurate, Large Minibatch SGD
    (arXiv:1706.02677), section 2, on what a larger batch changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Instance, Mapping, Opaque, Unknown
from transpile.facts.walk import children
from transpile.finding import Level
from transpile.layout import add_argument, wrap_expression
from transpile.plan.graph import walk_back
from transpile.plan.holders import trace
from transpile.plan.model import Plan
from transpile.plan.sources import Site, depends_on_world_size, given, is_indirect, is_simple, sites
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

CODES = {
    "PT221": "the processes share the batch of the script",
    "PT222": "the batch size of a training loader cannot be followed",
    "PT223": "each process takes the batch of the script",
    "PT224": "the batch size is used for something else, too",
}
#: Callables whose result takes its shape from their arguments.
SHAPED = (
    "torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.rand", "torch.randn",
    "torch.randint", "torch.normal", "torch.Tensor", "torch.FloatTensor", "torch.arange",
    "torch.cuda.FloatTensor", "torch.eye", "numpy.random.normal", "numpy.random.uniform",
    "numpy.random.randn", "numpy.ones", "numpy.zeros", "numpy.random.randint",
    "numpy.random.rand",
)  # fmt: skip
SHAPED_METHODS = frozenset({"new_zeros", "new_ones", "new_full", "new", "expand", "repeat", "view"})


@dataclass(frozen=True, eq=False)
class Share:
    """An expression to divide, or a call that lacks a batch size.

    Args:
        module: where it is.
        node: the expression; the loader's call where `missing`.
        missing: the loader has the default batch size of 1.
        copied: the text of the dict that is to be copied with the divided batch size.
    """

    module: Module
    node: cst.CSTNode
    missing: bool = False
    copied: tuple[str, str] | None = None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training loaders."""
    divided: set[int] = set()
    for site in sites(plan):
        if given(site, "batch_sampler") is not None or is_indirect(plan, site):
            continue
        argument = site.loader.argument("batch_size")
        if argument is not None and depends_on_world_size(plan, argument.values):
            yield Ruling(
                "PT221",
                Verdict.ALREADY_DONE,
                site.module,
                site.node,
                "the batch size is divided by the number of processes",
            )
            continue
        if plan.options.batch_size == "per-device":
            yield Remark(
                "PT223",
                Level.NOTE,
                site.module,
                site.node,
                "each process takes the batch size of the script: the global batch is that times "
                "the number of processes",
            )
            continue
        if argument is None and site.loader.event.arguments.unknown_because:
            continue
        answer = share_of(plan, site, argument)
        if isinstance(answer, Ruling):
            yield answer
        elif id(answer.node) not in divided:
            divided.add(id(answer.node))
            yield Ruling(
                "PT221",
                Verdict.APPLY,
                answer.module,
                answer.node,
                "the processes share this batch",
                data=answer,
            )
        if argument is not None:
            yield from other_uses(plan, site, argument, divided)


def share_of(plan: Plan, site: Site, argument: Argument | None) -> Share | Ruling:
    """What to divide for one loader."""
    if argument is None:
        return Share(site.module, site.node, missing=True)

    def refuse(why: str) -> Ruling:
        return Ruling(
            "PT222",
            Verdict.REFUSE,
            site.module,
            site.node,
            why,
            "divide the batch size of this loader by the number of processes by hand",
        )

    if any(isinstance(value, Unknown) for value in argument.values):
        return refuse("it is not known what the batch size of this loader is")
    if argument.maybe:
        return refuse("the batch size of this loader is given on some ways only")
    if argument.mapping is not None:
        return mapped_share(plan, site, argument) or refuse(
            "the batch size comes from a dict whose place in the text cannot be told"
        )
    if argument.node is None:
        return refuse("the batch size of this loader has no place in the text")
    return Share(module_of(plan, argument.node, site.module), argument.node)


def mapped_share(plan: Plan, site: Site, argument: Argument) -> Share | None:
    """A batch size that comes through an unpacked dict."""
    mapping = argument.mapping
    if not isinstance(mapping, Mapping):
        return None
    stars = [arg for arg in site.node.args if arg.star == "**"]
    shared = any(use is not site.node for use in mapping.uses)
    entry = mapping.entries.get("batch_size")
    if not shared and argument.node is not None and entry is not None and entry.module is not None:
        if is_the_loaders_own(plan, argument.node, entry.module):
            return Share(entry.module, argument.node)
    if len(stars) != 1 or not is_simple(stars[0].value):
        return None
    text = site.module.source.code(stars[0].value)
    return Share(site.module, stars[0].value, copied=(text, f'{text}["batch_size"]'))


def is_the_loaders_own(plan: Plan, node: cst.CSTNode, module: Module) -> bool:
    """Whether a dict's value stands in that dict for training loaders only."""
    makers = [
        loader
        for loader in plan.loaders
        if (found := loader.argument("batch_size")) is not None and found.node is node
    ]
    del module
    return all(loader.training for loader in makers)


def module_of(plan: Plan, node: cst.CSTNode, default: Module) -> Module:
    """The module that a node stands in."""
    for module in plan.facts.modules.values():
        try:
            module.source.span(node)
        except KeyError:
            continue
        return module
    return default


def other_uses(plan: Plan, site: Site, argument: Argument, divided: set[int]) -> Iterator[Answer]:
    """Shapes in the training step that follow the batch size: they take the share, too."""
    sources = [value for value in argument.values if isinstance(value, (Opaque, Instance))]
    if not sources or argument.node is None:
        return
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    reached = {id(value) for value in walk_back(losses)}
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        if not any(id(value) in reached for value in event.result):
            continue
        if not shapes(event.callee):
            continue
        for arg in event.node.args:
            for mentioned in mentions(plan, arg.value, sources):
                module, node = read_at(plan, event, mentioned)
                if id(node) in divided:
                    continue
                divided.add(id(node))
                yield Ruling(
                    "PT221",
                    Verdict.APPLY,
                    module,
                    node,
                    "this shape follows the batch of one process",
                    data=Share(module, node),
                )


def read_at(
    plan: Plan, event: Event, node: cst.BaseExpression
) -> tuple[Module, cst.BaseExpression]:
    """Where the batch size is read that reaches an expression, through parameters.

    A function that gets it as a parameter may be called for evaluation, too, with a batch that is
    not divided: the argument of the call in training is what changes.
    """
    if isinstance(node, cst.Name):
        for holder in trace(plan.facts, event.module, node, event.stack):
            if not holder.is_parameter and isinstance(holder.node, cst.BaseExpression):
                return holder.module, holder.node
    return event.module, node


def shapes(callees: tuple[object, ...]) -> bool:
    """Whether a call's result takes its shape from the arguments, or is a model's own method."""
    for callee in callees:
        name = getattr(callee, "name", "")
        if isinstance(callee, Opaque):
            if callee.kind == "attribute" and name in SHAPED_METHODS:
                return True
        elif name in SHAPED:
            return True
        elif hasattr(callee, "receiver") and hasattr(callee, "function"):
            if name_of_method(callee) not in ("forward", "__init__"):
                return isinstance(callee.receiver, Instance) and bool(
                    callee.receiver.cls.external_bases()
                )
    return False


def name_of_method(callee: object) -> str:
    """The name of a bound method's function."""
    return str(callee.function.name)  # type: ignore[attr-defined]


def mentions(plan: Plan, node: cst.CSTNode, sources: Sequence[object]) -> list[cst.BaseExpression]:
    """The outermost names below an expression that are the batch size itself."""
    values = plan.facts.values_of(node)
    if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
        if values and all(any(value is source for source in sources) for value in values):
            return [node]
    if isinstance(node, cst.Attribute):
        return []
    return [found for child in children(node) for found in mentions(plan, child, sources)]


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression divided, in its place."""
    data: Share = ruling.data
    yield Helper("split_batch", data.module)
    split = plan.names_in(data.module).fresh("split_batch")
    source = data.module.source
    node = data.node
    assert isinstance(node, cst.BaseExpression)
    if data.missing:
        assert isinstance(node, cst.Call)
        changes = add_argument(source, node, f"batch_size={split}(1)")
    elif data.copied is not None:
        mapping, entry = data.copied
        changes = wrap_expression(source, node, "{**", f', "batch_size": {split}({entry})' + "}")
        del mapping
    else:
        changes = wrap_expression(source, node, f"{split}(", ")")
    for edit in changes:
        yield In(data.module, edit)
