"""Which MXNet a script's project asks for, and what a converted script says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from mxnet_scripts import GLUON, STEP

from transpile import Outcome, Result

SCRIPT = (GLUON + STEP).encode()


def beside(folder: Path, name: str, text: str) -> Result:
    """The conversion of a script with a file beside it."""
    (folder / name).write_text(text, "utf-8")
    (folder / "train.py").write_bytes(SCRIPT)
    return convert(SCRIPT, path=str(folder / "train.py"))


OLD = [
    ("requirements.txt", "numpy\nmxnet==1.1.0\n"),
    ("requirements.txt", "mxnet-cu80 == 0.11.0  # the newest\n"),
    ("requirements-gpu.txt", "mxnet<1.2\n"),
    ("requirements.txt", "mxnet-cu90mkl>=1.0,<=1.2.0\n"),
    ("requirements.txt", "mxnet==1.*\nmxnet~=1.1.0\n"),
    ("pyproject.toml", '[project]\ndependencies = [\n  "mxnet==1.2.0",\n]\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\nmxnet = "^0.12"\n'),
    ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    mxnet <1.2.1\n"),
    ("environment.yml", "dependencies:\n  - mxnet=1.1\n"),
    ("environment.yaml", "dependencies:\n  - pip:\n    - mxnet==1.0.0.post4\n"),
]


@pytest.mark.parametrize(("name", "text"), OLD)
def test_versions_that_cannot_share_a_store_are_refused(
    name: str, text: str, tmp_path: Path
) -> None:
    result = beside(tmp_path, name, text)
    assert result.outcome is Outcome.REFUSED
    errors = [f for f in result.findings if f.level.label == "error"]
    assert [f.code for f in errors] == ["MX110"]
    assert name in errors[0].message and "mxnet>=1.2.1" in errors[0].advice


NEW = [
    ("requirements.txt", "mxnet==1.9.1\n"),
    ("requirements.txt", "mxnet\n"),
    ("requirements.txt", "mxnet-cu92>=1.0\n"),
    ("requirements.txt", "mxnet>=1.1,<2\n"),
    ("requirements.txt", "mxnet==1.*; python_version < '3.9'\n"),
    ("pyproject.toml", '[tool.poetry.dependencies]\nmxnet = "^1.1"\n'),
    ("environment.yml", "dependencies:\n  - mxnet=1.5.0\n"),
    ("pyproject.toml", '[tool.poetry.dependencies]\nmxnet = "1.5.0"\n'),
]


@pytest.mark.parametrize(("name", "text"), NEW)
def test_versions_that_can_are_noted(name: str, text: str, tmp_path: Path) -> None:
    result = beside(tmp_path, name, text)
    assert result.outcome is Outcome.CONVERTED
    notes = [f.message for f in result.findings if f.code == "MX110"]
    assert len(notes) == 1 and "can share a store" in notes[0]


def test_a_package_that_somebody_built_is_left_to_the_start(tmp_path: Path) -> None:
    built = "git+https://github.com/apache/mxnet.git\nhttps://x.org/mxnet-1.0.0-py3-none-any.whl\n"
    result = beside(tmp_path, "requirements.txt", built)
    notes = [f.message for f in result.findings if f.code == "MX110"]
    assert len(notes) == 2 and all("when it is started" in note for note in notes)


@pytest.mark.parametrize("line", ["mxnet-model-server==1.0", "gluoncv==0.3", "mxnet_tools<1"])
def test_other_packages_are_none_of_it(line: str, tmp_path: Path) -> None:
    assert not beside(tmp_path, "requirements.txt", f"{line}\n").findings
