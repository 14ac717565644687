"""The documentation is built without a warning, with a page for every rule and launch target."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from project_copy import copy_project

from transpile import catalog
from transpile.launch import targets

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^([A-Z][a-z ]+):$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        words, cwd=ROOT, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


BLOCK = re.compile(r"^```(\w+)(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"(?: edit="([^"]+)" to="([^"]+)")?')
STEPS = sorted((ROOT / "docs" / "contributing").glob("*.md"))


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The headings of a docstring with the text below each."""
    parts = HEADING.split(text)
    for heading, below in zip(parts[1::2], parts[2::2], strict=True):
        yield heading, inspect.cleandoc(below)


def shown(page: Path) -> str:
    """What a page says, without its markup."""
    return unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))


def test_every_rule_and_check_has_a_page(site: Path) -> None:
    for rule in catalog.rules():
        text = shown(site / "rules" / rule.framework / rule.name / "index.html")
        assert all(code in text for code in rule.codes), rule.name
        example = dict(sections(inspect.cleandoc(rule.doc)))["After"]
        assert example.splitlines()[0] in text, rule.name
    for check in catalog.checks():
        text = shown(site / "rules" / check.framework / f"audit-{check.name}" / "index.html")
        assert all(code in text for code in check.codes), check.name


def test_every_launch_target_has_a_page(site: Path) -> None:
    for name in targets():
        assert f"--target {name}" in shown(site / "launch" / name / "index.html")


def test_every_framework_is_in_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8")
    for framework in catalog.frameworks():
        assert f'href="rules/{framework}/"' in start


@pytest.mark.parametrize("page", STEPS, ids=lambda page: page.stem)
def test_the_steps_of_a_contribution_do_what_they_say(page: Path, tmp_path: Path) -> None:
    """Files are written as they are titled, and commands say what stands below them.

    A line ``!words`` below a command must not come.
    """
    copy = copy_project(tmp_path)
    for name in ("tests", "fixtures/pytorch/main_sgd"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    commands = 0
    for language, head, text in BLOCK.findall(page.read_text("utf-8")):
        title = TITLE.search(head)
        if title is not None:
            write(copy / title[1], title[2], title[3], text)
        elif language == "console":
            for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, *expected = step.splitlines()
                said = run(command, copy, environment)
                commands += 1
                for line in expected:
                    assert (line[1:] not in said) if line[0] == "!" else (line in said), said
    assert commands > 0


def write(path: Path, old: str, new: str, text: str) -> None:
    """Write a file, or change one text of one that is there."""
    if old:
        before = path.read_text("utf-8")
        assert before.count(old) == 1
        text = before.replace(old, new)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command says, on both streams."""
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout
