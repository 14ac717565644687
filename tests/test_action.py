"""The GitHub Action: its steps, run by bash as a runner would run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
WRONG = ROOT / "fixtures" / "audit" / "crossed_collectives" / "wrong.py"
WARNED = ROOT / "fixtures" / "audit" / "done_by_all" / "wrong.py"
TRAINING = ROOT / "fixtures" / "pytorch" / "main_sgd" / "train.py"
Runner = Callable[..., dict[str, Any]]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A function that runs the steps in a repository, and returns what they left."""
    repository = tmp_path / "repository"
    repository.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "disttranspile"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m transpile "$@"\n')
    program.chmod(0o755)
    monkeypatch.chdir(repository)
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@test.example")
    git("init", "-q")
    Path("kept.py").write_bytes(WRONG.read_bytes())
    git("add", "-A")
    git("commit", "-qm", "Base")

    def run(**inputs: str) -> dict[str, Any]:
        chosen = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        chosen |= {name.replace("_", "-"): text for name, text in inputs.items()}
        left = {name: tmp_path / name for name in ("output", "summary")}
        for path in left.values():
            path.write_text("")
        outputs: dict[str, str] = {}
        shown, failed = "", ""
        for step in ACTION["runs"]["steps"]:
            if "run" not in step or step["name"] == "Install":
                continue
            environment = {
                **os.environ,
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "GITHUB_OUTPUT": str(left["output"]),
                "GITHUB_STEP_SUMMARY": str(left["summary"]),
            }
            for name, text in step.get("env", {}).items():
                environment[name] = filled(text, chosen, outputs, tmp_path)
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            shown += done.stdout
            if done.returncode:
                failed = f"{step['name']}: {done.stderr}"
                break
            outputs |= dict(line.split("=", 1) for line in left["output"].read_text().splitlines())
        return {
            "failed": failed,
            "shown": shown,
            "summary": left["summary"].read_text(),
            "sarif": Path("disttranspile.sarif"),
            **outputs,
        }

    return run


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def filled(text: str, inputs: dict[str, str], outputs: dict[str, str], temporary: Path) -> str:
    """A setting with the expressions in it that the steps use."""
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {
        "steps.audit.outputs.status": outputs.get("status", ""),
        "runner.temp": str(temporary),
    }
    values["github.action_path"] = str(ROOT)
    for name, value in values.items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    if text.startswith("${{ inputs.base ||"):
        text = inputs["base"] or git("rev-parse", "HEAD")
    assert "${{" not in text
    return text


def test_every_input_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, one in ACTION["inputs"].items():
        assert one["description"]
        assert f"inputs.{name}" in text
    for step in ACTION["runs"]["steps"]:
        # What a pull request names never becomes part of a program.
        assert "${{" not in step.get("run", "")


def test_the_scripts_are_checked_by_shellcheck(tmp_path: Path) -> None:
    program = shutil.which("shellcheck") or str(Path(sys.executable).parent / "shellcheck")
    for step in ACTION["runs"]["steps"]:
        if "run" in step:
            path = tmp_path / "step.sh"
            path.write_text(f"#!/bin/bash\n{step['run']}")
            done = subprocess.run([program, path], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout


def test_changed_scripts_are_audited(runner: Runner) -> None:
    Path("new file.py").write_bytes(WRONG.read_bytes())
    Path("train.py").write_bytes(TRAINING.read_bytes())
    Path("words.txt").write_text("train")
    git("add", "-A")
    run = runner()
    assert run["failed"].startswith("Judge")
    assert run["status"] == "3"
    assert "::error file=new file.py,line=16" in run["shown"]
    assert "kept.py" not in run["shown"]
    (log,) = json.loads(run["sarif"].read_text())["runs"]
    assert {result["ruleId"] for result in log["results"]} == {"AU105", "AU001"}
    assert "### train\\.py: converted" in run["summary"]
    assert "#### What was decided" in run["summary"]


def test_what_fails_can_be_chosen(runner: Runner) -> None:
    Path("w.py").write_bytes(WARNED.read_bytes())
    git("add", "-A")
    assert runner()["failed"] == ""
    assert runner(fail_on="warning")["failed"].startswith("Judge")
    assert runner(fail_on="never", files="kept.py\nw.py\n")["failed"] == ""
    assert runner(files="kept.py")["failed"].startswith("Judge")
    assert runner(files="kept.py", audit_options="--ignore\nAU105")["failed"] == ""


def test_nothing_changed(runner: Runner) -> None:
    run = runner()
    assert (run["failed"], run["status"]) == ("", "0")
    assert "No script has changed." in run["summary"]
    assert not run["sarif"].exists()
