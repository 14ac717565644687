"""Let every process take the script's batch size.

What:
    With ``--batch-size per-device`` the size of a batch is multiplied by the number of processes
    where the script says it, so that everything on the host follows: each process takes its share
    of the larger batch, which is the script's size. Scripts with a path of their own for several
    processes part the data by rank instead, as the examples of SINGA do.

Why:
    A GPU is best used with the batch that was chosen for it. What N processes train is then what
    one would train with an N times larger batch, and is printed so.

Before:
    batch_size = 64

After:
    batch_size = 64 * get_world_size()

Refuses when:
    it cannot be seen where the script says how large a batch is.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque, Values
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa.data._batches import shares
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import own_path
from transpile.text.changes import Insert
from transpile.text.span import Span

CODES = {
    "SG191": "every process takes the script's batch size",
    "SG192": "it is not seen where the script says how large a batch is",
}


@dataclass(frozen=True, eq=False)
class Said:
    """A place that says how large a batch is; `why_not` where none is found."""

    module: Module
    node: cst.BaseExpression
    why_not: str = ""


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that says how large a batch is."""
    if plan.options.batch_size != "per-device" or own_path(plan) is not None or is_shared(plan):
        return
    sizes = [share for share in shares(plan) if share.helper == "share_size"]
    if not sizes:
        yield Ruling.refuse(
            "SG192",
            (plan.entry, plan.entry.source.tree),
            "no tensor says how large a batch is, which --batch-size per-device would change",
            "choose --batch-size global",
        )
    found: dict[int, Said] = {}
    for share in sizes:
        assert isinstance(share.node, cst.BaseExpression)
        for said in said_at(plan, share.module, share.node):
            found.setdefault(id(said.node), said)
    for said in found.values():
        yield Ruling(
            "SG192" if said.why_not else "SG191",
            Verdict.REFUSE if said.why_not else Verdict.APPLY,
            said.module,
            said.node,
            said.why_not or "every process takes the script's batch size",
            "give the size of a batch a name where it is assigned once",
            data=said,
        )


def said_at(plan: Plan, module: Module, node: cst.BaseExpression) -> Iterator[Said]:
    """The places that an expression has its number from."""
    values = plan.facts.values_of(node)
    if values and all(isinstance(value, Opaque) and value.kind == "attribute" for value in values):
        yield from read_at(plan, values)
    elif isinstance(node, cst.Name) and all(isinstance(value, Constant) for value in values):
        literals = list(assigned(plan, module, node))
        if len(literals) == 1:
            yield literals[0]
        else:
            yield Said(module, node, f"`{node.value}` is not assigned once as a literal")
    else:
        why = f"`{module.source.code(node)}` is no name and no option"
        yield Said(module, node, why)


def read_at(plan: Plan, values: Values) -> Iterator[Said]:
    """The places that read an option."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            parent = module.source.parent(node)
            if plan.facts.values_of(node) == values and not isinstance(parent, cst.AssignTarget):
                yield Said(module, node)


def assigned(plan: Plan, module: Module, name: cst.Name) -> Iterator[Said]:
    """The literals that a name is bound to, in its function or else in its module."""
    for function in (function_of(module, name), None):
        found = False
        for node in module.source.nodes_of(cst.Assign):
            if function_of(module, node) is not function:
                continue
            for target in node.targets:
                if isinstance(target.target, cst.Name) and target.target.value == name.value:
                    found = True
                    if isinstance(node.value, cst.Integer):
                        yield Said(module, node.value)
                    else:
                        yield from said_at(plan, module, node.value)
        if found or function is None or is_parameter(function, name.value):
            return


def is_parameter(function: cst.FunctionDef, name: str) -> bool:
    """Whether a function is given something by that name."""
    params = function.params
    every = (*params.posonly_params, *params.params, *params.kwonly_params)
    return any(param.name.value == name for param in every)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number of processes behind the size."""
    said: Said = ruling.data
    source = said.module.source
    yield Helper("get_world_size", said.module)
    name = plan.names_in(said.module).fresh("get_world_size")
    span = source.span(said.node)
    parent = source.parent(said.node)
    alone = isinstance(parent, (cst.Assign, cst.Arg, cst.Element))
    before, after = ("", f" * {name}()") if alone else ("(", f" * {name}())")
    anchor = Span(span.start, span.end)
    # Inside of what shares a size out, which is wrapped around the same expression.
    if before:
        yield In(said.module, Insert(span.start, before, 5, "open", anchor))
    yield In(said.module, Insert(span.end, after, 5, "close", anchor))
