"""The command around the audit; what the audit judges is tested with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transpile import verify
from transpile.cli import main
from transpile.verify import AuditReport, Check, LaunchError, RunReport, Status


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
    words += f" --single-precision --seed-dir {tmp_path} -- --epochs 2"
    assert main(["verify", *scripts, *words.split()]) == 0
    assert received == {
        "original": Path("train.py"),
        "converted": Path("train_dist.py"),
        "world_sizes": (1, 3),
        "arguments": ("--epochs", "2"),
        "timeout_seconds": 7.0,
        "batch_size": "per-device",
        "tolerance": 1e-5,
        "printed_numbers": True,
        "double": False,
        "workdir_seed": tmp_path,
        "cuda": True,
        "pretend_cuda": 0,
        "noise": False,
    }


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
