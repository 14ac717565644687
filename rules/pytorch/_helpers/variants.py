"""The helpers that depend on where the models of a script are."""

from __future__ import annotations

from transpile.plan.model import Plan
from transpile.prelude import HelperSource
from transpile.records import replace
from transpile.rules.pytorch._helpers.names import DIST, TORCH
from transpile.rules.pytorch._helpers.numbers import NUMBERS
from transpile.rules.pytorch._helpers.processes import CLEANUP
from transpile.rules.pytorch._helpers.randomness import RANDOMNESS
from transpile.rules.pytorch._model_places import draws_on_gpu, model_place, uses_accelerator
from transpile.rules.pytorch._set_up_helper import (
    OWN_GPU,
    backend_of,
    knows_device,
    names_backends,
    set_up_helper,
)

#: What helpers say for a group that has NCCL alone, and what they say without it.
FOR_NCCL = {
    '    if $dist.get_backend() == "nccl":\n        total = total.cuda()\n': "",
    '    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"\n': "",
    ", device=device)": ")",
}
BARRIER_OF_NCCL = HelperSource(
    '''
def $barrier():
    """Wait for all processes."""
    if $dist.is_initialized():
        own = $dist.get_backend() == "nccl"
        $dist.barrier(device_ids=[$torch.cuda.current_device()] if own else None)
''',
    (DIST, TORCH),
)
KEPT = """        $cleanup_distributed.work = $dist.barrier(async_op=True)
        $cleanup_distributed.work.wait()
"""
KEPT_OF_GLOO = """        work = $dist.barrier(async_op=True)
        work.wait()
        $cleanup_distributed.work = work if $dist.get_backend() == "gloo" else None
"""
#: What is kept or shared of a process's random numbers, and what of those that its GPU draws.
KEEP_STATES = "$torch.get_rng_state()]\n"
KEEP_GPU_STATE = """\
    if $torch.cuda.is_available():
        states.append($torch.cuda.get_rng_state())
"""
SET_STATE = "$torch.set_rng_state("
SET_GPU_STATE = """\
    if $torch.cuda.is_available():
        $torch.cuda.set_rng_state(states[-1])
"""


def variants(plan: Plan, waits_long: bool) -> dict[str, HelperSource]:
    """The helpers of a plan that are not those of every plan.

    Args:
        plan: the plan.
        waits_long: the processes wait for what rank 0 does alone.
    """
    place = model_place(plan)
    accelerator = uses_accelerator(plan) and names_backends(plan.options)
    found = {"setup_distributed": set_up_helper(plan.options, place, waits_long, accelerator)}
    if accelerator:
        code = OWN_GPU.code.replace("$torch.cuda", "$torch.accelerator")
        found["own_gpu"] = replace(OWN_GPU, code=code)
    if plan.options.script_args or backend_of(plan.options, place) in ("nccl", "cuda"):
        found["cleanup_distributed"] = kept_of_gloo()
        if not knows_device(plan.options):
            found["barrier"] = BARRIER_OF_NCCL
    else:
        for name, source in NUMBERS.items():
            if isinstance(source, HelperSource):
                found[name] = without_nccl(source)
    if draws_on_gpu(plan):
        for name, source in RANDOMNESS.items():
            if isinstance(source, HelperSource):
                found[name] = with_gpu_state(source)
    return found


def kept_of_gloo() -> HelperSource:
    """The helper that leaves the group, where that may be one of NCCL."""
    found: HelperSource = replace(CLEANUP, code=CLEANUP.code.replace(KEPT, KEPT_OF_GLOO))
    return found


def without_nccl(source: HelperSource) -> HelperSource:
    """A helper for tensors on any device, where the group has a backend for each."""
    code = source.code
    for text, other in FOR_NCCL.items():
        code = code.replace(text, other)
    return replace(source, code=code)


def with_gpu_state(source: HelperSource) -> HelperSource:
    """A helper that keeps or shares the random state of this process's GPU with the others."""
    lines: list[str] = []
    for line in source.code.splitlines(keepends=True):
        lines.append(line)
        depth = " " * (len(line) - len(line.lstrip()) - 4)
        added = ""
        if line.endswith(KEEP_STATES):
            added = KEEP_GPU_STATE
        elif SET_STATE in line:
            added = SET_GPU_STATE
        lines += [depth + more for more in added.splitlines(keepends=True)]
    return replace(source, code="".join(lines))
