"""Lets a program compute with mixed precision."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

_STEP = re.compile(r"^(\s*)((?:self\.)?\w+)\.step\(\)$")
_BACKWARD = re.compile(r"^(\s*)(\w+|\(.*\))\.backward\(\)$")


def mixed(
    text: str, origins: Mapping[int, str], scaled: bool, kind: str
) -> tuple[str, dict[int, str]]:
    """A program with ``autocast``, and a scaler of its loss; itself where its steps are not plain.

    Numbers of 64 bits are never cast, and scales are powers of two: what it computes is the same.

    Args:
        text: the program.
        origins: the constructs of its lines.
        scaled: whether it scales its loss.
        kind: an expression of the kind of device.
    """
    lines = text.split("\n")
    backwards = [number for number, line in enumerate(lines) if _BACKWARD.match(line)]
    optimizers = set(re.findall(r"((?:self\.)?\w+) = torch\.optim\.\w+\(", text)) | {
        "opt_", "self.optimizer", "self.opt"
    }  # fmt: skip
    steps = [
        number
        for number, line in enumerate(lines)
        if (stepped := _STEP.match(line)) and stepped[2] in optimizers
    ]
    if text.count(".backward(") != 1 or len(backwards) != 1 or len(steps) != 1:
        return text, dict(origins)
    last, step = backwards[0], steps[0]
    first = first_of(ast.parse(text), last + 1)
    if first is None or step < last or re.search(r"autograd\.grad|LBFGS", text):
        return text, dict(origins)
    indent = " " * (len(lines[last]) - len(lines[last].lstrip()))
    result: list[str] = []
    found: dict[int, str] = {}
    for number, line in enumerate(lines):
        if number == first:
            result.append(f"{indent}with torch.autocast({kind}, dtype=DTYPE):")
        if first <= number < last:
            line = f"    {line}" if line else line
        if scaled and number == last:
            line = _BACKWARD.sub(r"\1scaler.scale(\2).backward()", line)
        optimizer = _STEP.sub(r"\2", lines[step])
        if scaled and "clip_grad_" in line:
            result.append(f"{line[: len(line) - len(line.lstrip())]}scaler.unscale_({optimizer})")
        if scaled and number == step:
            line = _STEP.sub(r"\1scaler.step(\2)\n\1scaler.update()", line)
        for part in line.split("\n"):
            result.append(part)
            if number + 1 in origins:
                found[len(result)] = origins[number + 1]
    dtype = "torch.float16" if kind == "'cuda'" else "torch.bfloat16"
    whole = "\n".join(result).replace("DTYPE", dtype)
    if scaled:
        place = device_line(whole)
        condition = f"enabled=({kind}) == 'cuda'" if kind != "'cuda'" else "enabled=True"
        made = f"scaler = torch.amp.GradScaler('cuda', {condition})"
        found = {line + (line > place): construct for line, construct in found.items()}
        parts = whole.split("\n")
        whole = "\n".join([*parts[:place], made, *parts[place:]])
    return whole, found


def device_line(text: str) -> int:
    """The number of the line after which the device is chosen."""
    lines = text.split("\n")
    chosen = [n for n, line in enumerate(lines, 1) if line.startswith(("device = ", "use_cuda = "))]
    imported = [n for n, line in enumerate(lines, 1) if line.startswith(("import ", "from "))]
    return (chosen or imported[-1:])[0]


def first_of(tree: ast.Module, backward: int) -> int | None:
    """The line, from 0, of the first statement that the loss of a line is computed by."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            lines = [getattr(statement, "lineno", 0) for statement in body]
            if backward not in lines:
                continue
            for statement in body[: lines.index(backward)]:
                text = ast.unparse(statement)
                if "zero_grad" in text or re.search(r"\.(to|cuda)\([^)]*\)", text):
                    continue
                if isinstance(statement, (ast.Assign, ast.Expr)) and "batch" not in text:
                    return statement.lineno - 1
                return None
    return None
