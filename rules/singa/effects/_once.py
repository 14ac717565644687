"""What the rules about effects share: SINGA's own effects, and the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.plan.query import query

VOCABULARY = Vocabulary(
    writes=frozenset({"singa.sonnx.save", "onnx.save", "singa.sonnx.to_onnx"}),
    write_methods=frozenset({"save_states", "save"}),
    reads=frozenset({"singa.sonnx.load", "onnx.load"}),
    read_methods=frozenset({"load_states"}),
    saves=frozenset({"singa.sonnx.save"}),
    loads=frozenset({"singa.sonnx.load"}),
    trackers=frozenset({"tensorboardX.SummaryWriter", "torch.utils.tensorboard.SummaryWriter"}),
    pure=("singa.tensor.", "numpy."),
    impure=(
        "singa.tensor.random", "singa.tensor.gaussian", "singa.tensor.uniform",
        "singa.tensor.bernoulli", "singa.tensor.to_numpy", "numpy.random.", "numpy.save",
        "numpy.load",
    ),  # fmt: skip
)


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    plan.once = find_once(plan, VOCABULARY, frozenset(), 0, together(plan))
    return plan.once


def together(plan: Plan) -> set[int]:
    """The expressions that every process evaluates together with the others."""
    from transpile.rules.singa.data.gather_outputs import reads_of

    return {id(read.event.node) for read in reads_of(plan)}
