"""The command ``disttranspile audit``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import FIXTURES

from transpile.cli import main

AUDIT = FIXTURES / "audit"


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["audit", *words])
    return status, capfd.readouterr().out


@pytest.mark.parametrize(
    ("script", "status"),
    [
        (AUDIT / "crossed_collectives" / "right.py", 0),
        (FIXTURES / "pytorch" / "main_sgd" / "train.py", 0),
        (AUDIT / "part_of_the_numbers" / "wrong.py", 1),
        (AUDIT / "crossed_collectives" / "wrong.py", 3),
        (AUDIT / "nothing_there.py", 2),
    ],
)
def test_the_status_is_that_of_the_gravest_finding(
    capfd: pytest.CaptureFixture[str], script: Path, status: int
) -> None:
    assert run(capfd, str(script))[0] == status


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("text", "wrong.py:16:9: AU105 "),
        ("json", '"AU105"'),
        ("sarif", '"ruleId": "AU105"'),
        ("github", "::error"),
        ("markdown", "| AU105<br>"),
    ],
)
def test_every_format_tells(capfd: pytest.CaptureFixture[str], form: str, word: str) -> None:
    status, output = run(capfd, str(AUDIT / "crossed_collectives" / "wrong.py"), "--format", form)
    assert status == 3
    assert word in output


def test_a_folder_is_searched_for_distributed_scripts(capfd: pytest.CaptureFixture[str]) -> None:
    folder = str(AUDIT / "crossed_collectives")
    plain = str(FIXTURES / "pytorch" / "main_sgd")
    status, output = run(capfd, folder, plain, "--format", "json")
    assert status == 3
    files = {Path(file["path"]).name: file["findings"] for file in json.loads(output)["files"]}
    assert [f["code"] for f in files["wrong.py"]] == ["AU105"]
    assert files["right.py"] == []
    assert "train.py" not in files


def test_a_module_of_two_scripts_is_reported_once(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "common.py").write_text(
        "import torch.distributed as dist\n\n\ndef meet():\n"
        "    if dist.get_rank() == 0:\n        dist.barrier()\n"
    )
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(
            "import torch.distributed as dist\nfrom common import meet\n\n"
            "dist.init_process_group('gloo')\nmeet()\n"
        )
    status, output = run(capfd, str(tmp_path))
    assert status == 3
    assert output.count("AU101") == 1


def test_codes_of_the_audit_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AU101"]) == 0
    assert "From the check meet-together" in capfd.readouterr().out


def test_a_script_that_cannot_be_parsed_is_bad_input(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import torch\nif:\n")
    assert run(capfd, str(tmp_path / "broken.py"))[0] == 2
