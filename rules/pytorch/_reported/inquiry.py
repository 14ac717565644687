"""What all parts of the search for reported numbers know and note."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Opaque
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rules.pytorch._loss_scaling import rewritten, scaled_terms
from transpile.rules.pytorch._quantity import Analysis, Kind, analysis
from transpile.rules.pytorch._quantity.accesses import index_nodes

from .model import Doubt, Part, Reported


class Inquiry:
    """A search for what a script reports.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        terms = scaled_terms(plan)
        #: How values depend on the batch of this process.
        self.analysis = Analysis(plan, terms) if terms else analysis(plan)
        #: The same once everything that leaves the batch is taken over all processes.
        self.whole = Analysis(plan, terms, whole=True)
        #: What is rewritten for the sake of a loss.
        self.settled = rewritten(plan)
        self.found = Reported()
        losses = tuple(value for backward in plan.backwards for value in backward.loss)
        #: The values that losses are made of.
        self.trained = {id(value) for value in walk_back(losses)}
        #: The arrays and tables that are filled at places which the samples say.
        self.filled = set(self.tables())

    def tables(self) -> Iterator[int]:
        """The identities of what is filled in training at places that depend on the samples."""
        for event in self.plan.facts.events:
            if event.kind != "store" or event.detached or not isinstance(event.node, cst.Subscript):
                continue
            if not self.plan.in_training(event.stack):
                continue
            for node in index_nodes(event.node):
                place = self.analysis.of(self.plan.facts.values_of(node))
                if place.kind is Kind.SAMPLE or (place.kind is Kind.UNKNOWN and place.sampled):
                    yield from (id(base) for base in event.callee if isinstance(base, Opaque))

    def doubt(self, part: Part, reason: str, samples: bool = False) -> None:
        """Note something that must be looked at; decisions are taken care of elsewhere."""
        if part.decides:
            return
        node = part.node or part.event.node
        module = part.module if part.node is not None else part.event.module
        self.found.doubts.setdefault(id(node), Doubt(module, node, reason, samples))

    def in_model(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of a model's code."""
        found: bool = self.analysis.is_model_code(module, node)
        return found
