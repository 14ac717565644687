"""What the words of the command line mean: values of options, and what to do with outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import click

from transpile.cli.inputs import NOTEBOOK, STANDARD_STREAM, Input
from transpile.cli.job import Mode
from transpile.options import Options
from transpile.records import replace


def choice_of(literal: Any) -> click.Choice[str]:
    """A choice among the words of a literal type."""
    return click.Choice(get_args(literal))


def python_version(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[int, int]:
    """A version of Python, as two numbers."""
    match = re.fullmatch(r"3\.(\d{1,2})", value)
    if match is None or int(match[1]) < 6:
        raise click.BadParameter(f"{value!r} is no version of Python from 3.6 on.")
    return 3, int(match[1])


def framework_version(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """A version of a framework, as its numbers; None where none is given."""
    if value is None:
        return None
    if re.fullmatch(r"\d{1,3}(\.\d{1,3}){0,2}", value) is None:
        raise click.BadParameter(f"{value!r} is no version such as 1.10 or 2.6.1.")
    return tuple(map(int, value.split(".")))


def launch_targets(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """The launch targets that are asked for, each once."""
    if not values:
        return ()
    from transpile.launch import targets

    for value in values:
        if value not in targets():
            raise click.BadParameter(f"{value!r} is not one of {', '.join(targets())}.")
    return tuple(dict.fromkeys(values))


#: Launch targets that start as many processes as they say, whatever they are started in.
COMPLETE = frozenset({"torchrun"})


def checks_launch(targets: Iterable[str]) -> bool:
    """Whether an output that is launched so counts its processes itself."""
    return any(target not in COMPLETE for target in targets)


def options_of(choices: dict[str, Any]) -> Options:
    """The options of the conversion that were chosen."""
    return Options(
        framework=choices["framework"],
        batch_size=choices["batch_size"],
        scale_lr=choices["scale_lr"],
        shard=choices["shard"],
        batches=choices["batches"],
        evaluation=choices["evaluation"],
        backend=choices["backend"],
        script_args=choices["script_args"],
        timeout_minutes=choices["timeout"],
        sync_batch_norm=choices["sync_bn"],
        strategy=choices["strategy"],
        paddle_api=choices["paddle_api"],
        kvstore=choices["kvstore"],
        singa_start=choices["singa_start"],
        dist_option=choices["dist_option"],
        spars=choices["spars"],
        compression=choices["compression"],
        mode=choices["mode"],
        async_mode=not choices["synchronous"],
        slice_var_up=choices["slice_var_up"],
        split_method=choices["split_method"],
        distributed_embedding=choices["distributed_embedding"],
        check_launch=checks_launch(choices["launch"]),
        helpers=choices["helpers"],
        leave=choices["leave"],
        allow_partial=choices["allow_partial"],
        target_python=choices["target_python"],
        target_version=choices["target_version"],
        explain_numbers=choices["explain_numbers"],
    )


def with_place_of_helpers(options: Options, mode: Mode, *, in_folder: bool) -> Options:
    """The options, with the place of helpers that ``auto`` means for an output.

    Args:
        options: as they were chosen.
        mode: what is done with the converted text.
        in_folder: the output is a folder.
    """
    if options.helpers != "auto":
        return options
    if mode is Mode.PRINT:
        return replace(options, helpers="inline")
    return replace(options, helpers="module") if mode is Mode.IN_PLACE or in_folder else options


def mode_of(choices: dict[str, Any], scripts: Sequence[Input]) -> tuple[Mode, str]:
    """Return what to do with the converted text, and the output that the user named."""
    output = choices["output"]
    if output == STANDARD_STREAM:
        output = None
    chosen = [
        mode
        for mode, is_chosen in (
            (Mode.WRITE, output is not None),
            (Mode.IN_PLACE, choices["in_place"]),
            (Mode.PLAN, choices["plan"]),
            (Mode.DIFF, choices["diff"]),
            (Mode.CHECK, choices["check"]),
        )
        if is_chosen
    ]
    # --check says nothing that --diff does not.
    if len(chosen) > 1 and chosen != [Mode.DIFF, Mode.CHECK]:
        raise click.UsageError("-o, --in-place, --diff, --check and --plan exclude each other.")
    alone = Mode.NUMBERS if choices["explain_numbers"] is not None else Mode.PRINT
    mode = chosen[0] if chosen else alone
    standard_inputs = sum(script.is_standard_input for script in scripts)
    if standard_inputs > 1:
        raise click.UsageError("Standard input can be read once.")
    if standard_inputs and mode is Mode.IN_PLACE:
        raise click.UsageError("Standard input cannot be overwritten: --in-place needs a file.")
    if mode is Mode.IN_PLACE and any(script.path.endswith(NOTEBOOK) for script in scripts):
        raise click.UsageError("A notebook becomes a script: -o FILE.py instead of --in-place.")
    if mode is Mode.PRINT and len(scripts) > 1:
        raise click.UsageError(
            "Several inputs need -o DIR/, --in-place, --diff, --check or --plan."
        )
    return mode, output or ""
