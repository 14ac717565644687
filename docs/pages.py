"""The pages that are made of the docstrings of rules, checks and launch targets.

mkdocs calls the functions of this module by their names; see ``hooks`` in ``mkdocs.yml``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

    from transpile.cli.project.manual import Entry

HEADING = re.compile(r"^([A-Z][a-z ]+):$", re.MULTILINE)
CODE = ("Before", "After")
NAMES = {
    "pytorch": "PyTorch", "paddle": "Paddle 2 and 3", "fluid": "Paddle Fluid 1.x", "mxnet": "MXNet",
    "tensorflow": "TensorFlow", "singa": "SINGA",
}  # fmt: skip


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put a page for each framework before what the navigation has below its rules."""
    find_the_tool()
    from transpile.catalog import frameworks

    (rules,) = (entry["Rules"] for entry in config.nav or () if "Rules" in entry)
    rules[:0] = [{name_of(one): f"rules/{one}/index.md"} for one in sorted(frameworks(), key=rank)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file holds."""
    from mkdocs.structure.files import File

    find_the_tool()
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def find_the_tool() -> None:
    """Let the tool of this clone be found; mkdocs takes back what a hook did to the path."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))


def rank(framework: str) -> int:
    """Where a framework stands among the others; behind them where nothing says so."""
    return list(NAMES).index(framework) if framework in NAMES else len(NAMES)


def pages() -> Mapping[str, str]:
    """All of them, by their paths below the documentation."""
    from transpile.cli.project.manual import entries

    known = sorted(entries(), key=lambda e: (e.framework, e.kind, e.rule, e.code))
    found = {"codes.md": codes_page(known)}
    for (framework, kind, rule), group in groupby(
        known, key=lambda e: (e.framework, e.kind, e.rule)
    ):
        if rule:
            found[page_of(framework, kind, rule)] = rule_page(framework, list(group))
    for framework, own in groupby((e for e in known if e.rule), key=lambda e: e.framework):
        found[f"rules/{framework}/index.md"] = framework_page(framework, list(own))
    found.update(launch_pages())
    return found


def page_of(framework: str, kind: str, rule: str) -> str:
    """Where the page of a rule or a check stands."""
    return f"rules/{framework}/{'audit-' if kind == 'check' else ''}{rule}.md"


def rule_page(framework: str, own: Sequence[Entry]) -> str:
    """The page of one rule or check: its docstring, and the findings that it gives."""
    summary, _, rest = own[0].text.partition("\n\n")
    kind = "A check of the audit" if own[0].kind == "check" else "A rule"
    lines = [f"# {own[0].rule}", "", plain(summary), "", f"{kind} for {name_of(framework)}.", ""]
    for heading, text in sections(rest):
        lines += [f"## {heading}", ""]
        if heading in CODE:
            lines += ["```python", text, "```", ""]
        elif heading == "Source":
            lines += [*(f"- {linked(part)}" for part in text.replace("\n", " ").split(", ")), ""]
        else:
            lines += [plain(text), ""]
    lines += ["## Findings", "", "| code | says |", "|---|---|"]
    lines += [f"| `{entry.code}` | {cell(entry.title)} |" for entry in own]
    for entry in own:
        if entry.advice:
            lines += ["", f"### {entry.code}: {entry.title}", "", *advice(entry.advice)]
    return "\n".join(lines) + "\n"


def advice(text: str) -> Iterator[str]:
    """The lines of what is said of a single code."""
    for heading, below in sections(text):
        shown = ["```text", below, "```"] if heading in CODE else [plain(below)]
        yield from [f"**{heading}**", "", *shown, ""]


def framework_page(framework: str, own: Sequence[Entry]) -> str:
    """The list of a framework's rules and checks."""
    lines = [f"# {name_of(framework)}", ""]
    for kind, title in (("rule", "Rules"), ("check", "Checks of the audit")):
        names = dict.fromkeys(entry.rule for entry in own if entry.kind == kind)
        if not names:
            continue
        lines += [f"## {title}", "", "| | what it does | findings |", "|---|---|---|"]
        for name in names:
            these = [entry for entry in own if entry.rule == name and entry.kind == kind]
            summary = cell(plain(these[0].text.partition("\n\n")[0]))
            codes = ", ".join(f"`{entry.code}`" for entry in these)
            page = Path(page_of(framework, kind, name)).name
            lines.append(f"| [{name}]({page}) | {summary} | {codes} |")
        lines.append("")
    return "\n".join(lines)


def codes_page(known: Sequence[Entry]) -> str:
    """Every code with what it says, and where it is explained."""
    lines = ["# All findings", "", "| code | says | |", "|---|---|---|"]
    for entry in sorted(known, key=lambda entry: (entry.code, entry.rule)):
        where = ""
        if entry.rule:
            where = f"[{entry.rule}]({page_of(entry.framework, entry.kind, entry.rule)})"
        lines.append(f"| `{entry.code}` | {cell(entry.title)} | {where} |")
    for entry in known:
        if not entry.rule and entry.text:
            lines += ["", f"## {entry.code}: {entry.title}", ""]
            lines += advice(entry.text)
    return "\n".join(lines) + "\n"


def launch_pages() -> Mapping[str, str]:
    """A page for each launch target, of its docstring."""
    from transpile.launch import targets

    found: dict[str, str] = {}
    index = ["# Launch targets", "", "| target | starts scripts of |", "|---|---|"]
    for name, target in targets().items():
        module = sys.modules[target.make.__module__]
        text = inspect.cleandoc(module.__doc__ or "")
        summary, _, rest = text.partition("\n\n")
        summary = re.sub(r"^Launch target ``[^`]+``: ", "", summary)
        frameworks = ", ".join(name_of(one) for one in sorted(target.frameworks))
        lines = [f"# {name}", "", plain(summary[:1].upper() + summary[1:]), "", plain(rest), ""]
        lines += [f"It starts scripts of {frameworks}.", ""]
        lines += ["```sh", f"disttranspile launch train_dist.py --target {name}", "```", ""]
        found[f"launch/{name}.md"] = "\n".join(lines)
        index.append(f"| [{name}]({name}.md) | {frameworks} |")
    found["launch/index.md"] = "\n".join(index) + "\n"
    return found


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The headings of a docstring with the text below each."""
    parts = HEADING.split(text)
    for heading, below in zip(parts[1::2], parts[2::2], strict=True):
        yield heading, inspect.cleandoc(below)


def name_of(framework: str) -> str:
    """A framework as people write it."""
    return NAMES.get(framework, framework)


def plain(text: str) -> str:
    """Text of a docstring as Markdown."""
    text = re.sub(r":[a-z]+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def linked(text: str) -> str:
    """Text whose addresses can be followed."""
    return re.sub(r"(https?://\S+)", r"<\1>", text.strip())
