"""The command line makes every manifest, and makes it again from what its head says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import pods
from test_command import made_by
from test_manifests import MANIFESTS
from validation import check_core

from transpile.cli import main
from transpile.launch import targets

HOSTILE = "it's $(here); a: b\n- \u2028é"


@pytest.fixture
def launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., bytes]:
    """The command, in a folder with a script."""
    monkeypatch.chdir(tmp_path)
    Path("train dist.py").write_text("print()\n")

    def run(*words: str) -> bytes:
        status = main(words)
        output, errors = capfdbinary.readouterr()
        assert status in (0, 1), errors
        return output

    return run


@pytest.mark.parametrize("target", MANIFESTS)
def test_the_head_makes_the_file_again(target: str, launch: Callable[..., bytes]) -> None:
    framework = sorted(targets()[target].frameworks)[0]
    launch(
        *("launch", "train dist.py", "--target", target, "--framework", framework),
        *("--nodes", "2", "--gpus-per-node", "4", "--cpus", "12", "--memory", "120G"),
        *("--env", f"MINE={HOSTILE}", "--name", HOSTILE, "--volume", "data:/data:ro"),
        *("--namespace", "team-a", "--shm", "16Gi", "--time", "12:00:00", "--workdir", "/it's"),
        *("--", "--tag", HOSTILE),
    )
    path = Path(f"train dist.{target}.yaml")
    data = path.read_bytes()
    assert path.stat().st_mode & 0o111 == 0
    check_core(data.decode())
    path.unlink()
    launch(*made_by(data))
    assert path.read_bytes() == data
    assert set(os.listdir()) == {"train dist.py", path.name}
    started = [pod for pod in pods(data.decode()) if pod.words]
    assert started
    for pod in started:
        assert pod.words[-3:] == ["train dist.py", "--tag", HOSTILE]
        assert pod.environment["MINE"] == HOSTILE
