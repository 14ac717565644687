"""The processes leave each other behind all training, and before whatever ends the process."""

from __future__ import annotations

import pytest

import transpile

HEAD = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return 0


def main():
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
GUARD = '\n\nif __name__ == "__main__":\n    {call}\n'


def end_of(body: str, call: str = "main()") -> str:
    """What becomes of the end of a script."""
    result = transpile.convert(HEAD + body + GUARD.format(call=call))
    assert result.outcome is transpile.Outcome.CONVERTED
    return result.text[result.text.index("    optimizer = torch.optim.SGD") :].partition("\n")[2]


@pytest.mark.parametrize(
    ("body", "call", "end"),
    [
        (
            "    fit(model, loader, optimizer)\n    sys.exit(0)\n",
            "main()",
            "    fit(model, loader, optimizer)\n    cleanup_distributed()\n    sys.exit(0)\n",
        ),
        (
            "    fit(model, loader, optimizer)\n    raise SystemExit\n",
            "main()",
            "    fit(model, loader, optimizer)\n    cleanup_distributed()\n    raise SystemExit\n",
        ),
        (
            "    sys.exit(\n        fit(model, loader, optimizer)\n    )\n",
            "main()",
            "    status = fit(model, loader, optimizer)\n    cleanup_distributed()\n"
            "    sys.exit(status)\n",
        ),
        (
            "    return fit(model, loader, optimizer)\n",
            "main()",
            "    result = fit(model, loader, optimizer)\n    cleanup_distributed()\n"
            "    return result\n",
        ),
        (
            "    if sys.argv[1:]:\n        return 1\n    return fit(model, loader, optimizer)\n",
            "sys.exit(main())",
            "    if sys.argv[1:]:\n        return 1\n    return fit(model, loader, optimizer)\n"
            '\n\nif __name__ == "__main__":\n    status = main()\n    cleanup_distributed()\n'
            "    sys.exit(status)\n",
        ),
        (
            "    fit(model, loader, optimizer)\n",
            "sys.exit(main())",
            "    fit(model, loader, optimizer)\n    cleanup_distributed()\n"
            '\n\nif __name__ == "__main__":\n    sys.exit(main())\n',
        ),
    ],
)
def test_before_the_end(body: str, call: str, end: str) -> None:
    assert end in end_of(body, call)


def test_what_ends_a_script_without_functions() -> None:
    script = HEAD.replace("def main():", "if True:") + "    fit(model, loader, optimizer)\n"
    result = transpile.convert(script + "sys.exit()\n")
    assert result.text.endswith("cleanup_distributed()\nsys.exit()\n")
