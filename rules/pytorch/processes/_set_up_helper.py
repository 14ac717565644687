"""Which helper joins the process group, as the options and the script want it."""

from __future__ import annotations

import re

from transpile.helpers.files import from_file
from transpile.options import Options
from transpile.prelude import HelperSource
from transpile.records import replace
from transpile.rules.pytorch.devices._model_places import Place

EMITTED = "transpile.rules.pytorch.emitted"
TIMEDELTA = ("timedelta", "datetime.timedelta")
#: The first version of PyTorch that joins a group with a backend for each device.
BOTH_SINCE = (2, 0)
BOTH = '"cpu:gloo,cuda:nccl"'
#: The first one that is told the GPU of each process where it joins.
DEVICE_ID_SINCE = (2, 3)
#: The first version that says which backend an accelerator has.
BACKENDS_SINCE = (2, 7)
#: How long the others wait for rank 0 where it prepares something: NCCL would wait 10 minutes.
PATIENCE = 60


def set_up_helper(
    options: Options, *, waits_long: bool = False, accelerator: bool = False
) -> HelperSource:
    """The helper ``setup_distributed`` for the chosen backend, timeout and arguments.

    Args:
        options: what the user chose.
        waits_long: the processes wait for what rank 0 does alone.
        accelerator: the script leaves open what kind of GPU there is.
    """
    source: HelperSource = from_file(f"{EMITTED}.{file_of(options, accelerator)}", NAME)(options)
    if is_old(options):
        source = replace(source, code=source.code.replace(BOTH, '"nccl"'))
    minutes = options.timeout_minutes
    if minutes is None and waits_long and has_nccl_alone(options):
        minutes = PATIENCE
    return source if minutes is None else within(source, minutes)


NAME = "setup_distributed"


def file_of(options: Options, accelerator: bool) -> str:
    """The file that holds the helper."""
    if options.script_args:
        return "set_up_by_arguments"
    if options.backend != "auto":
        return f"set_up_{options.backend}"
    if accelerator and names_backends(options):
        return "set_up_accelerator"
    return "set_up_device" if knows_device(options) else "processes"


def within(source: HelperSource, minutes: int) -> HelperSource:
    """The helper with a limit of time for each collective."""
    limit = f"timeout=$timedelta(minutes={minutes})"
    code = re.sub(r"(init_process_group\([^(\n]+)\)", rf"\1, {limit})", source.code)
    code = re.sub(
        r"^( +)init_method=init_method,\n", rf"\g<0>\1{limit},\n", code, flags=re.MULTILINE
    )
    found: HelperSource = replace(source, code=code, modules=(*source.modules, TIMEDELTA))
    return found


def call_of(options: Options, place: Place) -> str:
    """The arguments of the set-up, where the script has none for it.

    Args:
        options: what the user chose.
        place: where the models of the script are.
    """
    return '"gloo"' if options.backend == "auto" and place == "cpu" else ""


def is_old(options: Options) -> bool:
    """Whether PyTorch cannot join a group with a backend for each device."""
    return options.target_version is not None and options.target_version < BOTH_SINCE


def has_nccl_alone(options: Options) -> bool:
    """Whether the group may be one that cannot exchange what is on the CPU."""
    chosen = options.backend == "nccl" or options.script_args
    return chosen or (options.backend == "auto" and is_old(options))


def knows_device(options: Options) -> bool:
    """Whether the group is told the GPU of each process where it is joined."""
    version = options.target_version
    return version is not None and version >= DEVICE_ID_SINCE


def names_backends(options: Options) -> bool:
    """Whether PyTorch says which backend an accelerator has."""
    return options.target_version is None or options.target_version >= BACKENDS_SINCE
