"""The command ``disttranspile launch``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, get_args

import click
from click.core import ParameterSource

from transpile.cli.inputs import STANDARD_STREAM
from transpile.cli.launch_files import (
    LaunchFile,
    LaunchFileError,
    as_argument,
    check_writable,
    launch_files,
    write,
)
from transpile.cli.targets import is_folder
from transpile.cli.terminal import put, tell
from transpile.launch import targets
from transpile.launch.job import Job, Rendezvous


def _variables(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    variables = {}
    for value in values:
        name, separator, content = value.partition("=")
        if not separator:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE.")
        variables[name] = content
    return tuple(variables.items())


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 where the files are written, 2 where they cannot be.",
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("script_arguments", nargs=-1, metavar="[-- SCRIPT ARGUMENTS]")
@click.option(
    "--target",
    type=click.Choice(list(targets())),
    required=True,
    help="What the script is started with.",
)
@click.option("-o", "--output", metavar="FILE|DIR/|-", help="Write there, not beside the script.")
@click.option("--force", is_flag=True, help="Overwrite a file that holds something else.")
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many machines; of an elastic job, the most.",
)
@click.option(
    "--min-nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="The least machines of an elastic job, where some may come and go.",
)
@click.option(
    "--gpus-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many GPUs of each machine, with a process for each; without GPUs, how many "
    "processes.  [default: the GPUs found at the start, or one process]",
)
@click.option(
    "--max-restarts",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often all start again after a failure.  [default: 0; 3 for an elastic job]",
)
@click.option(
    "--rendezvous",
    type=click.Choice(get_args(Rendezvous)),
    help="How machines find each other.  [default: static; c10d with restarts or --min-nodes]",
)
@click.option("--name", metavar="NAME", help="Name of the job.  [default: the script's]")
@click.option(
    "--env",
    "environment",
    multiple=True,
    callback=_variables,
    metavar="NAME=VALUE",
    help="Environment variable for every process; may be repeated.",
)
@click.option("--nccl-socket-ifname", metavar="NAME", help="Network interface for NCCL.")
@click.option("--nccl-ib-disable", is_flag=True, help="Keep NCCL from using InfiniBand.")
@click.pass_context
def command(context: click.Context, /, script: str, output: str | None, **choices: Any) -> int:
    """Write the files that start the converted SCRIPT, beside it.

    What stands after -- goes to the script whenever it is started.
    """
    try:
        job = _job(script, choices, _command(context, script))
        files = _files(job, choices["target"], script, output)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    tell(f"Total: {job.total}\n")
    if output == STANDARD_STREAM:
        put(b"".join(file.data for file in files))
        return 0
    try:
        check_writable(files, force=choices["force"])
        write(files)
    except LaunchFileError as error:
        raise click.UsageError(f"{error}. {error.advice}".rstrip()) from error
    for file in files:
        tell(f"{file.path}\n")
    return 0


def _job(script: str, choices: dict[str, Any], words: tuple[str, ...]) -> Job:
    return Job(
        script=script,
        command=words,
        name=choices["name"] or "",
        script_arguments=choices["script_arguments"],
        nodes=choices["nodes"],
        min_nodes=choices["min_nodes"],
        gpus_per_node=choices["gpus_per_node"],
        max_restarts=choices["max_restarts"],
        rendezvous=choices["rendezvous"],
        environment=choices["environment"],
        nccl_socket_interface=choices["nccl_socket_ifname"] or "",
        nccl_disable_infiniband=choices["nccl_ib_disable"],
    )


def _command(context: click.Context, script: str) -> tuple[str, ...]:
    """The words that make the same files again: what was chosen, in the order of the help."""
    words = ["disttranspile", "launch", as_argument(script)]
    for parameter in context.command.params:
        name = parameter.name or ""
        if not isinstance(parameter, click.Option) or name == "force":
            continue
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        option, value = parameter.opts[-1], context.params[name]
        if name == "environment":
            words += [word for item in value for word in (option, "=".join(item))]
        elif parameter.is_flag:
            words.append(option)
        else:
            words += _option(option, str(value))
    arguments = context.params["script_arguments"]
    return (*words, *(("--", *arguments) if arguments else ()))


def _option(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") and value != "-" else [option, value]


def _files(job: Job, target: str, script: str, output: str | None) -> list[LaunchFile]:
    if output is None:
        output = os.path.dirname(script)
    elif output == STANDARD_STREAM:
        return list(launch_files(target, job, ""))
    elif not is_folder(output):
        job = replace(job, script=_seen_from(os.path.dirname(output), script))
        files = list(launch_files(target, job, ""))
        if len(files) > 1:
            raise ValueError("several files need a folder as output: -o FOLDER/")
        return [replace(files[0], path=output)]
    return list(launch_files(target, replace(job, script=_seen_from(output, script)), output))


def _seen_from(folder: str, script: str) -> str:
    """The script's path from a folder; an absolute one stays, where it is in another folder."""
    home, name = os.path.split(script)
    here, there = os.path.realpath(folder), os.path.realpath(home)
    if here == there:
        return name
    return script if os.path.isabs(script) else os.path.join(os.path.relpath(there, here), name)
