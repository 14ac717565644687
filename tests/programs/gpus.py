"""Puts a program onto a GPU, in the ways in which people do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .choices import Choices
from .mixed_precision import mixed

MAKERS = (
    "zeros", "ones", "full", "empty", "eye", "rand", "randn", "randint", "randperm", "arange",
    "linspace", "tensor",
)  # fmt: skip
#: What the classes and functions that give samples are derived from and called.
GIVES_SAMPLES = ("Dataset", "IterableDataset", "Sampler", "collate", "batches_of")

_FLAG = ["parser = argparse.ArgumentParser()", "ARGUMENT", "options = parser.parse_args()"]
_FROM = "device = torch.device('cuda' if CONDITION else 'cpu')"
_SEEN = "torch.cuda.is_available()"


def _flagged(argument: str, *lines: str) -> list[str]:
    return [line.replace("ARGUMENT", f"parser.add_argument({argument})") for line in _FLAG] + [
        *lines
    ]


#: How the device is chosen, the simplest first.
DEVICES: Mapping[str, list[str]] = {
    "available": [_FROM.replace("CONDITION", _SEEN)],
    "hard": [],
    "guarded": [f"use_cuda = {_SEEN}"],
    "text": [f"device = 'cuda:0' if {_SEEN} else 'cpu'"],
    "off_by_flag": _flagged(
        "'--no-cuda', action='store_true'",
        _FROM.replace("CONDITION", f"not options.no_cuda and {_SEEN}"),
    ),
    "on_by_flag": _flagged(
        "'--cuda', action='store_true'", _FROM.replace("CONDITION", f"options.cuda and {_SEEN}")
    ),
    "argument": _flagged("'--device', default='cuda'", "device = torch.device(options.device)"),
    "argument_cpu": _flagged("'--device', default='cpu'", "device = options.device"),
    "number": _flagged(
        "'--gpu', type=int, default=0",
        "torch.cuda.set_device(options.gpu)",
        "device = torch.device('cuda', options.gpu)",
    ),
    "visible": [
        "os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
        _FROM.replace("CONDITION", _SEEN),
    ],
    "accelerator": ["device = torch.accelerator.current_accelerator()"],
}


@dataclass
class Edits:
    """What is put into a text: at places of lines, and as lines of its own."""

    at: dict[tuple[int, int], str] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)

    def applied(self, text: str, origins: Mapping[int, str]) -> tuple[str, dict[int, str]]:
        """The text with them, and the constructs of its lines."""
        lines: list[str] = []
        found: dict[int, str] = {}
        for number, line in enumerate(text.split("\n"), 1):
            places = sorted((place for place in self.at if place[0] == number), reverse=True)
            for place in places:
                line = line[: place[1]] + self.at[place] + line[place[1] :]
            lines.append(line)
            if number in origins:
                found[len(lines)] = origins[number]
            lines += self.after.get(number, [])
        return "\n".join(lines), found


def on_gpu(choices: Choices, text: str, origins: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """A program whose model is on a GPU, where there is one and a flag allows it."""
    way = choices.pick("gpu.device", list(DEVICES), (3, 3, 1, 1, 1, 1.5, 1, 1, 1, 1, 0.7))
    tree = ast.parse(text)
    apart = choices.pick("gpu.data", ("resident", "batches"), (1, 2)) == "batches"
    apart = apart and bool(loaders(tree)) and "X[" not in outside_classes(tree)
    precision = choices.pick("gpu.precision", ("none", "autocast", "scaler"), (3, 1, 1))
    moved = ".cuda()" if way == "hard" else ".to(device)"
    if apart and choices.chance("gpu.pinned", 0.3):
        moved = moved[:-1] + (", " if "device" in moved else "") + "non_blocking=True)"
    place = Place(
        way,
        moved,
        {"hard": "'cuda'", "guarded": "'cuda' if use_cuda else 'cpu'"}.get(way, "device"),
    )
    edits = Edits()
    if apart:
        for line, lines in moves_of_batches(tree, text, place):
            edits.after.setdefault(line, []).extend(lines)
        if "non_blocking" in moved:
            for call in calls_of(tree, "DataLoader"):
                edits.at[end_of(call)] = ", pin_memory=True"
    for call in makers(tree, apart):
        edits.at[end_of(call)] = f"{', ' if call.args or call.keywords else ''}device={place.where}"
    for call in modules(tree):
        line, column = end_of(call)
        edits.at[(line, column + 1)] = ".cuda()" if way == "hard" else f".to({place.where})"
    last_import = max(node.lineno for node in tree.body if isinstance(node, imports))
    edits.after.setdefault(last_import, []).extend(["", *DEVICES[way]])
    text, found = edits.applied(text, origins)
    text = re.sub(r"(?<!cpu\(\))\.numpy\(\)", ".cpu().numpy()", text)
    if precision != "none":
        kind = place.where if way in ("hard", "guarded") else "torch.device(device).type"
        text, found = mixed(text, found, precision == "scaler", kind)
    for module in ("argparse", "os"):
        if re.search(rf"\b{module}\.", text) and f"import {module}\n" not in text:
            text = f"import {module}\n{text}"
            found = {line + 1: construct for line, construct in found.items()}
    return text, found


imports = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Place:
    """How a program says where tensors are.

    Args:
        way: the name of the way.
        moved: what is put after a batch.
        where: the value of an argument ``device``.
    """

    way: str
    moved: str
    where: str


def end_of(call: ast.Call) -> tuple[int, int]:
    """The place before the last parenthesis of a call."""
    assert call.end_lineno is not None and call.end_col_offset is not None
    return call.end_lineno, call.end_col_offset - 1


def name_of(node: ast.AST) -> str:
    """The last word of a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls_of(tree: ast.AST, name: str) -> list[ast.Call]:
    """The calls of something."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and name_of(n.func) == name]


def loaders(tree: ast.Module) -> set[str]:
    """The names of loaders."""
    made = {id(call) for call in calls_of(tree, "DataLoader")}
    return {
        name_of(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and id(node.value) in made
        for target in node.targets
    }


def outside_classes(tree: ast.Module) -> str:
    """The text but for its classes."""
    return "\n".join(ast.unparse(node) for node in tree.body if not isinstance(node, ast.ClassDef))


def gives_samples(node: ast.AST) -> bool:
    """Whether something is there to give samples."""
    if isinstance(node, ast.ClassDef):
        return any(name_of(base) in GIVES_SAMPLES for base in node.bases)
    return isinstance(node, ast.FunctionDef) and node.name in GIVES_SAMPLES


def makers(tree: ast.Module, apart: bool) -> Iterator[ast.Call]:
    """The calls that make tensors of the GPU: all, or those that come after the data."""
    loaded = [call.lineno for call in calls_of(tree, "DataLoader")]
    first = min(loaded, default=0) if apart else 0
    for node in tree.body:
        if apart and gives_samples(node):
            continue
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if name_of(call.func.value) != "torch" or call.func.attr not in MAKERS:
                continue
            if any(word.arg in ("generator", "device") for word in call.keywords):
                continue
            if not apart or isinstance(node, ast.ClassDef) or call.lineno > first:
                yield call


def modules(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls that make models."""
    own = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(name_of(b) == "Module" for b in node.bases)
    }
    open_nodes: list[ast.AST] = [n for n in tree.body if not isinstance(n, ast.ClassDef)]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Call):
            library = isinstance(node.func, ast.Attribute) and name_of(node.func.value) == "nn"
            name = name_of(node.func)
            if name in own or (library and name[:1].isupper() and name != "Parameter"):
                yield node
                continue
        open_nodes.extend(ast.iter_child_nodes(node))


def moves_of_batches(tree: ast.Module, text: str, place: Place) -> Iterator[tuple[int, list[str]]]:
    """The lines that bring batches to the GPU, by the lines that they come after."""
    named = loaders(tree) | {"loaders", "loader"}
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and any(name_of(n) in named for n in ast.walk(node.iter)):
            if isinstance(node.iter, ast.Call) and name_of(node.iter.func) == "range":
                continue
            target: ast.expr = node.target
            if isinstance(target, ast.Tuple) and isinstance(node.iter, ast.Call):
                if name_of(node.iter.func) in ("enumerate", "zip"):
                    target = target.elts[1]
            yield moved_in(node.body, target, node.body[0].lineno - 1, place)
        for body in bodies(node):
            for number, statement in enumerate(body):
                if is_next(statement):
                    assert isinstance(statement, ast.Assign) and statement.end_lineno is not None
                    rest = body[number + 1 :]
                    yield moved_in(rest, statement.targets[0], statement.end_lineno, place)


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a statement."""
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body:
            yield body
    for handler in getattr(node, "handlers", []):
        yield handler.body


def is_next(statement: ast.stmt) -> bool:
    """Whether a statement takes a batch with ``next``."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and name_of(statement.value.func) == "next"
    )


def moved_in(
    body: list[ast.stmt], target: ast.expr, line: int, place: Place
) -> tuple[int, list[str]]:
    """What brings a batch to the GPU once its parts have names."""
    names = [name_of(one) for one in ast.walk(target) if isinstance(one, ast.Name)]
    indent = " " * (body[0].col_offset if body else target.col_offset)
    if names == ["batch"]:
        for statement in body:
            if not isinstance(statement, ast.Assign) or "batch" not in ast.unparse(statement.value):
                break
            if names == ["batch"]:
                names = []
            names += [name_of(n) for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name)]
            line = statement.end_lineno or line
    if names == ["batch"]:
        return line, [f"{indent}batch = [part{place.moved} for part in batch]"]
    moved = place.moved
    if place.way == "guarded":
        values = ", ".join(f"{name}.cuda()" for name in names)
        return line, [f"{indent}if use_cuda:", f"{indent}    {', '.join(names)} = {values}"]
    return line, [f"{indent}{', '.join(names)} = {', '.join(f'{name}{moved}' for name in names)}"]
