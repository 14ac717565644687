"""What is seen of a run while it is on."""

from __future__ import annotations

from pathlib import Path

from transpile.verify.watching import RunningRun

STEP = '{"event": "step", "number": 0}\n'
BATCH = '{"event": "batch", "number": 0}\n'


def test_steps_of_the_first_rank_are_counted_as_they_come(tmp_path: Path) -> None:
    run = RunningRun("original", tmp_path)
    assert run.progress() == ""
    journal = tmp_path / "attempt-0/0/journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text(BATCH + STEP)
    assert run.progress() == "1 step"
    journal.write_text(BATCH + STEP + BATCH + STEP[:9])
    assert run.progress() == "1 step"
    journal.write_text(BATCH + STEP + BATCH + STEP)
    assert run.progress() == run.progress() == "2 steps"


def test_an_attempt_that_begins_again_is_counted_from_its_beginning(tmp_path: Path) -> None:
    run = RunningRun("2 processes", tmp_path)
    for attempt, steps in ((0, 3), (1, 1)):
        journal = tmp_path / f"attempt-{attempt}/0/journal.jsonl"
        journal.parent.mkdir(parents=True)
        journal.write_text(STEP * steps)
        assert run.progress() == f"{steps} step{'s' * (steps > 1)}"
