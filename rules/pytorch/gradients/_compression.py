"""The hook that compresses the gradients of one wrapped model."""

from __future__ import annotations

from transpile.layout.calls import written_call
from transpile.plan.model import Plan
from transpile.plan.models.wraps import Wrap

PACKAGE = "torch.distributed.algorithms.ddp_comm_hooks"
#: Ways to compress to the module and the function of their hook.
HOOKS = {
    "fp16": ("default_hooks", "fp16_compress_hook"),
    "bf16": ("default_hooks", "bf16_compress_hook"),
    "powersgd": ("powerSGD_hook", "powerSGD_hook"),
}
#: Steps that PowerSGD leaves to the plain average: its own default, said where people change it.
WARM_UP = 1000


def hook_lines(plan: Plan, wrap: Wrap, columns: int) -> list[str]:
    """The lines behind a wrap that register the hook; none where gradients stay as they are.

    Args:
        plan: the plan.
        wrap: where the model is wrapped.
        columns: how far the lines will be indented.
    """
    kind = plan.options.compression
    if kind not in HOOKS:
        return []
    names = plan.names_in(wrap.module)
    module, function = HOOKS[kind]
    hooks = names.imported(f"{PACKAGE}.{module}", module)
    state = "None"
    if kind == "powersgd":
        state = f"{hooks}.PowerSGDState(None, start_powerSGD_iter={WARM_UP})"
    register = f"{wrap.text}.register_comm_hook"
    if kind == "fp16":
        return written_call(register, [state, f"{hooks}.{function}"], columns)
    call = written_call(register, [state, f"{hooks}.{function}"], columns + 4)
    test = f"next({wrap.text}.parameters()).is_cuda"
    if plan.options.backend in ("gloo", "mpi") or plan.options.script_args:
        dist = names.imported("torch.distributed", "dist")
        test = f'{dist}.get_backend() == "nccl"'
    return [f"if {test}:", *(f"    {line}" for line in call)]
