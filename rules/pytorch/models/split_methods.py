"""Split the calls of methods that a model is trained through over the processes.

What:
    Where a model learns, but training calls methods of it and never the model, the methods whose
    samples are apart get a decorator. In training it computes this process's rows of a call and
    returns the outputs of all rows, with gradients; the gradients of the parameters are averaged
    before the optimizer steps. Without gradients, and in one process, the method is what it was.
    The same is done to ``forward`` of models that are called, but that no variable holds for a
    wrap, as those of a list.

Why:
    A wrap around the model sees calls of the model alone. Actors and critics, density models and
    others have methods such as ``evaluate`` or ``log_prob`` instead, which losses are made of.

Before:
    class Policy(Net):
        def evaluate(self, states):
            return self.layer(states)

After:
    class Policy(Net):
        @split_method(SplitMethod)
        def evaluate(self, states):
            return self.layer(states)

Refuses when:
    never: a method that cannot be split is computed whole by every process, and PT352 is the
    answer where that leaves nothing that is split.

Source:
    https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import decorate
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.models._split.calls import NOTHING_GIVEN, split_kind
from transpile.rules.pytorch.models._split.methods import MethodSplit, method_splits

CODES = {
    "PT361": "the calls of a method are split over the processes",
    "PT362": "a method that a model is trained through is computed whole by every process",
    "PT363": "the first batch must show that the samples of a method are apart",
}
#: Where batches are sharded, calls are not.
WAYS = ("calls",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each method that a model is trained through."""
    for each in method_splits(plan):
        place = (each.function.module, each.function.node)
        name = each.function.name
        if each.whole_because == NOTHING_GIVEN:
            # It has nothing to share out, as what puts a batch together.
            continue
        if each.whole_because:
            yield Remark.note(
                "PT362",
                place,
                f"every process computes the calls of '{name}' whole: {each.whole_because}",
            )
            continue
        if each.rows.verdict == "check":
            yield Remark.note(
                "PT363",
                place,
                f"whether '{name}' keeps its samples apart is checked with the first batch, and "
                f"the job stops where it does not: {each.rows.reason}",
            )
        yield Ruling.apply("PT361", place, f"calls of '{name}' are split", data=each)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The decorator."""
    split: MethodSplit = ruling.data
    module, node = split.function.module, split.function.node
    assert isinstance(node, cst.FunctionDef)
    kind = split_kind([split.rows], "Method")
    yield Helper("split_method", module)
    yield Helper(kind, module)
    names = plan.names_in(module)
    source = module.source
    indentation = len(statement_indentation(source, node))
    arguments = [names.fresh(kind), *split.arguments]
    lines = written_call(f"@{names.fresh('split_method')}", arguments, indentation)
    for edit in decorate(source, node, lines):
        yield In(module, edit)
