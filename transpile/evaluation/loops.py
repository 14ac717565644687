"""Finding evaluation loops, and telling which can be sharded."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Instance, Values
from transpile.plan.effects.effect_names import TRACKERS
from transpile.plan.flow.places import start
from transpile.plan.flow.ranks import Ranks
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Loader, Model, Plan
from transpile.plan.query import query
from transpile.plan.roles.surroundings import inside_module

from .data import check_loader, head
from .effects import Effects
from .model import Done, Evaluation, Forward, Obstacle, Shared, Whole
from .modes import evaluates, has_one_mode
from .names import bound_names, check_names
from .totals import Totals, plain, root
from .words import EvaluationWords

#: What a single call of the model may stand behind, in `model.forward(x)`.
FORWARD = "forward"


@query
def evaluations(plan: Plan, words: EvaluationWords) -> list[Evaluation]:
    """The loops over loaders that no backward pass depends on, in which models are called."""
    return Evaluations(plan, words).all()


class Alone(Ranks):
    """Answers which places only some processes come to, in the script or in its conversion.

    Args:
        plan: the plan.
        words: what the framework's functions mean.
    """

    def __init__(self, plan: Plan, words: EvaluationWords) -> None:
        super().__init__(plan, frozenset())
        self.words = words

    def tests_rank(self, test: cst.CSTNode) -> bool:
        """Whether a condition depends on the rank, or on a tracker that rank 0 alone will have."""
        return super().tests_rank(test) or any(
            name in self.words.vocabulary.trackers or name in TRACKERS
            for value in walk_back(self.plan.facts.values_of(test))
            for name in called_names(value)
        )


class Evaluations:
    """Finds the evaluation loops of a plan.

    Args:
        plan: the plan.
        words: what the framework's functions mean.
    """

    def __init__(self, plan: Plan, words: EvaluationWords) -> None:
        self.plan = plan
        self.words = words
        self.ranks = Alone(plan, words)
        self.loaders = {id(loader.value): loader for loader in plan.loaders}
        self.drawn: dict[int, list[tuple[Event, Loader]]] = {}
        for loader in plan.loaders:
            for event in loader.iterations:
                if not event.detached:
                    self.drawn.setdefault(id(event.node), []).append((event, loader))
        self.forwards: dict[int, list[tuple[Event, Model]]] = {}
        for model in plan.models:
            for event in model.forwards:
                if event.detached or inside_module(event.stack, plan.table):
                    continue
                for node in {id(frame.node) for frame in event.loops()}:
                    self.forwards.setdefault(node, []).append((event, model))

    def all(self) -> list[Evaluation]:
        """Every evaluation loop, in the order of the run."""
        found: list[Evaluation] = []
        training = {id(b.batch_loop.node) for b in self.plan.backwards if b.batch_loop is not None}
        for runs in self.drawn.values():
            event = runs[0][0]
            if all(loader.training for _, loader in runs) or id(event.node) in training:
                continue
            forwards = self.forwards.get(id(event.node), [])
            if not isinstance(event.node, cst.For):
                if forwards or self.draws_for_models(event):
                    found.append(self.whole(event, "batches are drawn one by one", event.node))
                continue
            if not forwards:
                continue
            if self.is_done(event.node, runs):
                found.append(Done(event.module, event.node))
                continue
            try:
                found.append(self.shared(event.module, event.node, runs, forwards))
            except Obstacle as obstacle:
                found.append(self.whole(event, obstacle.reason, obstacle.node))
        return sorted(found, key=self.order)

    def order(self, found: Evaluation) -> tuple[str, int]:
        """Where an evaluation stands."""
        node = found.loop if isinstance(found, Shared) else found.node
        return found.module.name, start(found.module, node)

    def draws_for_models(self, event: Event) -> bool:
        """Whether a model is called where ``next`` or a comprehension draws a batch."""
        own = [frame.node for frame in event.loops()]
        return bool(own) and id(own[-1]) in self.forwards

    def whole(self, event: Event, reason: str, node: cst.CSTNode) -> Whole:
        """The answer where every process evaluates everything."""
        module = event.module
        if not module.source.has(node):
            module = next(m for m in self.plan.facts.modules.values() if m.source.has(node))
        line, _ = module.source.position(start(module, node))
        return Whole(event.module, event.node, reason, line)

    def is_done(self, loop: cst.For, runs: list[tuple[Event, Loader]]) -> bool:
        """Whether the batches of a loop are a process's own already."""
        for _, loader in runs:
            argument = loader.argument("batch_sampler")
            for value in argument.values if argument is not None else ():
                if isinstance(value, Instance) and any(
                    self.ranks.is_rank(values) for values in value.attributes.values()
                ):
                    return True
        return False

    def shared(
        self,
        module: Module,
        loop: cst.For,
        runs: list[tuple[Event, Loader]],
        forwards: list[tuple[Event, Model]],
    ) -> Shared:
        """How a loop is sharded.

        Raises:
            Obstacle: it cannot be.
        """
        if any(loader.training for _, loader in runs):
            raise Obstacle(loop, "the loop also goes over training data")
        if loop.orelse is not None or loop.asynchronous is not None:
            raise Obstacle(loop, "the loop has an end of its own")
        node = head(self.plan, loop)
        self.check_head(node, runs)
        for event, loader in runs:
            if loader.wrapped:
                raise Obstacle(loop, "something stands between the loader and the loop")
            if self.ranks.some_ranks(event) or self.ranks.in_turn(event.stack):
                raise Obstacle(loop, "only some processes come here")
            if any(self.is_evaluation(frame.node) for frame in event.loops()):
                raise Obstacle(loop, "it stands in another loop over evaluation data")
            function = event.function()
            if function is not None and function.is_generator:
                raise Obstacle(loop, "the batches are handed on")
            check_loader(self.plan, loader, self.words)
        totals = Totals(self.plan, module, loop, self.words)
        totals.collect()
        check_names(module, loop, totals.names)
        effects = Effects(self.plan, module, loop, totals.nodes, self.words)
        effects.check()
        totals.check_functions(effects.functions())
        if not totals.updates:
            raise Obstacle(loop, "nothing is seen that it adds up")
        called = self.called(module, loop, forwards)
        events = {id(event): event for event, _ in runs}
        return Shared(
            module,
            loop,
            tuple(events.values()),
            node,
            tuple(totals.totals),
            tuple(totals.meters),
            called,
        )

    def is_evaluation(self, node: cst.CSTNode) -> bool:
        """Whether a loop goes over a loader without training."""
        return any(not loader.training for _, loader in self.drawn.get(id(node), ()))

    def check_head(self, node: cst.BaseExpression, runs: list[tuple[Event, Loader]]) -> None:
        """Make sure that the head of a loop is nothing but its loaders.

        Raises:
            Obstacle: it may be something else.
        """
        values: Values = self.plan.facts.values_of(node)
        known = {id(loader.value) for _, loader in runs}
        if not values or any(id(value) not in known for value in values):
            raise Obstacle(node, "the loop goes over something that is made of the loader")

    def called(
        self, module: Module, loop: cst.For, forwards: list[tuple[Event, Model]]
    ) -> tuple[Forward, ...]:
        """The calls of models in a loop.

        Raises:
            Obstacle: one of them cannot be kept to its own process.
        """
        found: dict[int, Forward] = {}
        own = bound_names(loop)
        for event, model in forwards:
            if self.is_compiled(model):
                raise Obstacle(event.node, "the model is compiled, perhaps with its wrap")
            if not evaluates(self.plan, model, event, self.words):
                raise Obstacle(event.node, "a model is not seen to be in evaluation mode")
            node = event.node
            if not isinstance(node, cst.Call) or not self.is_in(loop, node, module):
                if model.trained or not has_one_mode(self.plan, model, self.words):
                    raise Obstacle(loop, "a model is called in another function")
                continue
            expression = self.model_in(node, model)
            if expression is None or not plain(expression) or root(expression) in own:
                raise Obstacle(node, "it is not clear which model is called")
            found[id(expression)] = Forward(module, expression, model)
        return tuple(found.values())

    def is_compiled(self, model: Model) -> bool:
        """Whether a model is compiled, so that its wrap may be inside."""
        return any(
            origin(value) is model.value
            for name in sorted(self.words.compilers)
            for event in self.plan.facts.calls_to(name)
            for argument in event.arguments.items[:1]
            for value in argument.values
        )

    def is_in(self, loop: cst.For, node: cst.CSTNode, module: Module) -> bool:
        """Whether a place is in the text of a loop."""
        return module.source.has(node) and any(
            outer is loop for outer in module.source.parents(node)
        )

    def model_in(self, node: cst.Call, model: Model) -> cst.BaseExpression | None:
        """The expression that is the model in a call of it."""
        function = node.func
        if isinstance(function, cst.Attribute) and function.attr.value == FORWARD:
            function = function.value
        if any(origin(value) is model.value for value in self.plan.facts.values_of(function)):
            return function
        return None


def shared_loops(plan: Plan, words: EvaluationWords) -> list[Shared]:
    """The evaluation loops that are sharded, where that is wanted."""
    if plan.options.evaluation != "shard":
        return []
    return [found for found in evaluations(plan, words) if isinstance(found, Shared)]
