"""What the audit must be told of a framework, beside what a conversion is told."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.records import dataclass, field


@dataclass(frozen=True)
class Position:
    """Which of the processes of a job one is.

    Args:
        rank: its number in the whole job.
        local_rank: its number on its machine.
        world_size: how many there are.
        local_world_size: how many there are on each machine.
    """

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int

    @property
    def node_rank(self) -> int:
        """The number of its machine."""
        return self.rank // self.local_world_size

    @property
    def nodes(self) -> int:
        """The number of machines."""
        return self.world_size // self.local_world_size

    @property
    def is_first(self) -> bool:
        """Whether it is the first of the whole job."""
        return self.rank == 0

    @property
    def is_local_first(self) -> bool:
        """Whether it is the first on its machine."""
        return self.local_rank == 0

    @property
    def is_last(self) -> bool:
        """Whether it is the last of the whole job."""
        return self.rank == self.world_size - 1


#: What of a position is the same for every process of a job.
SHARED = frozenset({"world_size", "local_world_size", "nodes"})


@dataclass(frozen=True)
class Vocabulary:
    """What tells processes apart in a framework, and where they wait for each other.

    Each `str` that a mapping leads to is a property of :class:`Position`.

    Args:
        calls: functions that tell a process's position.
        attributes: maker and attribute that tell it.
        variables: environment variables in which launchers tell it.
        launch_arguments: attributes of parsed arguments in which a launcher tells it.
        constants: functions that have one answer in every distributed run.
        joins: functions in which a process joins the others.
        asks_joined: functions that ask whether it has.
        spawns: functions that run a function in new processes, whose number it is given first.
        processes: classes that run their ``target`` in a new process.
        main_only: decorators by which a function runs on some processes only.
        wraps: what averages the gradients of the model that it is given, to the attribute that
            leads back to it.
        applied: classes whose ``apply`` runs one of their functions, to its name.
        meets: functions in which all processes take part.
        main_rank: the call that stands for a process's number where nothing else does.
        contexts: context managers that, given a function, give back one that does the same.
        fills: functions whose first argument is a list that comes back with what others have.
    """

    calls: Mapping[str, str]
    attributes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    launch_arguments: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)
    joins: frozenset[str] = frozenset()
    asks_joined: frozenset[str] = frozenset()
    spawns: frozenset[str] = frozenset()
    processes: frozenset[str] = frozenset()
    main_only: Mapping[str, str] = field(default_factory=dict)
    wraps: Mapping[str, str] = field(default_factory=dict)
    applied: Mapping[str, str] = field(default_factory=dict)
    meets: frozenset[str] = frozenset()
    main_rank: str = ""
    contexts: frozenset[str] = frozenset()
    fills: frozenset[str] = frozenset()
