"""What shall be started, where and with what: all that a launch target may know."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal

Rendezvous = Literal["static", "c10d"]

# What launchers tell their processes; set beforehand it contradicts them.
_RESERVED = re.compile(
    r"(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|NODE_RANK|MASTER_(ADDR|PORT)|EXPECTED_WORLD_SIZE"
    r"|(PET|TORCHELASTIC)_\w*"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESTARTS_OF_ELASTIC_JOBS = 3


@dataclass(frozen=True)
class Job:
    """One training job.

    Args:
        script: the converted script, absolute or relative to the folder of the launch files.
        command: the words of the command that makes the launch files.
        name: what the job is called where it needs a name; empty for that of the script.
        script_arguments: the arguments of the script.
        nodes: machines; of an elastic job, the most.
        min_nodes: the least machines of an elastic job; None where the number is fixed.
        gpus_per_node: GPUs of each machine that are used, with one process each; None for as many
            as are found when the job starts, or one process without GPUs.
        max_restarts: how often all processes are restarted after a failure; None leaves it to the
            kind of job: never, or a few times where it is elastic.
        rendezvous: how the machines find each other; None leaves it to the kind of job.
        environment: names and values of variables for every process.
        nccl_socket_interface: network interface for NCCL; empty leaves the choice to NCCL.
        nccl_disable_infiniband: keep NCCL from using InfiniBand.

    Raises:
        ValueError: the values contradict each other, or cannot be passed to a process.
    """

    script: str
    command: tuple[str, ...]
    name: str = ""
    script_arguments: tuple[str, ...] = ()
    nodes: int = 1
    min_nodes: int | None = None
    gpus_per_node: int | None = None
    max_restarts: int | None = None
    rendezvous: Rendezvous | None = None
    environment: tuple[tuple[str, str], ...] = ()
    nccl_socket_interface: str = ""
    nccl_disable_infiniband: bool = False

    def __post_init__(self) -> None:
        self._check_numbers()
        for variable, _ in self.environment:
            _check_variable(variable)
        values = (value for _, value in self.environment)
        words = (self.script, self.name, self.nccl_socket_interface)
        for word in (*words, *self.script_arguments, *self.command, *values):
            _check_word(word)
        if not os.path.basename(self.script):
            raise ValueError("the script has no name")

    def _check_numbers(self) -> None:
        if self.nodes < 1:
            raise ValueError("a job needs at least 1 node")
        if self.min_nodes is not None and not 1 <= self.min_nodes <= self.nodes:
            raise ValueError("the least number of nodes is between 1 and the number of nodes")
        if self.gpus_per_node is not None and self.gpus_per_node < 1:
            raise ValueError("a node needs at least 1 process")
        if self.max_restarts is not None and self.max_restarts < 0:
            raise ValueError("the number of restarts cannot be negative")
        if self.rendezvous == "static" and self.is_elastic:
            raise ValueError("an elastic job needs the rendezvous c10d")

    @property
    def is_elastic(self) -> bool:
        """Whether machines may come and go."""
        return self.min_nodes is not None and self.min_nodes < self.nodes

    @property
    def stem(self) -> str:
        """The script's name without folder and ``.py``: what launch files are named after."""
        base = os.path.basename(self.script)
        return base.removesuffix(".py") or base

    @property
    def title(self) -> str:
        """What the job is called."""
        return self.name or self.stem

    @property
    def restarts(self) -> int:
        """How often all processes are restarted after a failure."""
        if self.max_restarts is not None:
            return self.max_restarts
        return _RESTARTS_OF_ELASTIC_JOBS if self.is_elastic else 0

    @property
    def meeting(self) -> Rendezvous:
        """How the machines find each other: c10d where they may have to do so again."""
        if self.rendezvous is not None:
            return self.rendezvous
        return "c10d" if self.is_elastic or self.restarts else "static"

    @property
    def total(self) -> str:
        """How many machines, processes and GPUs it takes altogether."""
        least = self.min_nodes or self.nodes
        nodes = _range(least, self.nodes, "node", "nodes")
        if self.gpus_per_node is None:
            return f"{nodes}, one process for each GPU"
        low, high = least * self.gpus_per_node, self.nodes * self.gpus_per_node
        processes = _range(low, high, "process", "processes")
        return f"{nodes}, {processes}, {_range(low, high, 'GPU', 'GPUs')}"


def _range(low: int, high: int, singular: str, plural: str) -> str:
    number = str(high) if low == high else f"{low} to {high}"
    return f"{number} {singular if high == 1 else plural}"


def _check_variable(variable: str) -> None:
    if not _VARIABLE.fullmatch(variable):
        raise ValueError(f"{variable!r} cannot be the name of an environment variable")
    if _RESERVED.fullmatch(variable):
        raise ValueError(f"{variable} is for the launcher to set")


def _check_word(word: str) -> None:
    if "\0" in word:
        raise ValueError(f"{word!r} cannot be passed to a process: it holds a NUL character")
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"{word!r} cannot be passed to a process: it is no text") from None
