"""What is installed, and that the project's own lists are complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml
from project_copy import ROOT, copy_project

import transpile

README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        return tomli.load(stream)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    pip(["wheel", "--no-deps", "--no-build-isolation", "-w", "dist", "."], folder)
    (built,) = (folder / "dist").iterdir()
    return built


def pip(words: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "-q"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_is_a_listed_package(project: dict[str, Any]) -> None:
    folders = set()
    for top, package in (("transpile", "transpile"), ("rules", "transpile.rules")):
        for path in (ROOT / top).rglob("*.py"):
            parts = path.parent.relative_to(ROOT / top).parts
            folders.add(".".join((package, *parts)))
    packages = project["tool"]["setuptools"]["packages"]
    assert sorted(packages) == sorted(folders)
    assert packages == sorted(packages), "keep the list in order"


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {name for name in names if name.endswith(".py")}
    expected = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "transpile").rglob("*.py")
    } | {
        "transpile/" + path.relative_to(ROOT).as_posix() for path in (ROOT / "rules").rglob("*.py")
    }
    assert modules == expected
    assert "transpile/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    rest = {name for name in names - modules if ".dist-info/" not in name}
    assert rest == {"transpile/py.typed"}


def test_the_documentation_converts_from_python_in_a_clone(tmp_path: Path) -> None:
    """Where the current folder hides what is installed, the clone's own rules are found."""
    clone = copy_project(tmp_path)
    (clone / "train.py").write_bytes((ROOT / "fixtures/pytorch/main_sgd/train.py").read_bytes())
    section = (ROOT / "docs" / "python.md").read_text("utf-8")
    example = section.partition("```python\n")[2].partition("```")[0]
    shown = "\nimport transpile.rules\nprint(result.outcome.value, transpile.rules.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", example + shown],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout.split() == ["converted", str(clone / "rules" / "__init__.py")], done.stderr


def test_the_wheel_converts(wheel: Path, tmp_path: Path) -> None:
    pip(["install", "--no-deps", "--target", "site", str(wheel)], tmp_path)
    (tmp_path / "idle.py").write_text("print('no training')\n")
    code = (
        "import sys; sys.path.insert(0, 'site'); import transpile; "
        "assert transpile.__file__.startswith(sys.argv[1]), transpile.__file__; "
        "from transpile.cli import main; sys.exit(main(['idle.py']) or main(['explain']))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("print('no training')\n")
    assert "DT901" in done.stdout


def test_the_version_is_the_one_in_the_changelog() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert transpile.__version__ in headings


def test_the_library_hands_out_what_it_names() -> None:
    for name in transpile.__all__:
        assert getattr(transpile, name) is not None
    assert set(transpile.__all__) <= set(dir(transpile))
    with pytest.raises(AttributeError, match="nonsense"):
        transpile.nonsense  # noqa: B018


def test_importing_the_library_costs_nothing() -> None:
    code = "import sys, transpile; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60
    )
    assert not set(done.stdout.split()) & {"libcst", "click", "rich", "transpile.engine"}


def test_requirements_are_pinned_for_tests(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    for extra in ("docs", "test", "dev"):
        for requirement in extras[extra]:
            name = requirement.split(";")[0].strip()
            assert re.fullmatch(r"disttranspile\[\w+\]|[\w.-]+==[\w.]+", name), requirement


def test_the_checks_before_a_commit_use_the_same_tools(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    pins = {pin for extra in extras.values() for pin in extra}
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert {"ruff", "black", "mypy"} <= {hook["id"] for hook in hooks}
    for hook in hooks:
        assert set(hook["additional_dependencies"]) <= pins


def test_the_documentation_lists_every_option() -> None:
    from transpile.cli.commands.convert import command

    pages = [ROOT / "docs" / "options.md", *sorted((ROOT / "docs" / "frameworks").glob("*.md"))]
    options = "\n".join(page.read_text("utf-8") for page in pages)
    rows = re.findall(r"^\| `(-[^|]+)` \|", options, re.MULTILINE)
    documented = set(re.findall(r"--[\w-]+", " ".join(rows)))
    offered = {
        opt
        for parameter in command.params
        for opt in (*parameter.opts, *parameter.secondary_opts)
        if opt[:2] == "--"
    }
    assert documented == offered - {"--version", "--help"}


def test_the_conversion_in_the_readme_is_a_true_one() -> None:
    from transpile.report.diff import unified_diff

    shown = re.findall(r"```diff\n(.*?)```", README, re.DOTALL)[0]
    (path,) = re.findall(r"^--- a/(.*)$", shown, re.MULTILINE)
    before = (ROOT / path).read_bytes()
    after = transpile.convert(before, path=str(ROOT / path)).data
    lines = iter(unified_diff(path, before, after).decode().splitlines())
    for line in shown.splitlines():
        # Three dots stand for lines that are left out.
        assert line == "..." or line in lines, f"not in the diff, or not there: {line}"


@pytest.mark.slow
def test_the_first_command_of_the_readme_works(tmp_path: Path) -> None:
    command = re.findall(r"```sh\n(python3 -m venv .*?)\n```", README)[0]
    copy_project(tmp_path)
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=kept,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert "+    setup_distributed()" in done.stdout
    assert "Traceback" not in done.stderr
    source = next(ROOT / word for word in command.split() if word.endswith("train.py"))
    assert (tmp_path / "train_dist.py").read_bytes() == transpile.convert(
        source.read_bytes(), path=str(source)
    ).data
