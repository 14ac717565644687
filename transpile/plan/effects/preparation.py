"""What prepares data or weights: downloads, and files made where they are missing.

Every process needs the outcome, and none may start while another is at work, so the processes
take turns. The statement that takes turns must hold everything that decides whether to prepare: a
test for a file comes out differently once the first process is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External
from transpile.plan.effects.effect_names import DIRECTORIES, REMOVALS
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.forced import forced_by
from transpile.plan.effects.foreign import site_in_entry
from transpile.plan.effects.missing_files import MissingFiles, calls_in
from transpile.plan.effects.treatment import Once, Preparation, Statement, statements_of
from transpile.plan.effects.turns import Turns, block_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan

#: Effects that, where something is prepared, belong to it.
PREPARING = frozenset({Kind.DOWNLOAD, Kind.OPEN, Kind.WRITE, Kind.CONTAINER, Kind.PROCESS})
#: What clears the way for something new: in turns, the last process would clear what the first
#: one has made by then.
CLEARING = REMOVALS | {"shutil.move", "os.rename", "os.renames", "os.replace"}
#: Programs that fetch or unpack what training reads.
FETCHING = frozenset({"wget", "curl", "unzip", "tar", "gunzip", "gdown", "gsutil", "kaggle", "7z"})
RANDOM = ("random.", "numpy.random.")
SEEDED = (
    "numpy.random.RandomState", "numpy.random.default_rng", "random.Random", "numpy.random.seed",
    "random.seed",
)  # fmt: skip


class Preparations:
    """Finds what is prepared.

    Args:
        once: the effects.
        missing: what decides whether files are made.
        before: the order of the first event that the process group exists for.
        module: where the processes take turns; default: the script.
    """

    def __init__(
        self, once: Once, missing: MissingFiles, before: int, module: Module | None = None
    ) -> None:
        self.once = once
        self.missing = missing
        self.plan: Plan = once.plan
        self.before = before
        self.module = module or self.plan.entry
        self.source = self.module.source
        self.turns = Turns(once, self.module)
        self.first_training = min(training_orders(self.plan), default=None)

    def find(self) -> list[Preparation]:
        """The preparations, neighbours together, in the order of the text.

        In other modules the processes take turns where it is decided; else around the call in the
        script that leads there.
        """
        here: list[tuple[Effect, cst.CSTNode]] = []
        inside: dict[Module, dict[int, tuple[Effect, cst.CSTNode]]] = {}
        for effect, node in self.sites():
            module, place = self.decision(effect)
            if module is not self.module and place is not None:
                inside.setdefault(module, {})[id(effect)] = (effect, place)
            else:
                here.append((effect, node))
        result: list[Preparation] = []
        for module, places in inside.items():
            there = Preparations(self.once, self.missing, self.before, module)
            for preparation in there.turns.grouped(there.placed(places.values())):
                sites = list(self.sites_of(preparation.effects))
                if preparation.why_not and sites:
                    here.extend(sites)
                else:
                    result.append(preparation)
        return self.apart([*self.turns.grouped(self.placed(here)), *result])

    def apart(self, found: list[Preparation]) -> list[Preparation]:
        """The preparations, those told why not that happen within another one, too."""
        for each in found:
            sites = {id(site) for site in each.sites}
            for other in found:
                if other is each or other.why_not or each.why_not:
                    continue
                if any(id(event.node) in sites for event in self.events_in(other)):
                    each.why_not = "the processes take turns around one call of it, but not all"
                    self.once.prepared.difference_update(id(one.node) for one in each.effects)
        return found

    def decision(self, effect: Effect) -> tuple[Module, cst.CSTNode | None]:
        """Where it is first decided whether an effect happens; else the effect itself.

        None where that is a different place each time.
        """
        found: dict[int, tuple[Module, cst.CSTNode]] = {}
        for event in effect.events:
            place = self.missing.decider(event) or (effect.module, effect.node)
            found[id(place[1])] = place
        if len(found) != 1:
            return effect.module, None
        return next(iter(found.values()))

    def sites_of(self, effects: Iterable[Effect]) -> Iterator[tuple[Effect, cst.CSTNode]]:
        """The calls in the script that lead to some effects."""
        for effect in effects:
            for event in effect.events:
                site = site_in_entry(event, self.plan.entry)
                if site is not None:
                    yield effect, site

    def placed(self, sites: Iterable[tuple[Effect, cst.CSTNode]]) -> list[Preparation]:
        """The preparations at some places of the module, each by itself."""
        found: dict[int, Preparation] = {}
        for effect, node in sites:
            known_here = self.source.has(node)
            statements = self.statements_for(node) if known_here else []
            if not statements:
                found[id(node)] = Preparation(
                    effect.module,
                    [],
                    [effect],
                    [node],
                    "it stands where no statement can be put around it",
                )
                continue
            known = found.setdefault(id(statements[0]), Preparation(self.module, statements))
            known.statements = max(known.statements, statements, key=len)
            known.effects.append(effect)
            known.sites.append(node)
        for preparation in found.values():
            if preparation.statements:
                preparation.why_not = self.obstacle(preparation)
                preparation.draws = self.draws(preparation)
                preparation.forced = forced_by(self.plan, self.missing, preparation)
                if not preparation.why_not:
                    self.take_over(preparation)
        return list(found.values())

    def take_over(self, preparation: Preparation) -> None:
        """Take every effect that happens in a preparation alone out of the guards' hands."""
        inside = {id(event) for event in self.events_in(preparation)}
        for effect in self.once.effects.values():
            if not all(id(event) in inside for event in effect.events):
                continue
            if effect.kind in PREPARING:
                self.once.prepared.add(id(effect.node))
                if effect not in preparation.effects:
                    preparation.effects.append(effect)

    def events_in(self, preparation: Preparation) -> Iterator[Event]:
        """Everything that happens in the statements, in the project's functions, too."""
        for statement in preparation.statements:
            for call in calls_in(statement):
                yield from self.once.reads.calls.get(id(call), ())
                yield from self.once.reads.within.get(id(call), ())

    def sites(self) -> Iterator[tuple[Effect, cst.CSTNode]]:
        """Each effect that prepares something, and the place in the entry that it happens at."""
        for effect in self.once.effects.values():
            if id(effect.node) in self.once.done or not self.prepares(effect):
                continue
            sites: dict[int, cst.CSTNode] = {}
            for event in effect.events:
                site = self.site(effect, event)
                if site is not None:
                    sites[id(site)] = site
            for site in sites.values():
                yield effect, site

    def site(self, effect: Effect, event: Event) -> cst.CSTNode | None:
        """The place in the entry at which a file is missing, or a download happens."""
        decider = self.missing.decider(event, self.plan.entry)
        if decider is not None:
            return decider[1]
        if effect.module.is_entry:
            return effect.node
        return site_in_entry(event, self.plan.entry) or effect.node

    def prepares(self, effect: Effect) -> bool:
        """Whether an effect is a download, or makes a file only where it is missing."""
        if id(effect.node) in self.once.idle:
            return False
        if any(self.once.ranks.in_turn(event.stack) for event in effect.events):
            return False
        if effect.kind is Kind.DOWNLOAD:
            return True
        if effect.kind is Kind.PROCESS:
            return all(
                self.where_missing(event) or (self.comes_first(event) and fetches(event))
                for event in effect.events
            )
        if effect.kind not in (Kind.OPEN, Kind.WRITE, Kind.CONTAINER):
            return False
        if effect.word in DIRECTORIES or effect.word in CLEARING:
            return False
        return all(self.where_missing(event) for event in effect.events)

    def where_missing(self, event: Event) -> bool:
        """Whether something happens before training, where a file is missing."""
        return self.comes_first(event) and self.missing.decider(event) is not None

    def comes_first(self, event: Event) -> bool:
        """Whether something happens before training."""
        if self.first_training is None or event.order > self.first_training:
            return False
        return not event.detached

    # Statements.

    def statements_for(self, node: cst.CSTNode) -> list[Statement]:
        """The statements to take turns in; none where no statement can be put around a node.

        Behind an early exit they begin with it, and go on to the last that has an effect.
        """
        statement = self.statement_for(node)
        if statement is None:
            return []
        behind = self.missing.behind_exit(self.source, node)
        if not behind or statement in self.source.parents(behind[-1]):
            return [statement]
        following = statements_of(block_of(self.source, behind[0]))
        following = following[following.index(behind[-1]) + 1 :]
        while following and not self.has_effects(following[-1]):
            following.pop()
        return [*behind, *following]

    def has_effects(self, statement: Statement) -> bool:
        """Whether a statement does what belongs to making a file."""
        return any(
            effect.kind in (*PREPARING, Kind.HANDLE)
            for call in calls_in(statement)
            for effect in (self.once.effects.get(id(call)),)
            if effect is not None
        )

    def statement_for(self, node: cst.CSTNode) -> Statement | None:
        """The statement to take turns in, with all that decides whether to prepare."""
        found: Statement | None = None
        for parent in self.source.parents(node):
            if isinstance(parent, cst.Lambda):
                return None
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
                break
            if found is None and isinstance(parent, (cst.BaseSmallStatement, cst.With)):
                found = parent
            elif found is None and isinstance(parent, cst.BaseCompoundStatement):
                return parent if isinstance(parent, cst.If) else None
            elif isinstance(parent, cst.If) and self.missing.asks_for_file(parent.test):
                found = self.whole(parent)
            elif isinstance(parent, cst.Try):
                found = parent
        return found

    def whole(self, statement: cst.If) -> cst.If:
        """The ``if`` that an ``elif`` belongs to."""
        parent = self.source.parent(statement)
        while isinstance(parent, cst.If) and parent.orelse is statement:
            statement, parent = parent, self.source.parent(parent)
        return statement

    def obstacle(self, preparation: Preparation) -> str:
        """Why the processes cannot take turns at a statement; empty where they can."""
        events = [event for effect in preparation.effects for event in effect.events]
        live = [event for event in events if not event.detached]
        if any(event.order < self.before for event in live):
            return "it happens before the processes know of each other"
        if not live:
            return "it happens in code that a library calls, perhaps in a worker process"
        if any(self.once.ranks.some_ranks(event) for event in live):
            return "only some ranks get there"
        if any(self.plan.in_training(event.stack) for event in live):
            return "it happens during training"
        if self.trains(preparation):
            return "the same statement trains, or evaluates a model"
        return ""

    def trains(self, preparation: Preparation) -> bool:
        """Whether a preparation draws batches, calls models or steps optimizers, too."""
        busy = {id(event.node) for model in self.plan.models for event in model.forwards}
        busy.update(id(backward.event.node) for backward in self.plan.backwards)
        busy.update(id(event.node) for loader in self.plan.loaders for event in loader.iterations)
        return any(
            id(event.node) in busy or self.once.ranks.is_barrier(event)
            for event in self.events_in(preparation)
        )

    def draws(self, preparation: Preparation) -> bool:
        """Whether shared random numbers are drawn in some processes and not in others."""
        return isinstance(preparation.statements[0], (cst.If, cst.Try)) and any(
            draws_shared(self.plan, event)
            for event in self.events_in(preparation)
            if event.kind == "call"
        )


def training_orders(plan: Plan) -> Iterator[int]:
    """When training happens: at backward passes, and at a framework's own calls that train."""
    yield from (backward.event.order for backward in plan.backwards)
    if plan.table.sites is not None and not plan.backwards:
        made = {id(loader.node) for loader in plan.loaders}
        nodes = {id(node) for _, _, node in plan.table.sites(plan) if id(node) not in made}
        yield from (event.order for event in plan.facts.events if id(event.node) in nodes)


def fetches(event: Event) -> bool:
    """Whether a call runs a program that fetches or unpacks files."""
    return any(
        isinstance(value, Constant)
        and isinstance(value.value, str)
        and not FETCHING.isdisjoint(re.findall(r"[\w-]+", value.value))
        for argument in event.arguments.items
        for value in walk_back(argument.values)
    )


def draws_shared(plan: Plan, event: Event) -> bool:
    """Whether a call draws from a source of random numbers that all code shares."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name.startswith(
            (*RANDOM, *plan.table.shared_draws)
        ):
            if callee.name.startswith(SEEDED):
                continue
            generator = event.arguments.keyword("generator")
            if generator is None or generator.values == (Constant(None),):
                return True
    return False
