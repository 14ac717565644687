"""What is said of scripts is kept until something changes that it was made of."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_runs import Command

from transpile import asking, catalog
from transpile.cli import kept as module
from transpile.cli import kept_results
from transpile.cli.kept import Kept, usual_folder

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from nets import make

loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
"""
NETS = "from torch import nn\n\n\ndef make():\n    return nn.Linear(4, 1)\n"
HANGS = ROOT / "fixtures/audit/crossed_collectives/wrong.py"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is converted or audited anew."""
    from transpile.cli import notebooks

    done: list[str] = []

    def watched(name: str) -> Callable[..., object]:
        usual: Callable[..., object] = getattr(notebooks, name)

        def watch(script: Any, *others: object) -> object:
            done.append(script.path)
            return usual(script, *others)

        return watch

    for name in ("convert_input", "audit_input"):
        monkeypatch.setattr(notebooks, name, watched(name))
    return done


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("DISTTRANSPILE_NO_CACHE")
    monkeypatch.setenv("DISTTRANSPILE_CACHE_DIR", str(tmp_path / "kept"))
    yield tmp_path / "kept"


@pytest.fixture
def project(command: Command) -> None:
    Path("train.py").write_text(SCRIPT)
    Path("nets.py").write_text(NETS)


@pytest.mark.usefixtures("project")
class TestConversions:
    def test_an_unchanged_script_is_not_converted_again(
        self, command: Command, work: list[str]
    ) -> None:
        first = command("train.py", "--check")
        assert (first.status, work) == (1, ["train.py"])
        for form in ("text", "json", "markdown", "sarif"):
            fresh = command("train.py", "--check", "--no-cache", "--output-format", form)
            work.clear()
            assert command("train.py", "--check", "--output-format", form) == fresh
            assert work == []

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("train.py", SCRIPT + "# Later.\n"),
            ("nets.py", NETS.replace("Linear(4, 1)", "Sequential(nn.Linear(4, 1))")),
            ("nets.py", None),
            ("nets/__init__.py", NETS),
            ("torch.py", "print('not the library')\n"),
        ],
    )
    def test_what_it_read_and_what_was_not_there_count(
        self, command: Command, work: list[str], name: str, text: str | None
    ) -> None:
        command("train.py", "--check")
        command("train.py", "--check")
        assert work == ["train.py"]
        if text is None:
            Path(name).unlink()
        else:
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        changed = command("train.py", "--check")
        assert work == ["train.py"] * 2
        assert changed == command("train.py", "--check", "--no-cache")

    def test_what_it_did_not_look_for_does_not(self, command: Command, work: list[str]) -> None:
        command("train.py", "--check")
        Path("notes.txt").write_text("nothing\n")
        Path("train.py").touch()
        command("train.py", "--check")
        assert work == ["train.py"]

    def test_options_and_configuration_count(self, command: Command, work: list[str]) -> None:
        command("train.py", "--check")
        command("train.py", "--check", "--shard", "calls")
        Path("disttranspile.toml").write_text('batch-size = "per-device"\n')
        command("train.py", "--check")
        assert work == ["train.py"] * 3

    def test_another_version_of_the_tool_asks_again(
        self, command: Command, work: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command("train.py", "--check")
        monkeypatch.setattr(module, "_tool", lambda: ("another",))
        command("train.py", "--check")
        assert work == ["train.py"] * 2

    def test_the_output_beside_is_looked_at_each_time(
        self, command: Command, work: list[str]
    ) -> None:
        Path("train.py").write_text(SCRIPT.replace("from nets import make\n", NETS))
        assert command("train.py", "--check").status == 1
        assert command("train.py", "-o", "train_dist.py").status == 0
        work.clear()
        assert command("train.py", "--check").status == 0
        assert work == []
        Path("train_dist.py").write_text(Path("train_dist.py").read_text() + "# By hand.\n")
        for _ in range(2):
            assert "is distributed, but is not what" in command("train.py", "--check").errors
        assert work == ["train_dist.py"]
        Path("train_dist.py").write_text("")
        assert command("train.py", "--check").status == 1

    def test_what_is_written_is_always_made_anew(self, command: Command, work: list[str]) -> None:
        command("train.py", "--check")
        command("train.py", "--diff")
        command("train.py", "-o", "out/")
        assert work == ["train.py"] * 3

    @pytest.mark.parametrize("spoil", ["cut", "changed", "empty", "folder", "other"])
    def test_a_damaged_entry_is_none(
        self, command: Command, work: list[str], cache: Path, spoil: str
    ) -> None:
        fresh = command("train.py", "--check")
        (entry,) = cache.glob("*.entry")
        data = entry.read_bytes()
        if spoil == "folder":
            entry.unlink()
            entry.mkdir()
        else:
            payload = b"\x93\xa0\x90\x90"
            told = asking.digest(payload).encode()
            spoiled = {
                "cut": data[:-9],
                "changed": data.replace(b"train", b"trail"),
                "empty": b"",
                "other": told + payload,
            }
            entry.write_bytes(spoiled[spoil])
        assert command("train.py", "--check") == fresh
        assert work == ["train.py"] * 2

    def test_folders_and_several_cores(self, command: Command, cache: Path) -> None:
        for number in range(9):
            Path(f"job{number}").mkdir()
            Path(f"job{number}/train.py").write_text(SCRIPT)
            Path(f"job{number}/nets.py").write_text(NETS)
        fresh = command("--check", ".", "-j", "2")
        assert len(list(cache.glob("*.entry"))) == 20
        assert not list(cache.glob("*.new"))
        assert command("--check", ".", "-j", "2") == fresh

    def test_the_configuration_may_name_the_folder(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("DISTTRANSPILE_CACHE_DIR")
        monkeypatch.setattr(module, "usual_folder", lambda: str(tmp_path / "usual"))
        command("train.py", "--check")
        assert list((tmp_path / "usual").glob("*.entry"))
        Path("disttranspile.toml").write_text('cache-dir = "own"\n')
        command("train.py", "--check")
        assert list(Path("own").glob("*.entry"))
        assert Path("own/.gitignore").read_text() == "*\n"

    def test_a_folder_that_cannot_be_written_to_is_no_matter(
        self, command: Command, cache: Path
    ) -> None:
        cache.write_text("in the way")
        # Click names a file that is given for a folder; one that a configuration names is left.
        assert command("train.py", "--check").status == 2
        Path("disttranspile.toml").write_text(f'cache-dir = "{cache / "below"}"\n')
        del os.environ["DISTTRANSPILE_CACHE_DIR"]
        assert command("train.py", "--check").status == 1


def test_audits_are_kept(command: Command, work: list[str]) -> None:
    shutil.copy(HANGS, "hangs.py")
    first = command("audit", "hangs.py")
    assert first.status == 3
    assert command("audit", "hangs.py") == first
    assert work == ["hangs.py"]
    assert command("audit", "hangs.py", "--no-cache") == first
    Path("hangs.py").write_text(HANGS.read_text() + "\n")
    assert command("audit", "hangs.py") == first
    assert work == ["hangs.py"] * 3


def test_little_is_kept_and_not_for_ever(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(str(cache))
    for name in "abcd":
        kept.put((name,), b"", {}, [name * 1000])
    entries = {name: kept._path((name,)) for name in "abcd"}
    now = os.stat(entries["a"]).st_mtime
    os.utime(entries["a"], (now, now - 31 * 24 * 60 * 60))
    for age, name in enumerate("bcd"):
        os.utime(entries[name], (now, now - 60 * age))
    monkeypatch.setattr(module, "MOST_BYTES", 2500)
    (cache / "half.new").write_text("written by a killed run")
    os.utime(cache / "half.new", (now, now - 2 * 24 * 60 * 60))
    kept.tidy()
    assert [os.path.exists(entries[name]) for name in "abcd"] == [False, True, True, False]
    assert not (cache / "half.new").exists()
    assert kept.get(("b",), b"", list[str]) == ["b" * 1000]


def test_the_usual_folder_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert usual_folder() == "/var/caches/disttranspile"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert usual_folder() == "/home/me/.cache/disttranspile"
    monkeypatch.setattr("sys.platform", "darwin")
    assert usual_folder() == "/home/me/Library/Caches/disttranspile"


@pytest.mark.parametrize("framework", catalog.frameworks())
def test_the_text_of_a_table_tells_its_packages(framework: str) -> None:
    assert catalog._PACKAGES.search((ROOT / "rules" / framework / "__init__.py").read_text())
    assert catalog.packages(framework) == catalog.table(framework).packages


def test_an_answer_asked_again_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to("file.py")
    (tmp_path / "below").mkdir()
    with asking.noted() as notes:
        for name in ("file.py", "link.py", "missing.py", "below"):
            asking.is_file(tmp_path / name)
            asking.is_folder(tmp_path / name)
            asking.exists(tmp_path / name)
            asking.real(tmp_path / name)
        asking.size(tmp_path / "file.py")
        with pytest.raises(OSError, match="No such file"):
            asking.size(tmp_path / "missing.py")
        asking.matching(tmp_path, "*.py")
        list(asking.walk(tmp_path))
    assert {question: asking.answer(question) for question in notes} == notes
    (tmp_path / "missing.py").write_text("x = 2\n")
    changed = {what for (what, of), said in notes.items() if asking.answer((what, of)) != said}
    assert changed == {"file", "anything", "size", "glob:*.py", "walk"}


def test_the_engine_asks_the_file_system_nowhere_else() -> None:
    """A question that is not noted would be one whose answer may change unseen."""
    asks = {
        *("is_file", "is_dir", "exists", "resolve", "stat", "lstat", "glob", "rglob", "iterdir"),
        *("isfile", "isdir", "lexists", "realpath", "walk", "listdir", "scandir", "getsize"),
        *("read_text", "read_bytes", "open", "readlink", "samefile", "is_symlink"),
    }
    # Neither what the tool itself consists of.
    own = {"catalog.py", "asking.py", "reading.py", "__init__.py", "__main__.py"}
    own_helpers = ROOT / "transpile" / "helpers" / "files.py"
    found = []
    parts = (
        *("facts", "plan", "distributed", "audit", "arithmetic", "rows", "evaluation", "once"),
        *("checks", "helpers"),
    )
    files = [
        *(path for path in (ROOT / "transpile").glob("*.py") if path.name not in own),
        *(path for part in parts for path in (ROOT / "transpile" / part).rglob("*.py")),
    ]
    files.remove(own_helpers)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Name) and function.id == "open":
                found.append(f"{path.name}:{function.lineno}")
            if isinstance(function, ast.Attribute) and function.attr in asks:
                base = ast.unparse(function.value)
                if base not in ("asking", "ast", "self", "self.names", "names", "Path.home()"):
                    found.append(f"{path.name}:{function.lineno}: {ast.unparse(function)}")
    assert found == []


def test_kinds_of_what_is_kept_are_told_apart() -> None:
    from transpile.cli.inputs import Content, Input
    from transpile.options import Options

    key = kept_results._key("convert", Input("a.py"), Content(b"", 0), Options())
    assert key != kept_results._key("audit", Input("a.py"), Content(b"", 0), Options())
