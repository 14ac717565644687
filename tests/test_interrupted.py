"""Runs that are killed while they write: the next one makes up for them."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from transpile import catalog
from transpile.cli import main
from transpile.output.lock import JournalError, create
from transpile.output.recovery import is_mixed, recover
from transpile.output.together import NewContent, write_together
from transpile.output.traces import JOURNAL, journals_around

OLD = {"train.py": b"old entry\n", "lib/model.py": b"old model\n", "lib/data.py": b"old data\n"}
NEW = {
    "distributed_utils.py": b"helpers\n",
    "made/for/this.sh": b"#!/bin/sh\n",
    "lib/data.py": b"new data\n",
    "lib/model.py": b"new model\n",
    "train.py": b"new entry\n",
}
SYSTEM_CALLS = ("open", "replace", "unlink", "mkdir", "rmdir", "chmod", "fsync", "close", "stat")


def make(folder: Path) -> None:
    for name, data in OLD.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def write(folder: Path) -> None:
    write_together([NewContent(str(folder / name), data) for name, data in NEW.items()])


def in_child(act: Callable[[], None], delay: float | None = None) -> bool:
    """Do something in another process, which may be killed; whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def dying_at(count: int, act: Callable[[], None]) -> Callable[[], None]:
    """Something that kills its process before the so-many-th of its calls of the system."""

    def run() -> None:
        made = 0

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def called(*args: object, **keywords: object) -> object:
                nonlocal made
                made += 1
                if made == count:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **keywords)

            return called

        for name in SYSTEM_CALLS:
            setattr(os, name, counted(getattr(os, name)))
        act()

    return run


def test_a_run_that_is_killed_at_any_step_is_undone(tmp_path: Path) -> None:
    mixed = 0
    for count in range(1, 1000):
        folder = tmp_path / str(count)
        folder.mkdir()
        make(folder)
        ended = in_child(dying_at(count, lambda folder=folder: write(folder)))  # type: ignore[misc]
        left = files(folder)
        for journal in journals_around([str(folder / "train.py")]):
            mixed += is_mixed(journal)
            assert files(folder) == left
            recover(journal)
        assert files(folder) in (OLD, NEW)
        if files(folder) == OLD:
            assert not (folder / "made").exists()
        if ended:
            break
    assert files(folder) == NEW
    assert mixed == len(NEW) - 1


def test_a_recovery_that_is_killed_is_taken_up_again(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Path]:
        for count in range(1, 1000):
            folder = tmp_path / str(count)
            folder.mkdir()
            make(folder)
            journal = folder / JOURNAL
            if in_child(dying_at(count, lambda folder=folder: write(folder))):  # type: ignore[misc]
                return
            if journal.exists() and is_mixed(str(journal)):
                yield journal

    tried = 0
    for journal in interrupted():
        tried += 1
        step = tried % 7 + 3

        def again(path: str = str(journal)) -> None:
            recover(path)

        while not in_child(dying_at(step, again)):
            step += 3
        assert files(journal.parent) == OLD
    assert tried


def test_writing_begins_with_what_another_run_has_left(tmp_path: Path) -> None:
    make(tmp_path)
    for count in range(40, 1000):
        if in_child(dying_at(count, lambda: write(tmp_path))):
            break
    assert files(tmp_path) == NEW


def test_what_a_user_has_changed_since_is_left_alone(tmp_path: Path) -> None:
    journal = killed_between(tmp_path)
    (tmp_path / "train.py").write_bytes(b"mine\n")
    before = files(tmp_path)
    with pytest.raises(JournalError, match=r"train\.py changed"):
        recover(str(journal))
    assert files(tmp_path) == before


def test_what_a_user_has_put_back_stays(tmp_path: Path) -> None:
    journal = killed_between(tmp_path)
    for name in NEW:
        (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path)
    (tmp_path / "train.py").write_bytes(b"mine\n")
    assert not is_mixed(str(journal))
    assert recover(str(journal)) == []
    assert files(tmp_path) == {**OLD, "train.py": b"mine\n"}


def killed_between(folder: Path) -> Path:
    """The journal of a run that was killed between its files."""
    make(folder)
    for count in range(1, 1000):
        in_child(dying_at(count, lambda: write(folder)))
        journal = folder / JOURNAL
        if journal.exists() and is_mixed(str(journal)):
            return journal
    raise AssertionError


@pytest.mark.parametrize(
    "text",
    [
        b"not a journal\n",
        b"{'version': 2, 'entries': [], 'folders': []}\n",
        b"{'version': 1, 'entries': [{'target': '../out', 'temporary': 'x', 'before': None, "
        b"'after': b''}], 'folders': []}\n",
        b"{'version': 1, 'entries': [{'target': 'link/out', 'temporary': 'x', 'before': b'', "
        b"'after': b'theirs'}], 'folders': []}\n",
        b"{'version': 1, 'entries': [{'target': '/etc/x', 'temporary': 'x', 'before': b'', "
        b"'after': b''}], 'folders': []}\n",
        b"{'version': 1, 'entries': [{'target': 'x', 'temporary': 'x', 'before': 10, "
        b"'after': 999999999999}], 'folders': []}\n",
    ],
)
def test_a_journal_that_somebody_has_made_up_writes_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "out").write_bytes(b"theirs")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "link").symlink_to("..")
    (folder / JOURNAL).write_bytes(text)
    before = files(tmp_path)
    with pytest.raises(JournalError, match="not a journal"):
        recover(str(folder / JOURNAL))
    assert files(tmp_path) == before


def test_a_run_waits_for_one_that_is_under_way(tmp_path: Path) -> None:
    make(tmp_path)
    lock = create(str(tmp_path / JOURNAL))
    assert lock is not None
    child = os.fork()
    if child == 0:
        os.close(lock.descriptor)
        write(tmp_path)
        os._exit(0)
    time.sleep(0.2)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    lock.remove()
    assert os.waitpid(child, 0)[1] == 0
    assert files(tmp_path) == NEW


MODEL = "import torch\n\n\ndef make():\n    return torch.nn.Linear(3, 1)\n"
LOOP = """\
import torch
from torch.utils.data import DataLoader


def fit(model, data, optimizer):
    loader = DataLoader(data, batch_size=8, shuffle=True)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, loss.item())
        torch.save(model.state_dict(), "model.pt")
"""
TRAIN = """\
import torch
from torch.utils.data import TensorDataset

from loop import fit
from model import make

torch.manual_seed(0)
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
fit(model, TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), optimizer)
torch.save(model.state_dict(), "last.pt")
"""


def project(folder: Path) -> Path:
    folder.mkdir()
    for name, text in (("model.py", MODEL), ("loop.py", LOOP), ("train.py", TRAIN)):
        (folder / name).write_text(text)
    return folder


def convert(folder: Path) -> None:
    sys.stderr = sys.stdout = io.StringIO()
    os._exit(0 if main(["--in-place", str(folder / "train.py")]) < 2 else 1)


def test_a_killed_conversion_is_done_by_the_next(tmp_path: Path) -> None:
    # What the parent has imported costs the children nothing.
    catalog.rules("pytorch")
    old = files(project(tmp_path / "old"))
    whole = project(tmp_path / "whole")
    assert in_child(lambda: convert(whole))
    new = files(whole)
    assert len(new) == len(old) + 1 and all(new[name] != old[name] for name in ("loop.py",))
    from transpile.output import together

    wait = random.Random(0)
    for number in range(8):
        folder = project(tmp_path / str(number))
        step = wait.randint(1, 60)

        def dying(folder: Path = folder, step: int = step) -> None:
            begin = together.write_together

            def begun(contents: list[NewContent]) -> None:
                dying_at(step, lambda: begin(contents))()

            together.write_together = begun  # type: ignore[assignment]
            convert(folder)

        in_child(dying)
        assert in_child(lambda folder=folder: convert(folder))  # type: ignore[misc]
        assert files(folder) == new


def test_a_mixture_is_named_by_runs_that_do_not_write_it(tmp_path: Path) -> None:
    killed_between(tmp_path)
    before = files(tmp_path)
    command = [sys.executable, "-m", "transpile", "--check", "train.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "DT905 an earlier run was killed while it wrote" in run.stderr
    assert files(tmp_path) == before
