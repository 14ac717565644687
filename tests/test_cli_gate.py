"""The gate before a scan of folders: it must not lose a training script."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile.cli.gate import Gate


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def lets_through(folder: Path, files: dict[str, str]) -> bool:
    write(folder, files)
    return Gate({"torch"}).lets_through(str(folder / "train.py"))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "import torch.nn as nn\n",
        "from torch import nn\n",
        "def main():\n    import torch\n",
        "x = 1; import torch\n",
        "# torch\n",
    ],
)
def test_a_script_that_names_a_framework(tmp_path: Path, text: str) -> None:
    assert lets_through(tmp_path, {"train.py": text})


@pytest.mark.parametrize(
    "text",
    ["import os\n", "import torchless\n", "storch = 1\n", "from data import load\n", ""],
)
def test_a_script_that_does_not(tmp_path: Path, text: str) -> None:
    assert not lets_through(tmp_path, {"train.py": text, "other.py": "import torch\n"})


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("from data import load\n", {"data.py": "import torch\n"}),
        ("import data\n", {"data.py": "import torch\n"}),
        ("import os, data as d\n", {"data.py": "import torch\n"}),
        ("from lib import data\n", {"lib/__init__.py": "", "lib/data.py": "import torch\n"}),
        ("from lib import (\n    x,\n    data,\n)\n", {"lib/data.py": "import torch\n"}),
        ("from lib import x, \\\n    data\n", {"lib/data.py": "import torch\n"}),
        ("import lib.data\n", {"lib/data.py": "import torch\n"}),
        ("from .data import load\n", {"data.py": "import torch\n"}),
        ("from . import data\n", {"data.py": "import torch\n"}),
        ("if True: import data\n", {"data.py": "import torch\n"}),
        ("x = 1; from data import *\n", {"data.py": "import torch\n"}),
        ("import a\n", {"a.py": "import b\n", "b.py": "import a, c\n", "c.py": "import torch\n"}),
        (
            "import lib.a\n",
            {"lib/a.py": "from .b import x\n", "lib/b.py": "from ..c import y\n"}
            | {"c.py": "import torch\n"},
        ),
        ("import lib\n", {"lib/__init__.py": "from .a import x\n", "lib/a.py": "import torch\n"}),
    ],
)
def test_a_script_whose_project_does(tmp_path: Path, text: str, files: dict[str, str]) -> None:
    assert lets_through(tmp_path, {"train.py": text, **files})
    assert not lets_through(
        tmp_path,
        {"train.py": text} | {name: code.replace("torch", "os") for name, code in files.items()},
    )


def test_modules_that_import_each_other_end(tmp_path: Path) -> None:
    assert not lets_through(
        tmp_path,
        {"train.py": "import a\n", "a.py": "import b\n", "b.py": "import a\nimport train\n"},
    )


def test_what_cannot_be_read_is_let_through(tmp_path: Path) -> None:
    assert Gate({"torch"}).lets_through(str(tmp_path / "missing.py"))
