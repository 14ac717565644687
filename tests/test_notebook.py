"""Notebooks, read as scripts."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transpile.notebook import Notebook, NotebookError, is_notebook, read_notebook

TRAINING = (Path(__file__).parents[1] / "fixtures" / "pytorch" / "main_sgd" / "train.py").read_text(
    "utf-8"
)
HEAD, BODY = TRAINING.split("def main()", 1)


def document(*cells: str | tuple[str, str], language: str = "python") -> bytes:
    made = []
    for cell in cells:
        kind, source = cell if isinstance(cell, tuple) else ("code", cell)
        made.append({"cell_type": kind, "metadata": {}, "source": source.splitlines(True)})
    metadata = {"kernelspec": {"language": language, "name": "x"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}
                      ).encode()  # fmt: skip


def script(*cells: str | tuple[str, str]) -> Notebook:
    found = read_notebook(document(*cells))
    ast.parse(found.text)
    assert len(found.places) == len(found.text.splitlines())
    return found


def test_cells_come_in_order() -> None:
    found = script("import os\n", ("markdown", "# Data\n\nwords"), "", ("raw", "x"), "y = 1")
    assert found.text == (
        "# %% cell 1\nimport os\n\n# %% cell 2 [markdown]\n# # Data\n#\n# words\n\n# %% cell 5\n"
        "y = 1\n"
    )
    assert found.place(2) == "cell 1, line 1"
    assert found.place(10) == "cell 5, line 1"
    assert found.place(3) == found.place(99) == ""


@pytest.mark.parametrize(
    ("cell", "text", "harmless"),
    [
        ("%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1\n", True),
        ("!pip install a \\\n  b\nx = 1", "# !pip install a \\\n# b\nx = 1\n", False),
        ("if x:\n    !ls\ny = 1", "if x:\n    pass  # !ls\ny = 1\n", False),
        ("%cd data", "# %cd data\n", False),
        ("%time f()", "f()\n", True),
        ("%%time\nf()", "# %%time\nf()\n", True),
        ("%%bash\nls", "# %%bash\n# ls\n", False),
        ("model?", "# model?\n", True),
        ("?model", "# ?model\n", True),
    ],
)
def test_what_only_ipython_knows_is_set_aside(cell: str, text: str, harmless: bool) -> None:
    found = script(cell)
    assert found.text == f"# %% cell 1\n{text}"
    (one,) = found.set_aside
    assert one.is_harmless is harmless
    assert found.place(one.line).startswith("cell 1, line")


@pytest.mark.parametrize("cell", ["x = (7\n% 3)", 'x = """\n!ls\n%cd\n"""', "x = 1  # !ls", "#?"])
def test_python_that_looks_like_it_stays(cell: str) -> None:
    found = script(cell)
    assert found.text == f"# %% cell 1\n{cell}\n"
    assert found.set_aside == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "is no Jupyter notebook"),
        (b'{"nbformat": 4, "cells": [1]}', "is no Jupyter notebook"),
        (b'{"nbformat": 3, "worksheets": [], "cells": []}', "of an old format"),
        (document("x", language="R"), "of R, not of Python"),
        (document("files = !ls"), "cell 1, line 1, which a script cannot: files = !ls"),
        (document("x = 1\n%run train.py"), "runs another script in cell 1, line 2"),
    ],
)
def test_what_is_not_read(data: bytes, reason: str) -> None:
    with pytest.raises(NotebookError, match=reason.replace("(", "\\(")):
        read_notebook(data)


def test_a_notebook_is_known_under_any_name() -> None:
    assert is_notebook("a.py", document("x"))
    assert is_notebook("a.ipynb", b"")
    assert not is_notebook("a.py", b'{"cells": 1}\n')


class TestCommand:
    def test_it_becomes_a_script(self, command: Callable[..., Any]) -> None:
        main = f"def main(){BODY}"
        Path("train.ipynb").write_bytes(document("%matplotlib inline", HEAD, main))
        run = command("train.ipynb", "-o", "out.py")
        assert run.status == 0, run.errors
        assert "DT910 cell 1, line 1: set aside" in run.errors
        assert "DT911 the output is a script" in run.errors
        text = Path("out.py").read_text()
        assert "DistributedDataParallel(" in text
        ast.parse(text)
        assert command("train.ipynb", "--check").status == 0
        assert command("train.ipynb", "-o", "out/").status == 0
        beside = Path("out/train.py").read_text()
        assert "DistributedDataParallel(" in beside
        assert "from distributed_utils import" in beside
        assert Path("out/distributed_utils.py").is_file()
        copied = Path("copied.py")
        copied.write_bytes(document(HEAD, main))
        assert command("copied.py", "-o", "copied_dist.py").status == 0
        assert Path("copied_dist.py").read_text().startswith("# %% cell 1\n")

    def test_findings_name_cells(self, command: Callable[..., Any]) -> None:
        Path("a.ipynb").write_bytes(document("x = 1", "import torch\ndef f(:\n    pass"))
        run = command("a.ipynb", "--check")
        assert run.status == 2
        assert "DT902 cell 2, line 2: " in run.errors
        assert command("audit", "a.ipynb").status == 2

    def test_modules_beside_are_followed(self, command: Callable[..., Any]) -> None:
        Path("parts.py").write_text(HEAD)
        imports = "from parts import *\nimport argparse, os, torch\nfrom torch import nn\n"
        imports += "from torch.utils.data import DataLoader"
        Path("train.ipynb").write_bytes(document(imports, f"def main(){BODY}"))
        run = command("train.ipynb", "--plan")
        assert "parts.py" in run.output.decode()

    def test_where_it_cannot_go(self, command: Callable[..., Any]) -> None:
        Path("a.ipynb").write_bytes(document("import torch"))
        assert command("a.ipynb", "--in-place").status == 2
        assert command("a.ipynb", "-o", "b.ipynb").status == 2
        assert command("a.ipynb", "-o", "b.py").status == 0
        Path("a.ipynb").write_bytes(document("a = !ls"))
        run = command("a.ipynb")
        assert run.status == 2
        assert "takes a value from IPython" in run.errors
