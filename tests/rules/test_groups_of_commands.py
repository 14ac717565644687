"""The commands of a group run where the group is called."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import click
import torch
import typer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{group}


@{name}.command()
def train(batch_size=16):
    data = TensorDataset(torch.randn(48, 6), torch.randn(48, 6))
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=batch_size, shuffle=True):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@{name}.command("show")
def show():
    print("nothing")


if __name__ == "__main__":
    {call}
"""
GROUP = "@click.group()\n@click.pass_context\ndef cli(ctx):\n    pass"


@pytest.mark.parametrize(
    ("group", "name", "call"),
    [
        (GROUP, "cli", "cli(obj={})"),
        (GROUP.replace("group()", "group"), "cli", "cli()"),
        ("app = typer.Typer()", "app", "app()"),
        ("app = click.Group()", "app", "app()"),
        (GROUP + '\n\n\n@cli.group("net")\ndef net():\n    pass', "net", "cli()"),
    ],
)
def test_a_command_is_converted(group: str, name: str, call: str) -> None:
    found = convert(SCRIPT.format(group=group, name=name, call=call))
    assert found.outcome is Outcome.CONVERTED
    assert "def train(batch_size=16):\n    setup_distributed()\n" in found.text
    assert "split_batch(batch_size)" in found.text


def test_a_group_that_nothing_calls_is_left_alone() -> None:
    found = convert(SCRIPT.format(group=GROUP, name="cli", call="pass"))
    assert found.outcome is Outcome.UNCHANGED


def test_two_commands_that_train_join_before_the_group() -> None:
    text = SCRIPT.format(group=GROUP, name="cli", call="cli()")
    start, end = text.index("@cli.command()\n"), text.index('@cli.command("show")')
    text = text[:end] + text[start:end].replace("train", "tune") + text[end:]
    found = convert(text)
    assert found.outcome is Outcome.CONVERTED
    assert "    setup_distributed()\n    share_random_state()\n    cli()\n" in found.text
