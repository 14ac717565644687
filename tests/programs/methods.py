"""Models that are called by a method of their own: ``model.scores(x)`` for ``model(x)``."""

from __future__ import annotations

import re

MADE = re.compile(r"\b(\w+) = (\w+)\(")


def called_by_method(text: str) -> str:
    """A program whose models of classes of its own are called by a method; as it is without any.

    Args:
        text: the program; each class of a model stands at its top.
    """
    for name, title in dict.fromkeys(MADE.findall(text)):
        head = re.search(rf"^class {title}\(nn\.Module\):\n(?:[ \t].*\n|\n)+", text, re.MULTILINE)
        if head is None or "def forward(self" not in head[0]:
            continue
        if re.search(rf"\b{title}\(", text.replace(f"{name} = {title}(", "").replace(head[0], "")):
            # Others are made of it, too, which may be called in other ways.
            continue
        calls = re.compile(rf"(?<![\w.]){name}\(")
        # Where it is handed on or compiled, it is called by other names, too.
        handed_on = re.search(rf"(?<!def )\b\w+\((?:[^()\n]*, )?{name}\b(?![.(])", text)
        if calls.search(text) is None or handed_on or re.search(rf"= {name}\b(?![.(])", text):
            continue
        text = text.replace(head[0], head[0].replace("def forward(self", "def scores(self"))
        text = calls.sub(f"{name}.scores(", text)
    return text
