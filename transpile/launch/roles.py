"""The roles of a training job, and what each of them takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from transpile.launch.quantity import memory_text

Framework = Literal["pytorch", "mxnet", "paddle", "fluid", "tensorflow", "singa"]
Mode = Literal["collective", "pserver"]
RoleName = Literal["scheduler", "server", "master", "worker"]

#: Whose machines can be asked for something of their own; the master is one of the workers.
RESOURCE_ROLES = ("worker", "server", "scheduler")
# MXNet and parameter servers: these hold the parameters, the workers the data.
WITH_SCHEDULER = frozenset({"mxnet"})
# Frameworks where the first worker is told apart, since the others meet at it.
WITH_MASTER = frozenset({"pytorch", "paddle", "fluid"})


@dataclass(frozen=True)
class Resources:
    """What one machine, or pod, is asked for.

    Args:
        cpus: CPUs, in steps of a thousandth; None leaves it open.
        memory: bytes; None leaves it open.
    """

    cpus: Decimal | None = None
    memory: int | None = None


UNSPECIFIED = Resources()


@dataclass(frozen=True)
class Role:
    """Machines, or pods, that do the same.

    Args:
        name: what they do.
        count: how many there are; of an elastic job, the most.
        gpus: GPUs of each; 0 for none, None for as many as are found when the job starts.
        resources: what else each is asked for.
    """

    name: RoleName
    count: int
    gpus: int | None = 0
    resources: Resources = UNSPECIFIED

    @property
    def text(self) -> str:
        """Such as ``2 workers of 12 CPUs, 120G and 2 GPUs``."""
        parts = []
        if self.resources.cpus is not None:
            parts.append(cpus_amount(self.resources.cpus))
        if self.resources.memory is not None:
            parts.append(memory_text(self.resources.memory))
        if self.gpus:
            parts.append(plural(self.gpus, "GPU"))
        of = f" of {listed(parts)}" if parts else ""
        return plural(self.count, self.name) + of


def total_of(roles: Sequence[Role]) -> list[str]:
    """Return what roles take together, as platforms ask for it: ``26 CPUs``, ``252G``, ``4 GPUs``.

    What a role that trains leaves open is said, a scheduler is small enough to be left out.
    """
    found = []
    cpus = {role.name: role.resources.cpus for role in roles if role.resources.cpus is not None}
    if cpus:
        total = sum(
            (cpus[role.name] * role.count for role in roles if role.name in cpus), Decimal()
        )
        found.append(cpus_amount(total) + _without(roles, cpus))
    memory = {role.name: role.resources.memory or 0 for role in roles}
    known = {name for name, amount in memory.items() if amount}
    if known:
        total_memory = sum(memory[role.name] * role.count for role in roles)
        found.append(memory_text(total_memory) + _without(roles, known))
    gpus = sum((role.gpus or 0) * role.count for role in roles)
    if gpus:
        found.append(plural(gpus, "GPU"))
    return found


def _without(roles: Sequence[Role], known: Iterable[str]) -> str:
    open_ones = [role.name for role in roles if role.name not in {*known, "scheduler"}]
    return f" (not counting {listed(f'{name}s' for name in open_ones)})" if open_ones else ""


def cpus_amount(cpus: Decimal) -> str:
    """Such as ``26 CPUs``."""
    return f"{cpus.normalize():f} {'CPU' if cpus == 1 else 'CPUs'}"


def plural(number: int, noun: str) -> str:
    """Such as ``1 node`` and ``2 nodes``."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def listed(words: Iterable[str]) -> str:
    """Such as ``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
