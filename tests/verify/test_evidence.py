"""Reading what ranks leave, and showing what came of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from transpile.verify.evidence import Checkpoint, Ending, Touch, Write
from transpile.verify.evidence_reading import read_rank
from transpile.verify.places import innermost_place
from transpile.verify.report import (
    AuditReport,
    RunReport,
    failed,
    not_applicable,
    passed,
)
from transpile.verify.table import format_report

JOURNAL = """\
{"event": "iteration", "number": 0, "loader": 0, "dataset": 0, "length": 4, "own_batches": false}
{"event": "batch", "number": 0, "samples": [2, 0]}
{"event": "batch", "number": 0, "samples": [1, 3]}
{"event": "taken", "number": 0}
{"event": "input", "digest": "ab", "size": 6}
{"event": "backward", "open": [0]}
{"event": "grad", "open": []}
{"event": "optimizer", "number": 1, "kind": "SGD", "shapes": [[2, 3]], "wrapped": [true], \
"sharded": false}
{"event": "step", "number": 1, "learning_rates": [0.5], "open": [0]}
{"event": "first", "number": 1, "digest": "cd"}
{"event": "write", "path": "a.pt", "touch": "file", "how": "save"}
{"event": "save", "path": "a.pt", "leaves": {"w": "float32 (1,)"}}
{"event": "taken", "num"""

DUMP = """\
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Current thread 0x00007f2 (most recent call first):
  File "/site-packages/torch/distributed/distributed_c10d.py", line 2810 in all_reduce
  File "/site-packages/torch/distributed/c10d_logger.py", line 81 in wrapper
  File "/home/someone/train.py", line 12 in main
  File "/home/someone/train.py", line 20 in <module>
"""


def test_a_journal_that_was_cut_short_is_read_to_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(JOURNAL)
    (tmp_path / "stdout").write_bytes(b"caf\xe9\n")
    rank = read_rank(tmp_path, 3, ending=Ending.HUNG, exit_status=None, place="here")
    (entry,) = rank.iterations
    assert entry.batches == ((2, 0),)
    assert (entry.backwards, entry.gradients, entry.steps) == (1, 0, 1)
    assert not entry.exhausted
    (optimizer,) = rank.optimizers
    assert optimizer.learning_rates == ((0.5,),)
    assert optimizer.shapes == ((2, 3),)
    assert (optimizer.first_digest, optimizer.digest) == ("cd", None)
    assert rank.writes == (Write("a.pt", Touch.FILE, "save"),)
    assert rank.checkpoints == (Checkpoint("a.pt", {"w": "float32 (1,)"}),)
    assert rank.inputs[0].size == 6
    assert rank.output == "caf\N{REPLACEMENT CHARACTER}\n"
    assert (rank.rank, rank.ending, rank.place, rank.errors) == (3, Ending.HUNG, "here", "")


def test_a_rank_that_left_nothing_has_no_evidence(tmp_path: Path) -> None:
    rank = read_rank(tmp_path, 0)
    assert not rank.iterations
    assert not rank.output


def test_the_place_is_that_of_the_thread_that_runs_the_script(tmp_path: Path) -> None:
    dump = tmp_path / "stack"
    assert innermost_place(dump, Path("train.py")) == ""
    dump.write_text(DUMP)
    assert innermost_place(dump, Path("/elsewhere/train.py")) == (
        "all_reduce (distributed_c10d.py:2810), from train.py:12"
    )
    assert innermost_place(dump, Path("other.py")) == ""
    dump.write_text('Thread 0x1:\n  File "/x/train.py", line 7 in wait\n')
    assert innermost_place(dump, Path("train.py")) == "wait (train.py:7)"


def test_the_table_shows_every_check_of_every_run() -> None:
    good = RunReport("original", 0, (passed("exit status"),), 0.25)
    bad = RunReport(
        "2 processes",
        2,
        (
            passed("global batch", "12"),
            failed("printed once", "by ranks 0, 1: a\nby ranks 0, 1: b"),
            not_applicable("equivalence", "not asked for"),
        ),
        1.0,
    )
    assert format_report(AuditReport((good, bad))) == (
        "original (0.2 s)\n"
        "  ok    exit status\n"
        "\n"
        "2 processes (1.0 s)\n"
        "  ok    global batch  12\n"
        "  FAIL  printed once  by ranks 0, 1: a\n"
        "                      by ranks 0, 1: b\n"
        "  -     equivalence   not asked for\n"
        "\n"
        "failed: printed once\n"
    )
    assert format_report(AuditReport((good,))).endswith("\npassed\n")


def test_the_table_shows_no_control_characters_and_no_endless_lists() -> None:
    detail = "\n".join(["a\x1b[2J\x08b", "c" * 1000, *"0123456789"])
    report = AuditReport((RunReport("original", 0, (failed("check", detail),)),))
    shown = format_report(report, width=2000)
    assert "a\\x1b[2J\\x08b" in shown
    assert "c" * 400 + "...\n" in shown
    assert "c" * 401 not in shown
    assert "... and 6 more" in shown


def test_importing_the_audit_imports_no_framework() -> None:
    code = (
        "import sys, transpile.verify, transpile.verify.__main__\n"
        "print(sorted({'torch', 'numpy', 'libcst', 'click', 'rich'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr
