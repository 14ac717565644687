"""What the rules about effects share: Fluid's own effects, and the plan for all of them."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.once import find_once
from transpile.plan.effects.treatment import Once
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.fluid._roles import roles_of

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "paddle.fluid.io.save_vars", "paddle.fluid.io.save_params",
            "paddle.fluid.io.save_persistables", "paddle.fluid.io.save_inference_model",
            "paddle.fluid.io.save", "paddle.fluid.save", "paddle.fluid.io.export_for_deployment",
            "paddle.fluid.save_dygraph", "paddle.static.save",
            "paddle.static.save_inference_model", "paddle_serving_client.io.save_model",
            "paddle_serving_client.io.inference_model_to_serving",
        }
    ),  # fmt: skip
    reads=frozenset(
        {
            "paddle.fluid.io.load_vars", "paddle.fluid.io.load_params",
            "paddle.fluid.io.load_persistables", "paddle.fluid.io.load_inference_model",
            "paddle.fluid.io.load", "paddle.fluid.load", "paddle.fluid.io.load_program_state",
            "paddle.fluid.load_program_state", "paddle.load", "paddle.jit.load",
            "paddle.static.load", "paddle.static.load_inference_model",
            "paddle.static.load_program_state",
        }
    ),  # fmt: skip
    paths={
        "paddle.fluid.io.save_vars": ("dirname", 1),
        "paddle.fluid.io.save_params": ("dirname", 1),
        "paddle.fluid.io.save_persistables": ("dirname", 1),
        "paddle.fluid.io.save_inference_model": ("dirname", 0),
        "paddle.fluid.io.save": ("model_path", 1),
        "paddle.fluid.save": ("model_path", 1),
    },
    trackers=frozenset(
        {
            "visualdl.LogWriter",
            "tensorboardX.SummaryWriter",
            "torch.utils.tensorboard.SummaryWriter",
        }
    ),
    downloads=frozenset({"paddle.dataset.common.download"}),
    pure=("paddle.fluid.layers.", "paddle.fluid.metrics.", "paddle.fluid.default_"),
    impure=(
        "paddle.fluid.layers.data", "paddle.fluid.layers.py_reader",
        "paddle.fluid.layers.create_py_reader",
    ),  # fmt: skip
)


@query
def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script; found once for all rules."""
    together = frozenset(id(run.event.node) for run in roles_of(plan).training)
    plan.once = find_once(plan, VOCABULARY, frozenset(), 0, together)
    return plan.once
