"""Strings that are inserted have the quotes of their file."""

from __future__ import annotations

import pytest

from transpile import convert
from transpile.layout.quotes import with_own_quotes

SINGLE = "import os\na = 'b'\nprint('it', f'{a} is')\n"


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ('if __name__ == "__main__":\n    pass\n', "if __name__ == '__main__':\n    pass\n"),
        ('c = f"{a} and {a!r}" + r"x" + b"y"\n', "c = f'{a} and {a!r}' + r'x' + b'y'\n"),
        ('c = f"{a}" "b"; d = "é", "e"\n', "c = f'{a}' 'b'; d = 'é', 'e'\n"),
        ('c = "it\'s"\n', 'c = "it\'s"\n'),
        ('c = "a\\n"\n', 'c = "a\\n"\n'),
        ('c = """a"""\n', 'c = """a"""\n'),
        ("c = 'say \"b\"'\n", "c = 'say \"b\"'\n"),
    ],
)
def test_single_quotes_where_the_file_has_no_others(added: str, expected: str) -> None:
    assert with_own_quotes(SINGLE, SINGLE + added) == SINGLE + expected
    windows = (SINGLE + added).replace("\n", "\r\n")
    changed = with_own_quotes(SINGLE.replace("\n", "\r\n"), windows)
    assert changed == (SINGLE + expected).replace("\n", "\r\n")


@pytest.mark.parametrize("own", ["a = \"b\"\nb = 'c'\n", "a = 1\n", "a = b'c\n", '"""A."""\n'])
def test_double_quotes_elsewhere(own: str) -> None:
    added = 'if __name__ == "__main__":\n    pass\n'
    assert with_own_quotes(own, own + added) == own + added


def test_strings_of_the_file_stay() -> None:
    own = SINGLE * 40 + 'd = "own"\n'
    after = own + 'e = "own", "new"\n'
    assert with_own_quotes(own, after) == own + "e = \"own\", 'new'\n"


def test_a_conversion_quotes_as_its_script() -> None:
    script = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), batch_size=4)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
print('done', 'now')
"""
    assert "'RANK'" in convert(script).text
    assert '"RANK"' in convert(script.replace("'", '"')).text
