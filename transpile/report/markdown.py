"""A page that a reviewer reads, for a comment on a change or the summary of a CI run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from transpile.finding import Finding, Level
from transpile.report import Describe, FileReport, nothing_known
from transpile.report.escape import markdown, printable
from transpile.report.numbers import amount
from transpile.result import Decision, Outcome, Verdict

_STARTS = {
    "pytorch": "torchrun --nproc_per_node 4 {}",
    "paddle": "python -m paddle.distributed.launch --nproc_per_node 4 {}",
    "fluid": "python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 {}",
    "mxnet": "python tools/launch.py -n 2 -s 2 --launcher local python {}",
}
_VERIFIED = "pytorch"


def render(files: Sequence[FileReport], describe: Describe = nothing_known) -> str:
    """Return a section for each input: what was found and decided, what is left, what is next."""
    return "\n".join("\n\n".join(_sections(file, describe)) + "\n" for file in files)


def _sections(file: FileReport, describe: Describe) -> Iterator[str]:
    outcome = file.outcome.value if file.outcome else "failed"
    yield f"### {markdown(file.path)}: {outcome}"
    if file.plan and file.outcome in (Outcome.CONVERTED, Outcome.REFUSED):
        yield from _found(file)
    if file.outcome is Outcome.CONVERTED:
        yield from _decided(file, describe)
    numbers = file.plan.get("numbers")
    if isinstance(numbers, Mapping):
        yield from _numbers(numbers)
    grave = [finding for finding in file.findings if finding.level > Level.NOTE]
    if grave:
        reviewed = file.outcome in (Outcome.CONVERTED, Outcome.REFUSED)
        yield "#### What a person has to look at" if reviewed else "#### Findings"
        yield _table(grave, file.path, describe)
    notes = [finding for finding in file.findings if finding.level is Level.NOTE]
    if notes:
        yield (
            f"<details><summary>{_count(len(notes), 'note')}</summary>\n\n"
            f"{_table(notes, file.path, describe)}\n\n</details>"
        )
    if file.accepted:
        yield f"{_count(len(file.accepted), 'finding')} accepted by the project."
    if file.outcome is Outcome.CONVERTED:
        yield from _next(file)


def _found(file: FileReport) -> Iterator[str]:
    plan = file.plan
    rows = [("framework", markdown(str(plan.get("framework", "unknown"))))]
    rows += [("model", _at(model, model["class"], file.path)) for model in plan.get("models", ())]
    rows += [
        ("optimizer", _at(one, f"{one['class']} of {', '.join(one['models']) or 'unknown'}",
                          file.path))  # fmt: skip
        for one in plan.get("optimizers", ())
    ]
    for loader in plan.get("loaders", ()):
        what = "training data" if loader["training"] else "other data"
        size = f"batches of {loader['batch_size']}" if loader["batch_size"] else "whole"
        rows.append((what, _at(loader, size, file.path)))
    for backward in plan.get("backward", ()):
        loops = [*backward["epoch_loops"], backward["batch_loop"]]
        where = ", ".join(f"line {loop['line']}" for loop in loops if loop)
        rows.append(("training step", _at(backward, f"in the loops at {where}", file.path)
                     if where else _at(backward, "in no loop", file.path)))  # fmt: skip
    modules = [path for path in plan.get("modules", ()) if path != file.path]
    if modules:
        rows.append(("modules", ", ".join(map(markdown, modules))))
    if len(rows) > 1:
        yield "#### What was found"
        yield _rows(("", ""), [(f"**{name}**", text) for name, text in rows])


def _at(thing: Mapping[str, Any], text: str, path: str) -> str:
    line = thing.get("line")
    if not line:
        return markdown(text)
    place = f"line {line}" if thing.get("path") == path else f"{thing.get('path')}:{line}"
    return f"{markdown(text)} ({markdown(place)})"


def _decided(file: FileReport, describe: Describe) -> Iterator[str]:
    applied = [one for one in file.decisions if one.verdict is Verdict.APPLY]
    if not applied:
        return
    yield "#### What was decided"
    rows = []
    ordered = sorted(applied, key=lambda one: (one.line, one.code, one.reason))
    for (line, code, reason), same in groupby(
        ordered, key=lambda one: (one.line, one.code, one.reason)
    ):
        number = len(list(same))
        times = f" ({number} times)" if number > 1 else ""
        rows.append((str(line), _what_is_done(code, applied, describe), markdown(reason) + times))
    yield _rows(("Line", "What is done", "Why"), rows)


def _what_is_done(code: str, decisions: Iterable[Decision], describe: Describe) -> str:
    rule = next(one.rule for one in decisions if one.code == code)
    return f"{markdown(rule.replace('-', ' '))} ({markdown(code)})"


def _numbers(numbers: Mapping[str, Any]) -> Iterator[str]:
    processes = numbers["processes"]
    yield f"#### What {processes} processes make of the numbers"
    stay: list[Sequence[str]] = []
    change: list[Sequence[str]] = []
    for section in numbers["sections"]:
        title = f"{section['title']} (line {section['line']})"
        for figure in section["figures"]:
            before, after = amount(figure["before"]), amount(figure["after"])
            row = tuple(map(markdown, (title, figure["quantity"], before, after)))
            (stay if before == after else change).append(row)
    heads = ("", "", "1 process", f"{processes} processes")
    if change:
        yield _rows(heads, change)
    if stay:
        listed = _rows(heads[:3], [row[:3] for row in stay])
        yield f"<details><summary>What stays</summary>\n\n{listed}\n\n</details>"
    remarks = [*numbers["problems"], *numbers["remarks"]]
    if remarks:
        yield "\n".join(f"- {markdown(str(remark))}" for remark in remarks)


def _next(file: FileReport) -> Iterator[str]:
    start = _STARTS.get(str(file.plan.get("framework")))
    if start is None:
        return
    output = _shell(file.target or _output_name(file.path))
    lines = []
    if not file.target:
        lines.append(f"disttranspile {_shell(file.path)} -o {output}")
    lines.append(start.format(output))
    if file.plan.get("framework") == _VERIFIED:
        lines.append(f"disttranspile verify {_shell(file.path)} {output}")
    yield "#### How to start and verify it"
    listed = "\n".join(lines)
    yield f"```sh\n{listed}\n```"


def _output_name(path: str) -> str:
    stem = path.rpartition(".")[0] or path
    return f"{stem}_dist.py"


def _shell(path: str) -> str:
    import shlex

    return shlex.quote(printable(path).replace("`", "?"))


def _table(findings: Iterable[Finding], path: str, describe: Describe) -> str:
    rows = []
    for finding in findings:
        place = str(finding.line) if finding.line else ""
        if finding.path != path:
            place = f"{markdown(finding.path)}:{place}"
        message = markdown(finding.message)
        if finding.advice:
            message += f"<br>{markdown(finding.advice)}"
        known = describe(finding.code)
        code = markdown(finding.code)
        if known is not None:
            code += f"<br>{markdown(known.title)}"
        rows.append((finding.level.label, place, code, message))
    return _rows(("Level", "Line", "Code", "Finding"), rows)


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
