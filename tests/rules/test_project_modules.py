"""Modules of the project are read, not edited: what would have to change there is refused."""

from __future__ import annotations

from pathlib import Path

from transpile import Level, Outcome, convert

TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from helpers import help

loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        help(model, x)
"""


def test_a_checkpoint_written_by_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "import torch\n\n\ndef help(model, x):\n    torch.save(model.state_dict(), 'm.pt')\n"
    )
    result = convert(TRAIN, path="train.py", folder=tmp_path)
    assert result.outcome is Outcome.REFUSED
    assert result.text == TRAIN
    assert {f.code for f in result.findings if f.level is Level.ERROR} <= {"DT006", "PT513"}


def test_a_file_written_by_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "def help(model, x):\n"
        "    with open('log.txt', 'a') as log:\n"
        "        log.write(str(model(x)))\n"
    )
    result = convert(TRAIN, path="train.py", folder=tmp_path)
    assert result.outcome is Outcome.REFUSED
    assert "PT513" in {f.code for f in result.findings if f.level is Level.ERROR}


def test_processes_agree_on_random_numbers_before_a_data_set_draws_some(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def help(model, x):\n    return x\n")
    text = convert(TRAIN, path="train.py", folder=tmp_path).text
    assert text.index("\nshare_random_state()") < text.index("torch.randn(24, 3)")
    assert text.index("    setup_distributed()\n") < text.index("\nshare_random_state()")


def test_a_property_of_another_module_is_called_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        "import os\n\n\nclass Cache:\n    @property\n    def path(self):\n"
        "        os.makedirs('cache', exist_ok=True)\n        return 'cache'\n\n\n"
        "cache = Cache()\n\n\ndef help(model, x):\n    return cache\n"
    )
    script = TRAIN.replace("help(model, x)", "help(model, x).path")
    result = convert(script, path="train.py", folder=tmp_path)
    assert {f.code for f in result.findings if f.level is Level.ERROR} == {"PT513"}
