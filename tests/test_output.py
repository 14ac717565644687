from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from transpile.output.files import read_existing
from transpile.output.together import write_atomically


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def mask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def test_a_new_file_gets_the_given_mode_less_the_mask(tmp_path: Path, mask: int) -> None:
    write_atomically(str(tmp_path / "new.py"), b"x = 1\n", new_mode=0o775)
    assert (tmp_path / "new.py").read_bytes() == b"x = 1\n"
    assert mode_of(tmp_path / "new.py") == 0o775 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o666, 0o777])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old.py"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(str(path), b"new", new_mode=0o640)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "real.py"
    target.write_bytes(b"old")
    (tmp_path / "link.py").symlink_to("elsewhere/real.py")
    write_atomically(str(tmp_path / "link.py"), b"new")
    assert (tmp_path / "link.py").is_symlink()
    assert target.read_bytes() == b"new"


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("real.py")
    write_atomically(str(tmp_path / "link.py"), b"new")
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_bytes() == b"new"


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(str(tmp_path / "loop.py"), b"new")


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(str(tmp_path), b"new")


def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.py"
    path.write_bytes(b"old")

    def fail(source: str, target: str) -> None:
        assert Path(source).read_bytes() == b"new"
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["old.py"]


def test_a_write_protected_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.py"
    path.write_bytes(b"old")
    # An administrator may write everything; so ask for what others are told.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError):
        write_atomically(str(path), b"new")
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "missing" / "new.py"), b"new")


def test_the_longest_file_name_is_written(tmp_path: Path) -> None:
    name = "n" * 252 + ".py"
    write_atomically(str(tmp_path / name), b"new")
    assert os.listdir(tmp_path) == [name]


def test_a_name_that_is_no_text_is_written(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")
    write_atomically(path, b"new")
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff.py"]


def test_a_device_is_written_to_and_stays() -> None:
    write_atomically(os.devnull, b"new")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    write_atomically(str(path), b"new")
    reader.join(10)
    assert received == [b"new"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_what_exists_is_read(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_bytes(b"old")
    assert read_existing(str(tmp_path / "old.py")) == b"old"
    assert read_existing(str(tmp_path / "missing.py")) is None
    assert read_existing(str(tmp_path)) is None
    assert read_existing(os.devnull) is None
