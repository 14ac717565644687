"""Rebuild a training loader that cannot be changed where it is made.

What:
    Where the call that makes a training loader also makes others, stands inside an expression or
    in another module of the project, the finished loader is handed to ``shard_loader``: it makes a
    loader like it, over this process's shard and with this process's share of the batch, and stops
    the script at a sampler that it does not know. Where the loader may have a sampler of its own,
    ``shard_loader_with_sampler`` shares out what that draws.

Why:
    Changing the call itself would shard the evaluation loaders, too.

Before:
    train_loader, val_loader = make_loaders(args)

After:
    train_loader, val_loader = make_loaders(args)
    train_loader = shard_loader(train_loader)

Refuses when:
    no variable of the script holds the finished loader.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.module import Module
from transpile.layout import insert_after
from transpile.plan.model import Plan
from transpile.plan.places import Statement, statement_of
from transpile.plan.sources import Site, given, is_indirect, sites, variables
from transpile.plan.wraps import binding_nodes
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._loaders import sharded_sibling

CODES = {
    "PT205": "a finished training loader is rebuilt over this process's shard",
    "PT206": "a training loader has no variable in which it could be rebuilt",
}


@dataclass(frozen=True, eq=False)
class Rebuilding:
    """Which variable to rebuild, and the statement that binds it."""

    module: Module
    statement: Statement
    text: str
    site: Site


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each indirect place that makes training loaders."""
    for site in sites(plan):
        if not is_indirect(plan, site):
            continue
        if all(sharded_sibling(plan, loader) for loader in site.loaders):
            yield Ruling(
                "PT205",
                Verdict.ALREADY_DONE,
                site.module,
                site.node,
                "the loader is rebuilt over this process's shard",
                claims=(site.node,),
            )
            continue
        found = rebuildings(plan, site)
        if not found:
            yield Ruling(
                "PT206",
                Verdict.REFUSE,
                site.module,
                site.node,
                "the same call makes training and evaluation loaders or cannot be changed, and no "
                "variable of its own holds the training loader",
                "bind the training loader to a variable of its own",
            )
            continue
        for rebuilding in found:
            yield Ruling(
                "PT205",
                Verdict.APPLY,
                rebuilding.module,
                rebuilding.statement,
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
            statement = statement_of(holder.module, bindings[0])
            if statement is not None:
                chosen = Rebuilding(holder.module, statement, text, site)
        if chosen is None:
            return []
        if not any(
            other.statement is chosen.statement and other.text == chosen.text for other in found
        ):
            found.append(chosen)
    return found


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The rebuilt loader bound to the same variable."""
    data: Rebuilding = ruling.data
    sampled = given(data.site, "sampler") or given(data.site, "batch_sampler")
    helper = "shard_loader_with_sampler" if sampled is not None else "shard_loader"
    yield Helper(helper, data.module)
    line = f"{data.text} = {plan.names_in(data.module).fresh(helper)}({data.text})"
    for edit in insert_after(data.module.source, data.statement, [line], order=-5):
        yield In(data.module, edit)
