"""``--compression``: gradients travel compressed, on several processes alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_way import convert
from small_scripts import script

from transpile import Options
from transpile.cli import main
from transpile.verify import Auditor
from transpile.verify.table import format_report

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/pytorch/compressed_gradients/train.py"
SCRIPT = FIXTURE.parents[1] / "gradient_accumulation/train.py"
MIXED = """\
scaler = torch.amp.GradScaler()
"""


def output(source: str, compression: Any) -> str:
    """The converted script."""
    return convert(source, Options(compression=compression)).text


@pytest.mark.parametrize(
    ("compression", "hook"),
    [
        ("fp16", "default_hooks.fp16_compress_hook"),
        ("bf16", "default_hooks.bf16_compress_hook"),
        ("powersgd", "powerSGD_hook.powerSGD_hook"),
    ],
)
def test_every_wrapped_model_gets_the_hook(compression: Any, hook: str) -> None:
    text = output(FIXTURE.read_text(), compression)
    assert text.count(hook) == text.count("register_comm_hook(") == 2
    for name in ("encoder", "decoder"):
        assert f"{name}.register_comm_hook(" in text
    # Behind the wrap, in the branch of several processes.
    branch = text.split("if get_world_size() > 1:\n        encoder = Dist")[1]
    assert "encoder.register_comm_hook" in branch.split("\n    if ")[0]


def test_without_it_nothing_is_registered() -> None:
    text = output(FIXTURE.read_text(), "none")
    assert "register_comm_hook" not in text
    assert "ddp_comm_hooks" not in text


def test_a_scaled_loss_may_overflow_in_fp16_alone() -> None:
    source = script(start=MIXED)

    def codes(compression: Any) -> list[str]:
        found = convert(source, Options(compression=compression)).findings
        return [each.code for each in found if each.code.startswith("PT33")]

    assert sorted(codes("fp16")) == ["PT331", "PT332"]
    assert codes("bf16") == ["PT331"]
    assert codes("none") == []


@pytest.mark.parametrize(("framework", "value"), [("pytorch", "2bit"), ("mxnet", "fp16")])
def test_a_way_of_another_framework_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], framework: str, value: str
) -> None:
    words = [str(FIXTURE), "--framework", framework, "--compression", value]
    assert main(words) == 2
    assert f"--compression {value} does not fit {framework}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("compression", "tolerance"), [("fp16", 2e-3), ("bf16", 1e-5), ("powersgd", 1e-5)]
)
def test_training_stays_near_that_of_one_process(
    auditor: Auditor, tmp_path: Path, compression: Any, tolerance: float
) -> None:
    """Over Gloo gradients travel as they are with bf16 and PowerSGD."""
    converted = tmp_path / "train_dist.py"
    converted.write_text(output(FIXTURE.read_text(), compression))
    report = auditor.audit(FIXTURE, converted, world_sizes=(1, 2), tolerance=tolerance)
    assert report.passed, format_report(report)


def test_compressed_gradients_are_no_longer_exact(auditor: Auditor, tmp_path: Path) -> None:
    converted = tmp_path / "train_dist.py"
    converted.write_text(output(FIXTURE.read_text(), "fp16"))
    report = auditor.audit(FIXTURE, converted, world_sizes=(2,), tolerance=1e-7)
    assert not report.passed


def test_processes_agree_once_powersgd_has_begun(auditor: Auditor, tmp_path: Path) -> None:
    """Run over Gloo, which is safe for one small model: one round after the other."""
    text = output(SCRIPT.read_text(), "powersgd")
    assert "if next(model.parameters()).is_cuda:\n            model.register_comm_hook" in text
    text = text.replace(
        "next(model.parameters()).is_cuda:\n            model.reg", "True:\n            model.reg"
    )
    text = text.replace("start_powerSGD_iter=1000", "start_powerSGD_iter=3")
    converted = tmp_path / "train_dist.py"
    converted.write_text(text)
    report = auditor.audit(SCRIPT, converted, world_sizes=(2,), tolerance=None)
    assert report.passed, format_report(report)
    exact = auditor.audit(SCRIPT, converted, world_sizes=(2,), tolerance=1e-4)
    assert not exact.passed
