"""Where the modules of a project are looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import convert
from transpile.project import Project
from transpile.search_path import added_folders
from transpile.text.source import Source, read_source


def source_of(text: str, path: str = "train.py") -> Source:
    return read_source(text.encode(), path)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("sys.path.append('lib')", "lib"),
        ("sys.path.append('../lib')", "../lib"),
        ("sys.path.insert(0, os.path.dirname(__file__) + '/lib')", "lib"),
        ("sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))", ".."),
        ("sys.path.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))", ".."),
        ("sys.path.append(str(Path(__file__).resolve().parent / 'lib'))", "lib"),
        ("sys.path.append(str(Path(__file__).parent.parent))", ".."),
        ("sys.path.append(str(Path(__file__).resolve().parents[1]))", ".."),
        ("ROOT = Path(__file__).parent\nsys.path.append(str(ROOT.joinpath('lib')))", "lib"),
        ("here = os.path.dirname(__file__)\nif here:\n    sys.path += [here + '/lib']", "lib"),
        ("sys.path.extend(['lib'])", "lib"),
        ("sys.path.append(os.path.join(os.getcwd(), os.pardir))", ".."),
        ("sys.path.append(os.path.split(os.path.abspath(__file__))[0])", "."),
        ("def main():\n    sys.path.append('lib')\n    import model", "lib"),
        ("import sys as system\nsystem.path.insert(0, 'lib')", "lib"),
        ("from sys import path\npath.append('lib')", "lib"),
        ("from sys import path as places\nplaces += ['lib']", "lib"),
    ],
)
def test_a_folder_that_is_added_to_the_search_path_is_found(text: str, folder: str) -> None:
    file = Path("/project/scripts/train.py")
    front, behind = added_folders(source_of(f"import os, sys\n{text}\n"), file)
    assert [*front, *behind] == [Path("/project", "scripts", folder).resolve()]
    assert bool(front) == ("insert" in text)


@pytest.mark.parametrize(
    "text",
    [
        "sys.path.append(os.environ['ROOT'])",
        "sys.path.append(folder())",
        "sys.path.remove('lib')",
        "def f():\n    sys.path.append(name)",
        "print('sys.path')",
        "path = []\npath.append('lib')",
        "from os import path\npath.append('lib')",
    ],
)
def test_what_cannot_be_told_is_left_out(text: str) -> None:
    found = added_folders(source_of(f"import os, sys\n{text}\n"), Path("/project/train.py"))
    assert found == ([], [])


def project(root: Path, script: str, text: str = "", *modules: str) -> Project:
    for module in (script, *modules):
        (root / module).parent.mkdir(parents=True, exist_ok=True)
        (root / module).write_text(text if module == script else "")
    return Project(source_of(text, script), (root / script).parent)


def found(made: Project, name: str) -> str | None:
    module = made.find(name, made.entry)
    return module.source.path if module is not None else None


def test_modules_above_are_found_through_the_search_path(tmp_path: Path) -> None:
    text = "import sys\nsys.path.append('..')\nimport lib.data\n"
    made = project(tmp_path, "scripts/train.py", text, "lib/__init__.py", "lib/data.py")
    assert found(made, "lib.data") == "lib/data.py"
    assert made.top == tmp_path
    assert [module.source.path for module in made.modules()] == [
        "scripts/train.py",
        "lib/__init__.py",
        "lib/data.py",
    ]


def test_without_it_they_are_not(tmp_path: Path) -> None:
    made = project(tmp_path, "scripts/train.py", "import lib\n", "lib/__init__.py")
    assert found(made, "lib") is None


def test_a_script_may_name_the_package_that_it_stands_in(tmp_path: Path) -> None:
    made = project(tmp_path, "src/train.py", "import src.data\n", "src/data.py")
    assert found(made, "src.data") == "src/data.py"
    assert made.top == tmp_path


def test_a_script_may_import_what_can_be_installed(tmp_path: Path) -> None:
    made = project(tmp_path, "projects/one/train.py", "import kit.net\n", "kit/net.py", "setup.py")
    assert found(made, "kit.net") == "kit/net.py"
    assert made.installed_from == {tmp_path}


def test_a_folder_far_away_is_not_opened(tmp_path: Path) -> None:
    deep = "a/b/c/d/e/train.py"
    text = "import sys\nsys.path.append('../../../../..')\nimport lib\n"
    assert found(project(tmp_path, deep, text, "lib.py"), "lib") is None


def test_one_file_is_one_module_whatever_it_is_called(tmp_path: Path) -> None:
    text = "import sys\nsys.path.append('lib')\nimport data\nimport lib.data\n"
    made = project(tmp_path, "train.py", text, "lib/data.py")
    assert made.find("data", made.entry) is made.find("lib.data", made.entry)
    assert made.find("train", made.entry) is made.entry


def test_a_script_may_be_named_by_a_path(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(b"import torch\nimport data\n")
    (tmp_path / "data.py").write_bytes(b"")
    result = convert(file.read_bytes(), path=file)
    assert [Path(each.path) for each in result.modules] == [tmp_path / "data.py"]
