"""Names that a loop looks for until one is free."""

from __future__ import annotations

from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def free(base):
    index = 0
    while os.path.exists(base + "_" + str(index)):
        index += 1
    return index


def folder(base):
    path = base + "_" + str(free(base))
    os.mkdir(path)
    return path


def main():
    path = folder("run")
    loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    torch.save(model.state_dict(), os.path.join(path, "model.pt"))


main()
"""
AGREED = """\
        index += 1
    index = from_main_process(index)
    return index
"""


def test_every_process_takes_the_name_that_rank_0_found() -> None:
    """Rank 0 makes the folder at once: the others would find its name taken."""
    result = convert(SCRIPT.encode())
    assert result.outcome is Outcome.CONVERTED
    assert AGREED in result.text
    again = convert(result.data, Options(respect_distributed=False))
    assert again.text == result.text


def test_waiting_for_a_file_is_no_search_for_a_name() -> None:
    """Nothing counts on: there is nothing to take from rank 0."""
    waiting = "    import time\n    while not os.path.exists(base):\n        time.sleep(1)\n"
    start = SCRIPT.index("    index = 0")
    end = SCRIPT.index("def folder")
    text = SCRIPT[:start] + waiting + "    return 0\n\n\n" + SCRIPT[end:]
    result = convert(text.encode())
    assert "from_main_process" not in result.text


def test_a_search_by_one_process_alone_stays() -> None:
    """A collective in what rank 0 does by itself would wait for ever."""
    text = SCRIPT.replace('    path = folder("run")\n', "").replace(
        'torch.save(model.state_dict(), os.path.join(path, "model.pt"))',
        'torch.save(model.state_dict(), "model_" + str(free("model")))',
    )
    result = convert(text.encode())
    assert result.outcome is Outcome.CONVERTED
    assert not [each for each in result.findings if each.code == "DT010"]


def test_what_another_program_has_written_is_waited_for() -> None:
    """One process starts the program, and all read what it makes."""
    text = SCRIPT.replace('    path = folder("run")\n', "").replace(
        '    torch.save(model.state_dict(), os.path.join(path, "model.pt"))\n',
        '    os.system("score answers > result.txt")\n'
        '    with open("result.txt") as result:\n'
        "        print(result.read())\n",
    )
    result = convert(text.encode())
    assert (
        '        os.system("score answers > result.txt")\n'
        "    barrier()\n"
        '    with open("result.txt") as result:\n'
    ) in result.text
