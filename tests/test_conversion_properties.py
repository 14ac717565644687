"""What holds for every conversion, whatever the file looks like."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from cases import Case, cases

from transpile import Options, Outcome, catalog, convert
from transpile.facts.interpreter import interpret
from transpile.layout.long_lines import with_short_lines
from transpile.layout.quotes import with_own_quotes
from transpile.layout.shared_guards import with_shared_guards
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.requested import all_edits, changes_of
from transpile.rule import Ruling, Rulings
from transpile.text.edit import apply_with_inverse
from transpile.text.source import read_source

CONVERTED = [case for case in cases("pytorch") if case.expect == "converted"]
PLAIN = [
    case
    for case in CONVERTED
    if case.folder.name in ("main_sgd", "mnist_arguments", "trainer_class", "vae_sum_loss", "gan")
]


def with_tabs(text: str) -> str:
    """The text indented by tabs."""
    return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found.group()) // 4), text, flags=re.M)


def without_tabs(text: str) -> str:
    """The text indented by spaces again."""
    return re.sub(r"^\t+", lambda found: "    " * len(found.group()), text, flags=re.M)


#: What is done to a file, and what undoes it on the output; both work on bytes.
FORMS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "CRLF": (
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\r\n", b"\n"),
    ),
    "byte-order mark": (lambda data: b"\xef\xbb\xbf" + data, lambda data: data[3:]),
    "tabs": (
        lambda data: with_tabs(data.decode()).encode(),
        lambda data: without_tabs(data.decode()).encode(),
    ),
    "latin-1": (
        lambda data: b"# -*- coding: latin-1 -*-  \xe9\n" + data,
        lambda data: data[len(b"# -*- coding: latin-1 -*-  \xe9\n") :],
    ),
    "no final newline": (lambda data: data.rstrip(b"\n"), lambda data: data.rstrip(b"\n") + b"\n"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_form_of_the_file_survives(case: Case, form: str) -> None:
    change, undo = FORMS[form]
    plain = convert(case.script.read_bytes(), path="train.py", folder=case.folder)
    formed = convert(change(case.script.read_bytes()), path="train.py", folder=case.folder)
    assert formed.outcome is Outcome.CONVERTED
    if form == "CRLF":
        assert b"\n" not in formed.data.replace(b"\r\n", b"")
    if form == "byte-order mark":
        assert formed.data.startswith(b"\xef\xbb\xbf")
    if form == "tabs":
        assert not re.search(rb"^ {4}", undo_continuations(formed.data), flags=re.M)
    if form != "tabs":
        assert undo(formed.data) == plain.data
    else:
        assert squeezed(undo(formed.data)) == squeezed(plain.data)


def undo_continuations(data: bytes) -> bytes:
    """Only the lines that begin a statement, roughly: those without an open bracket before."""
    lines, depth, kept = data.decode().splitlines(), 0, []
    for line in lines:
        if depth == 0 and not line.lstrip().startswith(("'", '"')):
            kept.append(line)
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    return "\n".join(kept).encode()


def squeezed(data: bytes) -> str:
    """The text without white space: lines may be split elsewhere where tabs are narrower."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", data.decode()))


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_undoing_the_edits_gives_the_input_back(case: Case) -> None:
    source = read_source(case.script.read_bytes(), "train.py")
    table = catalog.table("pytorch")
    project = Project(source, case.folder)
    options = Options(**dict(case.options))  # type: ignore[arg-type]
    expected = case.expected_output.read_text("utf-8")
    calls = "SplitCalls(" in expected or "@split_method(" in expected
    facts = interpret(project.entry, table.dialect, project.find)
    plan = build_plan(facts, table, options, "calls" if calls else "data")
    rules = [rule for rule in catalog.rules("pytorch") if plan.way in rule.ways]
    rulings = Rulings({})
    for rule in rules:
        rulings.by_rule[rule.name] = [a for a in rule.decide(plan) if isinstance(a, Ruling)]
    edits, _ = all_edits(plan, project, changes_of(plan, rulings, rules))
    assert plan.entry in edits
    for module, own in edits.items():
        original = module.source
        text, inverse = apply_with_inverse(original.text, own)
        place = project.files[module].relative_to(case.folder).as_posix()
        output = case.expected_output if module.is_entry else case.expected_module(place)
        # Guards are joined and long lines split last, which changes nothing about what they say.
        joined = with_shared_guards(original.text, text)
        shaped = with_short_lines(original.text, with_own_quotes(original.text, joined))
        assert original.encode(shaped) == output.read_bytes()
        undone, _ = apply_with_inverse(text, inverse)
        assert undone == original.text


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_only_lines_that_must_change_do(case: Case) -> None:
    kept = set(case.script.read_text("utf-8").splitlines())
    produced = set(case.expected_output.read_text("utf-8").splitlines())
    assert len(kept - produced) <= len(kept) / 4
