"""Nobody reads what was prepared before the last process has prepared it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EMITTED = Path(__file__).resolve().parents[2] / "rules" / "pytorch" / "emitted" / "processes.py"


def test_all_have_been_there_before_one_goes_on() -> None:
    text = EMITTED.read_text("utf-8")
    begin = text.index("@contextmanager\ndef main_process_first")
    source = text[begin:].partition("\n\n\n")[0]
    meeting = threading.Barrier(3)
    own = threading.local()
    happened: list[str] = []

    class System:
        @staticmethod
        def get(name: str, default: int) -> int:
            return int(own.rank % 2)

    known = {
        "contextmanager": contextmanager,
        "os": type("os", (), {"environ": System}),
        "is_main_process": lambda: own.rank == 0,
        "barrier": lambda: meeting.wait(10),
        "Iterator": Iterator,
    }
    exec(source, known)

    def run(rank: int) -> None:
        own.rank = rank
        with known["main_process_first"]():  # type: ignore[operator]
            happened.append("write")
        happened.append("read")

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert happened == ["write"] * 3 + ["read"] * 3
