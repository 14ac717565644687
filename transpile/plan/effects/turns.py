"""Which neighbouring preparations the processes make in one turn."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.plan.effects.effect_names import DIRECTORIES
from transpile.plan.effects.guards import Guards
from transpile.plan.effects.missing_files import calls_in
from transpile.plan.effects.treatment import Grade, Once, Preparation, Statement, statements_of
from transpile.text.source import Source

#: Statements without a download that one turn may reach over.
MOST_BETWEEN = 2


class Turns:
    """Puts neighbouring preparations together.

    Args:
        once: the effects.
        module: where the preparations stand.
    """

    def __init__(self, once: Once, module: Module) -> None:
        self.once = once
        self.plan = once.plan
        self.module = module
        self.source = module.source

    def grouped(self, found: list[Preparation]) -> list[Preparation]:
        """Neighbouring preparations of one block become one."""
        placed = [each for each in found if each.statements and not each.why_not]
        result = [each for each in found if not each.statements or each.why_not]
        by_statement = {id(each.statements[0]): each for each in placed}
        blocks: dict[int, cst.CSTNode] = {}
        for each in placed:
            block = block_of(self.source, each.statements[0])
            blocks[id(block)] = block
        for block in blocks.values():
            result.extend(self.grouped_in(block, by_statement))
        return result

    def grouped_in(
        self, block: cst.CSTNode, by_statement: dict[int, Preparation]
    ) -> Iterator[Preparation]:
        """The preparations of one block."""
        guards = Guards(self.once, self.module)
        current: Preparation | None = None
        gap: list[Statement] = []
        folders: list[Statement] = []
        taken: set[int] = set()
        for statement in statements_of(block):
            if id(statement) in taken:
                continue
            each = by_statement.get(id(statement))
            if each is None and self.makes_folders(guards, statement):
                folders.append(statement)
            elif each is None:
                folders = []
            else:
                if folders and not self.feeds_training(statement):
                    self.lead(each, folders)
                folders = []
            if each is not None:
                taken.update(map(id, each.statements))
            if each is None:
                harmless = guards.grade(statement) in (Grade.READ, Grade.LOOSE)
                gap.append(statement)
                if current is not None and (not harmless or len(gap) > MOST_BETWEEN):
                    yield current
                    current = None
                continue
            if current is None or not self.only_data(statement):
                if current is not None:
                    yield current
                current = each
                if not self.only_data(statement):
                    yield current
                    current = None
            else:
                current.statements.extend([*gap, *each.statements])
                current.effects.extend(each.effects)
                current.sites.extend(each.sites)
                current.draws |= each.draws
            gap = []
        if current is not None:
            yield current

    def makes_folders(self, guards: Guards, statement: Statement) -> bool:
        """Whether a statement does nothing but make folders."""
        effects = guards.effects_in(statement)
        return (
            guards.grade(statement) is Grade.NEED
            and bool(effects)
            and all(effect.word in DIRECTORIES for effect in effects)
        )

    def feeds_training(self, statement: Statement) -> bool:
        """Whether a statement makes a loader for training, whose data set goes above it."""
        loaders = {id(loader.node) for loader in self.plan.training_loaders}
        return any(id(call) in loaders for call in calls_in(statement))

    def lead(self, preparation: Preparation, folders: list[Statement]) -> None:
        """Put the folders that are made right before a preparation into it."""
        guards = Guards(self.once, self.module)
        for effect in (each for folder in folders for each in guards.effects_in(folder)):
            self.once.prepared.add(id(effect.node))
            preparation.effects.append(effect)
        preparation.statements[:0] = folders
        folders.clear()

    def only_data(self, statement: Statement) -> bool:
        """Whether a statement makes neither models nor loaders, which others work on."""
        if not isinstance(statement, (cst.Assign, cst.Expr)):
            return isinstance(statement, (cst.If, cst.Try))
        others = {id(model.value) for model in self.plan.models}
        others.update(id(loader.value) for loader in self.plan.loaders)
        made = {
            id(value)
            for call in calls_in(statement)
            for event in self.once.reads.calls.get(id(call), ())
            for value in event.result
        }
        return not others & made


def block_of(source: Source, statement: Statement) -> cst.CSTNode:
    """The block that a statement stands in."""
    parent = source.parent(statement)
    if isinstance(parent, cst.SimpleStatementLine):
        parent = source.parent(parent)
    assert parent is not None
    return parent
