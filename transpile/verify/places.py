"""Where a killed rank was, read from its stack dump."""

from __future__ import annotations

import re
from pathlib import Path

_FRAME = re.compile(r'^\s+File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<function>.*)$')


def innermost_place(dump: Path, script: Path) -> str:
    """The innermost call of the thread that runs the script, and the script's line it came from.

    Args:
        dump: file that ``faulthandler`` wrote, with the stacks of all threads.
        script: the script that ran.

    Returns:
        For example ``all_reduce (distributed_c10d.py:3000), from train.py:12``; empty where there
        is no dump.
    """
    if not dump.exists():
        return ""
    text = dump.read_text(encoding="utf-8", errors="replace")
    for thread in text.split("\n\n"):
        frames = [match for match in map(_FRAME.match, thread.splitlines()) if match]
        # Dumps shorten long paths and escape what is not ASCII: the name is enough.
        own = [frame for frame in frames if Path(frame["file"]).name == script.name]
        if own:
            place = _describe(frames[0])
            return place if own[0] is frames[0] else f"{place}, from {_position(own[0])}"
    return ""


def _describe(frame: re.Match[str]) -> str:
    return f"{frame['function']} ({_position(frame)})"


def _position(frame: re.Match[str]) -> str:
    return f"{Path(frame['file']).name}:{frame['line']}"
