"""The command around the audit; what the audit judges is tested with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from transpile import verify
from transpile.cli import main
from transpile.verify import AuditReport, Check, LaunchError, RunReport, Status
from transpile.verify.evidence import Iteration, RankEvidence, RunEvidence


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print('trained')\n")
    Path("train_dist.py").write_text("print('trained')\n")
    return "train.py", "train_dist.py"


def stand_in(monkeypatch: pytest.MonkeyPatch, answer: AuditReport | Exception) -> dict[str, Any]:
    """Replace the audit; return what it was called with."""
    received: dict[str, Any] = {}

    def audit(original: Path, converted: Path, **choices: Any) -> AuditReport:
        received.update(choices, original=original, converted=converted)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(verify, "audit", audit)
    return received


def report(status: Status) -> AuditReport:
    return AuditReport((RunReport("2 processes", 2, (Check("exit status", status, "seen"),)),))


@pytest.mark.parametrize(("status", "expected"), [(Status.PASSED, 0), (Status.FAILED, 1)])
def test_the_status_is_that_of_the_audit(
    scripts: tuple[str, str],
    status: Status,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    stand_in(monkeypatch, report(status))
    assert main(["verify", *scripts]) == expected
    output, errors = capfd.readouterr()
    assert "exit status" in output
    assert errors == ""


def test_the_choices_reach_the_audit(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    received = stand_in(monkeypatch, report(Status.PASSED))
    words = "--world-sizes 1,3 --printed-numbers --batch-size per-device --timeout 7 --cuda"
    words += f" --steps 20 --single-precision --seed-dir {tmp_path} -- --epochs 2"
    assert main(["verify", *scripts, *words.split()]) == 0
    assert callable(received.pop("tell"))
    assert received == {
        "original": Path("train.py"),
        "converted": Path("train_dist.py"),
        "world_sizes": (1, 3),
        "arguments": ("--epochs", "2"),
        "timeout_seconds": 7.0,
        "batch_size": "per-device",
        "tolerance": 1e-5,
        "printed_numbers": True,
        "steps": 20,
        "double": False,
        "workdir_seed": tmp_path,
        "packages": 0,
        "launched": False,
        "cuda": True,
        "share_gpus": False,
        "pretend_cuda": 0,
        "noise": False,
        "python": None,
    }


def test_modules_of_packages_run_as_python_m_runs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("lab/nets", "dist/lab/nets"):
        Path(folder).mkdir(parents=True)
        Path(folder, "train.py").touch()
    received = stand_in(monkeypatch, report(Status.PASSED))
    scripts = ("lab/nets/train.py", "dist/lab/nets/train.py")
    assert main(["verify", *scripts, "-m", "lab.nets.train"]) == 0
    assert received["packages"] == 2
    assert main(["verify", *scripts, "-m", "nets.train"]) == 0
    assert received["packages"] == 1
    assert main(["verify", *scripts, "-m", "lab.train"]) == 2
    assert "lab/nets/train.py is not the file of lab.train" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ("FileNotFoundError: data.csv", "--seed-dir . starts it in a copy of this one"),
        ("ModuleNotFoundError: No module named 'lab'", "--module PACKAGE.MODULE"),
    ],
)
def test_how_an_original_might_start_is_said(
    scripts: tuple[str, str],
    seen: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    ended = Check("exit status", Status.FAILED, f"rank 0: exit status 1: {seen}")
    stand_in(monkeypatch, AuditReport((RunReport("original", 0, (ended,)),)))
    assert main(["verify", *scripts]) == 1
    assert said in capfd.readouterr().err


def test_gpus_may_be_pretended(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    received = stand_in(monkeypatch, report(Status.PASSED))
    assert main(["verify", *scripts, "--pretend-cuda", "4", "--noise"]) == 0
    assert (received["pretend_cuda"], received["noise"]) == (4, True)
    assert main(["verify", *scripts, "--pretend-cuda", "4", "--cuda"]) == 2
    assert "exclude each other" in capfd.readouterr().err


def test_a_missing_framework_says_how_to_get_it(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, LaunchError("python cannot run the scripts: No module named 'torch'"))
    assert main(["verify", *scripts]) == 2
    assert "pip install 'disttranspile[verify]'" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["train.py"],
        ["train.py", "missing.py"],
        ["train.py", "train_dist.py", "--world-sizes", "0"],
        ["train.py", "train_dist.py", "--world-sizes", "two"],
        ["train.py", "train_dist.py", "--timeout", "0"],
    ],
)
def test_wrong_usage_is_status_2(
    scripts: tuple[str, str], words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *words]) == 2
    assert "Error: " in capfd.readouterr().err


@pytest.mark.slow
def test_a_script_that_does_not_join_fails_a_real_audit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "data = torch.utils.data.TensorDataset(torch.randn(8, 2))\n"
        "for (x,) in torch.utils.data.DataLoader(data, batch_size=4):\n"
        "    model(x).sum().backward()\n"
        "    optimizer.step()\n"
    )
    assert main(["verify", str(script), str(script), "--world-sizes", "2"]) == 1
    output = capfd.readouterr().out
    assert "2 processes" in output
    assert "failed: " in output


def test_the_report_is_given_as_json(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, report(Status.FAILED))
    assert main(["verify", *scripts, "--output-format", "json"]) == 1
    found = json.loads(capfd.readouterr()[0])
    assert found["passed"] is False
    (run,) = found["runs"]
    assert run["world_size"] == 2
    assert run["checks"] == [{"name": "exit status", "status": "failed", "detail": "seen"}]


def test_the_report_is_written_as_a_page(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    passes = (Iteration(0, 0, 0, 4, False, ((0, 1), (1, 0)), steps=2),)
    alone = RankEvidence(0, iterations=passes, losses=(4.0, 2.0), step_seconds=(1.0, 2.0))
    pair = tuple(
        RankEvidence(rank, losses=(4.0 + rank, None, 1.0 - rank), step_seconds=(0.5,))
        for rank in range(2)
    )
    judged = (
        RunReport("original", 0, (Check("exit status", Status.PASSED, "a <tag>"),)),
        RunReport("2 processes", 2, (Check("global batch", Status.FAILED, "rank 1"),)),
    )
    seen = (RunEvidence(0, (alone,)), RunEvidence(2, pair))
    stand_in(monkeypatch, AuditReport(judged, seen))
    assert main(["verify", *scripts, "--report", "out.html"]) == 1
    page = Path("out.html").read_text("utf-8")
    tree = ElementTree.fromstring(page.partition("\n")[2].replace('<meta charset="utf-8">', ""))
    cells = [[cell.text for cell in row] for row in tree.iter("tr")]
    assert ["passed", "exit status", "a <tag>"] in cells
    assert ["failed", "global batch", "rank 1"] in cells
    assert ["original", "0", "1", "2", "4", "2", "4"] in cells
    curves = [(line.get("points") or "").split() for line in tree.iter("polyline")]
    assert [len(curve) for curve in curves] == [2, 2]
    # Of two processes, both means over them: 4.5 first and 0.5 in the end, which is the lowest.
    first, last = (float(point.split(",")[1]) for point in curves[1])
    assert first < float(curves[0][0].split(",")[1]) < last
    assert len(list(tree.iter("line"))) == 4

    assert main(["verify", *scripts, "--report", "missing/out.html"]) == 2
    assert "missing/out.html: cannot be written" in capfd.readouterr()[1]


def test_another_interpreter_runs_the_scripts(
    scripts: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    received = stand_in(monkeypatch, report(Status.PASSED))
    assert main(["verify", *scripts, "--python", "/opt/python"]) == 0
    assert received["python"] == "/opt/python"
