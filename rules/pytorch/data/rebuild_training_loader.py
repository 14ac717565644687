"""Rebuild a training loader that cannot be changed where it is made.

What:
    Where the call that makes a training loader also makes others, stands inside an expression or
    in another module of the project, the finished loader is handed to ``shard_loader``: it makes a
    loader like it, over this process's shard and with this process's share of the batch, and stops
    the script at a sampler that it does not know. Where the loader may have a sampler of its own,
    ``shard_loader_with_sampler`` shards what that draws. What a library makes is handed to
    ``shard_unknown_loader``, which copies it with all its attributes, and stops the script where
    it is no DataLoader.

Why:
    Changing the call itself would shard the evaluation loaders, too.

Before:
    train_loader, val_loader = make_loaders(args)

After:
    train_loader, val_loader = make_loaders(args)
    train_loader = shard_loader(train_loader)

Refuses when:
    no variable of the script holds the finished loader; one variable serves training and
    evaluation, and no test on the function's own parameters tells which of them it is.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.layout import insert_after
from transpile.plan.data.sources import Site, given, holds_others, is_indirect, sites, variables
from transpile.plan.flow.places import (
    Statement,
    ancestors,
    function_of,
    insertion_place,
    spelled_out,
)
from transpile.plan.model import Loader, Plan
from transpile.plan.models.holders import Holder, bindings, parameters
from transpile.plan.models.wrap_sites import binding_nodes
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._loaders import sharded_sibling

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
#: What leaves no doubt about what is trained.
SURE = ("PT213",)
CODES = {
    "PT205": "a finished training loader is rebuilt over this process's shard",
    "PT206": "a training loader has no variable in which it could be rebuilt",
    "PT213": "only the run tells whether what a library made can be sharded",
}
HELD_BY_NONE = {
    False: "the same call makes training and evaluation loaders or cannot be changed, and no "
    "variable of its own holds the training loader",
    True: "a library makes the training loader, and no variable of its own holds it",
}


@dataclass(frozen=True, eq=False)
class Rebuilding:
    """Which variable to rebuild, and the statement that binds it."""

    module: Module
    statement: Statement
    text: str
    site: Site
    test: str = ""


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each indirect place that makes training loaders."""
    for site in sites(plan):
        if not is_indirect(plan, site):
            continue
        if all(sharded_sibling(plan, loader) for loader in site.loaders):
            yield Ruling.done(
                "PT205",
                site,
                "the loader is rebuilt over this process's shard",
                claims=(site.node,),
            )
            continue
        if site.loader.foreign:
            called = site.module.source.code(site.node.func)
            yield Remark.warn(
                "PT213",
                site,
                f"only the run tells what '{called}' gives: with several processes, a DataLoader "
                "is copied over each process's shard, and the script stops at its start at "
                "anything else, and at samplers that it does not know",
                "run it once with two processes",
            )
        found = rebuildings(plan, site)
        if not found:
            yield Ruling.refuse(
                "PT206",
                site,
                HELD_BY_NONE[site.loader.foreign],
                "bind the training loader to a variable of its own",
            )
            continue
        for rebuilding in found:
            yield Ruling.apply(
                "PT205",
                (rebuilding.module, rebuilding.statement),
                f"'{rebuilding.text}' is rebuilt over this process's shard",
                data=rebuilding,
                claims=(site.node,),
            )


def rebuildings(plan: Plan, site: Site) -> list[Rebuilding]:
    """One variable for each loader of the place, or nothing where one has none."""
    found: list[Rebuilding] = []
    for loader in site.loaders:
        chosen: Rebuilding | None = None
        for holder, text in variables(plan, loader):
            bindings = binding_nodes(plan, holder)
            if len(bindings) != 1:
                continue
            statement = insertion_place(holder.module, bindings[0])
            if statement is None:
                continue
            others = holds_others(plan, holder)
            test = training_test(plan, loader, holder, statement) if others else ""
            if test is not None:
                chosen = Rebuilding(holder.module, statement, text, site, test)
        if chosen is None:
            return []
        if not any(
            other.statement is chosen.statement and other.text == chosen.text for other in found
        ):
            found.append(chosen)
    return found


def training_test(plan: Plan, loader: Loader, holder: Holder, made: Statement) -> str | None:
    """The test that tells training from evaluation where one variable serves both.

    It is that of the only ``if`` around the backward pass in the function of the variable, and
    looks at what the function knows before the loader is made, so that it holds there, too.
    """
    function = holder.function
    tests: set[str] = set()
    for backward in plan.backwards:
        if loader not in backward.loaders:
            continue
        module, node = backward.event.module, backward.event.node
        if function is None or function_of(module, node) is not function:
            return None
        around = [each for each in ancestors(module, node) if isinstance(each, cst.If)]
        if len(around) != 1 or node not in within(around[0].body):
            return None
        test = around[0].test
        if isinstance(test, cst.Name) and not is_settled(function, test.value, made):
            test = spelled_out(module, test)
        names = {n.value for n in within(test) if isinstance(n, cst.Name)}
        if not all(is_settled(function, name, made) for name in names):
            return None
        if any(isinstance(n, (cst.Call, cst.Await)) for n in within(test)):
            return None
        tests.add(module.source.code(test))
    return tests.pop() if len(tests) == 1 else None


def is_settled(function: cst.FunctionDef, name: str, made: Statement) -> bool:
    """Whether a name is a parameter, or bound once and always before a loader is made."""
    bound = bindings(function).get(name, [])
    if name in parameters(function):
        return not bound
    body = list(function.body.body)
    before = next((n for n, statement in enumerate(body) if made in within(statement)), 0)
    lines = [line for line in body[:before] if isinstance(line, cst.SimpleStatementLine)]
    return (
        len(bound) == 1 and bound[0] is not None and any(bound[0] in within(line) for line in lines)
    )


def within(node: cst.CSTNode) -> set[cst.CSTNode]:
    """A node and all that it is made of."""
    return {node, *descendants(node)}


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The rebuilt loader bound to the same variable."""
    data: Rebuilding = ruling.data
    sampled = given(data.site, "sampler") or given(data.site, "batch_sampler")
    helper = "shard_loader_with_sampler" if sampled is not None else "shard_loader"
    if data.site.loader.foreign:
        helper = "shard_unknown_loader"
    yield Helper(helper, data.module)
    line = f"{data.text} = {plan.names_in(data.module).fresh(helper)}({data.text})"
    lines = [f"if {data.test}:", f"    {line}"] if data.test else [line]
    for edit in insert_after(data.module.source, data.statement, lines, order=-5):
        yield In(data.module, edit)
