"""A small training script with places to fill in, and what a conversion makes of them."""

from __future__ import annotations

from typing import Any

from data_way import convert

from transpile import Level, Options, Result, Verdict

SCRIPT = """\
import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--gpu", type=int, default=0)
parser.add_argument("--device", default="cuda:0", help="for example cuda:1")
parser.add_argument("--max-steps", type=int, default=1000)
{top}

def main():
    args = parser.parse_args()
    {start}
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    loader = DataLoader(data, batch_size=4)
    model = nn.Linear(3, 1)
    {model}
    optimizer = {optimizer}
    {resume}
    for epoch in range(2):
        for x, y in loader:
            {batch}
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {step}
        {epoch}
    {end}


main()
"""


def script(**parts: str) -> str:
    """The script with some of its places filled; lines after the first are indented as it is."""
    filled = dict.fromkeys(
        ("top", "start", "model", "resume", "batch", "step", "epoch", "end"), "pass"
    )
    filled["optimizer"] = "torch.optim.SGD(model.parameters(), lr=args.lr)"
    filled["top"] = ""
    unknown = set(parts) - set(filled)
    assert not unknown, unknown
    filled.update(parts)
    lines = []
    for line in SCRIPT.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines.append(line.format(**filled).replace("\n", "\n" + indent))
    return "\n".join(lines) + "\n"


def converted(source: str, **options: Any) -> Result:
    """The result for a script, whatever else there is to say of it."""
    return convert(source, Options(allow_partial=True, **options), path="train.py")


def new_lines(source: str, **options: Any) -> list[str]:
    """The lines of the output below the helpers that the script does not have."""
    text = converted(source, **options).text
    body = text[text.index("parser = argparse") :]
    old = {line.strip() for line in source.splitlines()}
    return [line.strip() for line in body.splitlines() if line.strip() not in old]


def gone_lines(source: str, **options: Any) -> list[str]:
    """The lines of the script that the output does not have."""
    new = {line.strip() for line in converted(source, **options).text.splitlines()}
    return [line.strip() for line in source.splitlines() if line.strip() not in new]


def findings(source: str, code: str, **options: Any) -> list[tuple[Level, int, str]]:
    """Level, line and message of the findings with a code."""
    return [
        (finding.level, finding.line, finding.message)
        for finding in converted(source, **options).findings
        if finding.code == code
    ]


def undone(source: str, rule: str, **options: Any) -> list[str]:
    """What a rule still has to do on the output of a conversion, the gate being off."""
    first = converted(source, **options)
    assert first.text != source
    again = converted(first.text, respect_distributed=False, **options)
    return [
        decision.reason
        for decision in again.decisions
        if decision.rule == rule and decision.verdict is not Verdict.ALREADY_DONE
    ]
