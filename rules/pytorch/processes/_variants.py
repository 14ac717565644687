"""The helpers that are not the same for every script and every choice of the user."""

from __future__ import annotations

from transpile.helpers.files import from_file
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.prelude import HelperSource
from transpile.rules.pytorch.devices._model_places import uses_accelerator
from transpile.rules.pytorch.processes._set_up_helper import EMITTED, names_backends, set_up_helper


def variants(plan: Plan, waits_long: bool) -> dict[str, HelperSource]:
    """The helpers of a plan that are not those of every plan.

    Args:
        plan: the plan.
        waits_long: the processes wait for what rank 0 does alone.
    """
    options: Options = plan.options
    accelerator = uses_accelerator(plan) and names_backends(options)
    found = {
        "setup_distributed": set_up_helper(options, waits_long=waits_long, accelerator=accelerator)
    }
    if accelerator:
        found["own_gpu"] = from_file(
            f"{EMITTED}.set_up_accelerator", "own_gpu", without_group=True
        )(options)
    return found
