"""Effects: calls that others can see, such as output, files, trackers and downloads.

Every process that runs a script has its effects. What an effect is follows from what is called,
by its dotted name or by the object that a method belongs to, never from a variable's name.
"""

from __future__ import annotations

from enum import Enum

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.records import dataclass, field


class Kind(Enum):
    """What a call does that others can see."""

    PRINT = "prints"
    REPORT = "computes and prints"
    CONSOLE = "writes to standard output"
    LOG = "logs"
    LOG_FILE = "opens a log file"
    LOG_SET_UP = "may open log files"
    OPEN = "opens a file for writing"
    MODIFY = "opens a file for reading and writing"
    CONTAINER = "opens a container file for writing"
    HANDLE = "writes into an open file"
    WRITE = "writes"
    PLOT = "draws"
    TRACKER = "starts a tracker"
    TRACK = "records in a tracker"
    SWITCHED_TRACKER = "starts a tracker that can be switched off"
    SWITCHED_TRACK = "records in a tracker that can be switched off"
    PROGRESS = "shows progress"
    DOWNLOAD = "downloads"
    PROCESS = "runs another program"
    SHOW = "shows a window"
    CALL = "has effects in another module"
    FLUSH = "flushes"
    ASK = "waits for a person"


@dataclass(frozen=True)
class Vocabulary:
    """What a framework adds to the effects of well-known libraries.

    Args:
        writes: functions that write a file.
        write_methods: methods that do, whatever they belong to.
        reads: functions that read a file.
        read_methods: methods that do, whatever they belong to.
        saves: functions that write checkpoints.
        loads: functions that read them.
        paths: writing functions to the keyword and the position of the path, where not 0.
        reports: functions that print what they compute, for which they may draw random numbers.
        trackers: classes of trackers whose objects are only written to.
        tracker_functions: functions that record in a tracker, by dotted prefixes.
        downloads: functions that may fetch data or weights.
        download_flags: dotted prefix to the arguments that make a call below it fetch something.
        apart: classes of objects that write to places which a rule makes one process's own.
        pure: dotted prefixes of what only computes.
        impure: dotted prefixes below those that draw random numbers, talk to other processes or
            change something.
    """

    writes: frozenset[str] = frozenset()
    write_methods: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    read_methods: frozenset[str] = frozenset()
    saves: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    paths: dict[str, tuple[str, int]] = field(default_factory=dict)
    reports: frozenset[str] = frozenset()
    trackers: frozenset[str] = frozenset()
    tracker_functions: tuple[str, ...] = ()
    downloads: frozenset[str] = frozenset()
    download_flags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    apart: frozenset[str] = frozenset()
    pure: tuple[str, ...] = ()
    impure: tuple[str, ...] = ()


@dataclass(eq=False)
class Effect:
    """One call in the text that has an effect, in one or several contexts.

    Args:
        kind: what it does.
        word: what is called, for messages.
        module: where it stands.
        node: the call.
        events: what the run saw of it.
    """

    kind: Kind
    word: str
    module: Module
    node: cst.Call
    events: list[Event] = field(default_factory=list)

    @property
    def event(self) -> Event:
        """What the run saw of it first."""
        return self.events[0]
