"""Which Paddle a Fluid script's project asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = Path(__file__).parents[2] / "fixtures" / "fluid" / "linear_regression" / "train.py"


def beside(folder: Path, name: str, text: str) -> Result:
    """The conversion of a script with a file beside it."""
    (folder / name).write_text(text, "utf-8")
    (folder / "train.py").write_bytes(SCRIPT.read_bytes())
    return convert(SCRIPT.read_bytes(), path=str(folder / "train.py"))


WITHOUT = [
    ("requirements.txt", "numpy\npaddlepaddle==2.5.1\n"),
    ("requirements.txt", "paddlepaddle-gpu>=2.5\n"),
    ("requirements-gpu.txt", "paddlepaddle_gpu == 3.0.0  # the newest\n"),
    ("requirements.txt", "paddlepaddle~=2.6\n"),
    ("requirements.txt", "paddlepaddle==3.*\n"),
    ("pyproject.toml", '[project]\ndependencies = [\n  "paddlepaddle>=3,<4",\n]\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\npaddlepaddle = "^2.6"\n'),
    ("environment.yml", "dependencies:\n  - paddlepaddle=2.6\n"),
]


@pytest.mark.parametrize(("name", "text"), WITHOUT)
def test_versions_without_fluid_are_refused(name: str, text: str, tmp_path: Path) -> None:
    result = beside(tmp_path, name, text)
    assert result.outcome is Outcome.REFUSED
    errors = [f for f in result.findings if f.level.label == "error"]
    assert [f.code for f in errors] == ["FL106"]
    assert name in errors[0].message and "no Fluid" in errors[0].message


WITH = [
    ("requirements.txt", "paddlepaddle==1.8.5\n"),
    ("requirements.txt", "paddlepaddle\n"),
    ("requirements.txt", "paddlepaddle>=1.6\n"),
    ("requirements.txt", "paddlepaddle<2.5\n"),
    ("requirements.txt", "paddlepaddle!=2.5\n"),
    ("requirements.txt", "paddlepaddle==2.*\n"),
    ("requirements.txt", "paddlepaddle-gpu==1.8.5.post107\n"),
    ("requirements.txt", "paddlehub==2.5.0\npaddle-serving-client==3.0\n"),
    ("notes.txt", "paddlepaddle==3.0\n"),
]


@pytest.mark.parametrize(("name", "text"), WITH)
def test_versions_that_may_have_fluid_are_converted(name: str, text: str, tmp_path: Path) -> None:
    assert beside(tmp_path, name, text).outcome is Outcome.CONVERTED
