"""What all parts of the search for reported numbers know and note."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, Function, Instance, Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import Analysis, analysis
from transpile.rules.pytorch.losses._loss_scaling import rewritten, scaled_terms

from .entered import Entered
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
        #: The numbers that are reduced where they get into an object or a list.
        self.entered = Entered(plan)
        #: What decides and cannot be turned into a number of the global batch, by its identity.
        self.undecided: set[int] = set()
        losses = tuple(value for backward in plan.backwards for value in backward.loss)
        #: The values that losses are made of; what their data sets and models keep is none of it.
        self.trained = {id(value) for value in walk_back(losses, is_computed)}

    def doubt(self, part: Part, reason: str, samples: bool = False) -> None:
        """Note something that must be looked at; decisions are taken care of elsewhere."""
        if part.decides:
            self.undecided.add(id(part.node))
            return
        node = part.node or part.event.node
        module = part.module if part.node is not None else part.event.module
        self.found.doubts.setdefault(id(node), Doubt(module, node, reason, samples))

    def in_model(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of a model's code."""
        found: bool = self.analysis.is_model_code(module, node)
        return found


def is_computed(value: Value) -> bool:
    """Whether a value is no object that may hold others."""
    return not isinstance(value, (Instance, Class, Function))
