"""The options that describe a job to launch, for every command that has them.

What they hold is text that has been checked, so that a command can be written that holds the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args

import click

from transpile.launch.advice import NETWORKS
from transpile.launch.job import (
    DmlcLauncher,
    MpiDialect,
    PaddleVersion,
    Rendezvous,
    TrainerVersion,
)
from transpile.launch.manifests.volumes import parse_volume
from transpile.launch.quantity import parse_count, parse_cpus, parse_memory, parse_time
from transpile.launch.roles import RESOURCE_ROLES

Function = TypeVar("Function", bound=Callable[..., Any])
Callback = Callable[[click.Context, click.Parameter, Any], Any]
MODES = ("auto", "collective", "nccl2", "pserver")


def _checked(parse: Callable[[str], object]) -> Callback:
    """A callback that lets through what `parse` reads, as it is written."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        for text in value if isinstance(value, tuple) else (value,):
            try:
                if text is not None:
                    parse(text)
            except ValueError as error:
                raise click.BadParameter(f"{error}.") from error
        return value

    return callback


def split_variable(text: str) -> tuple[str, str]:
    """Return name and value of ``NAME=VALUE``.

    Raises:
        ValueError: it is not of that form.
    """
    name, separator, value = text.partition("=")
    if not separator:
        raise ValueError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def split_role(text: str) -> tuple[str, str]:
    """Return role and amount of ``ROLE=AMOUNT``; an amount alone is the workers'.

    Raises:
        ValueError: there is no such role.
    """
    role, separator, amount = text.rpartition("=")
    if separator and role not in RESOURCE_ROLES:
        raise ValueError(f"{role!r} is none of {', '.join(RESOURCE_ROLES)}")
    return role or "worker", amount


def _role_amount(parse: Callable[[str], object]) -> Callback:
    return _checked(lambda text: parse(split_role(text)[1]))


def _step_time(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is no time")
    return seconds


@cache
def options() -> list[click.Option]:
    """The options, in the order of the help."""
    one_or_more = click.IntRange(min=1)
    return [
        click.Option(
            ["--nodes"],
            type=one_or_more,
            metavar="N",
            help="How many machines train; of an elastic job, the most.  [default: 1]",
        ),
        click.Option(
            ["--min-nodes"],
            type=one_or_more,
            metavar="N",
            help="The least machines of an elastic job, where some may come and go.",
        ),
        click.Option(
            ["--gpus-per-node"],
            type=one_or_more,
            metavar="N",
            help="How many GPUs of each machine, with a process for each.  [default: those found "
            "at the start, or one process]",
        ),
        click.Option(
            ["--processes-per-node"],
            type=one_or_more,
            metavar="N",
            help="How many processes on each machine, without GPUs.",
        ),
        click.Option(
            ["--gpu-type"],
            metavar="NAME",
            help="What Ray and SkyPilot call the GPUs, such as A100.  [default: any]",
        ),
        click.Option(
            ["--workers"],
            type=one_or_more,
            metavar="N",
            help="How many workers, where there are servers.  [default: one on each machine]",
        ),
        click.Option(
            ["--servers"],
            type=one_or_more,
            metavar="N",
            help="How many servers of MXNet or of --mode pserver.  [default: as many as workers]",
        ),
        click.Option(
            ["--cpus"],
            multiple=True,
            callback=_role_amount(parse_cpus),
            metavar="[ROLE=]N",
            help="CPUs of each machine of a role: worker (default), server or scheduler; may be "
            "repeated.",
        ),
        click.Option(
            ["--memory"],
            multiple=True,
            callback=_role_amount(parse_memory),
            metavar="[ROLE=]SIZE",
            help="Memory of each machine of a role, such as 120G or 64Gi; may be repeated.",
        ),
        click.Option(
            ["--max-restarts"],
            type=click.IntRange(min=0),
            metavar="N",
            help="How often all start again after a failure.  [default: 0; 3 for an elastic job]",
        ),
        click.Option(
            ["--rendezvous"],
            type=click.Choice(get_args(Rendezvous)),
            help="How machines find each other.  [default: static; c10d with restarts or "
            "--min-nodes]",
        ),
        click.Option(["--name"], metavar="NAME", help="Name of the job.  [default: the script's]"),
        click.Option(
            ["--env"],
            multiple=True,
            callback=_checked(split_variable),
            metavar="NAME=VALUE",
            help="Environment variable for every process; may be repeated.",
        ),
        click.Option(["--nccl-socket-ifname"], metavar="NAME", help="Network interface for NCCL."),
        click.Option(["--nccl-ib-disable"], is_flag=True, help="Keep NCCL from using InfiniBand."),
        click.Option(
            ["--time"],
            callback=_checked(parse_time),
            metavar="TIME",
            help="When the job is ended: minutes, HH:MM:SS or D-HH:MM:SS.",
        ),
        click.Option(["--partition"], metavar="NAME", help="Partition of Slurm."),
        click.Option(
            ["--container"],
            metavar="IMAGE",
            help="Image in which Slurm starts the processes, with pyxis.",
        ),
        click.Option(
            ["--image"],
            metavar="IMAGE",
            help="Container image.  [default: a placeholder that you replace]",
        ),
        click.Option(
            ["--workdir"],
            metavar="DIR",
            help="Working directory in a container, where the script is.  [default: the image's]",
        ),
        click.Option(
            ["--volume"],
            multiple=True,
            callback=_checked(parse_volume),
            metavar="SOURCE:PATH[:ro]",
            help="What containers see at PATH: a folder of the host, or a claim by its name; may "
            "be repeated.",
        ),
        click.Option(
            ["--shm"],
            callback=_checked(parse_memory),
            metavar="SIZE",
            help="Size of /dev/shm in a container.",
        ),
        click.Option(["--namespace"], metavar="NAME", help="Namespace of Kubernetes."),
        click.Option(
            ["--trainer-version"],
            type=click.Choice(get_args(TrainerVersion)),
            help="Version of Kubeflow Trainer.  [default: 2.3]",
        ),
        click.Option(
            ["--paddle-version"],
            type=click.Choice(get_args(PaddleVersion)),
            help="Whose paddle.distributed.launch is called: that of 1.3 and older, of 1.4 to 1.8, "
            "or of 2.3 and later.  [default: 3; 1.8 for fluid]",
        ),
        click.Option(
            ["--mpi"],
            type=click.Choice(get_args(MpiDialect)),
            help="Whose mpirun is called.  [default: the one found]",
        ),
        click.Option(
            ["--dmlc-launcher"],
            type=click.Choice(get_args(DmlcLauncher)),
            help="How MXNet's launch.py reaches the machines.  [default: local on one, ssh on "
            "several]",
        ),
        click.Option(
            ["--network"],
            type=click.Choice(list(NETWORKS)),
            help="What connects the machines: says whether training will wait for it.",
        ),
        click.Option(
            ["--parameters"],
            callback=_checked(parse_count),
            metavar="N",
            help="How many parameters the model has, such as 25.6M, for the same.",
        ),
        click.Option(
            ["--step-time"],
            callback=_checked(_step_time),
            metavar="SECONDS",
            help="How long one process computes a step, for the same.",
        ),
    ]


def launch_options(function: Function) -> Function:
    """Give a command these options."""
    # Where click's own decorators put the parameters of a command that is not made yet.
    found = function.__dict__.setdefault("__click_params__", [])
    found.extend(reversed(options()))
    return function


#: The options of other commands that tell of a job, too.
SHARED = ("framework", "mode")
NAMES = (*SHARED, *(option.name or "" for option in options()))
