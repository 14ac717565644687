"""Helper functions that conversions insert below the imports, only those that are used.

A framework keeps its helpers as a mapping from name to :class:`HelperSource`, or to a function that
gives it for the options of a conversion. The templates name modules and other helpers as ``$name``,
so that nothing of the script is shadowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from string import Template

from transpile.facts.module import Module
from transpile.helpers.text import HelperText, import_order, joined_imports
from transpile.layout import insert_after_imports, insert_import
from transpile.options import Options
from transpile.plan.model import Plan
from transpile.plan.names import import_line
from transpile.records import dataclass
from transpile.text.edit import Edit


@dataclass(frozen=True)
class HelperSource:
    """The source of one helper.

    Args:
        code: Python source; ``$module`` and ``$helper`` stand for their local names.
        modules: placeholder to the dotted name that it imports.
        helpers: other helpers that it calls.
        without_group: it knows what to do before the process group is joined.
    """

    code: str
    modules: tuple[tuple[str, str], ...] = ()
    helpers: tuple[str, ...] = ()
    without_group: bool = False


#: A helper, or what gives it for the options of a conversion.
HelperTemplate = HelperSource | Callable[[Options], HelperSource]


def prelude_of(framework: str, options: Options | None = None) -> Mapping[str, HelperSource]:
    """The helpers of a framework, in the order in which they are written.

    Args:
        framework: the framework.
        options: the choices of the conversion; default: those of the command.
    """
    return Helpers(templates_of(framework), options or Options())


def templates_of(framework: str) -> Mapping[str, HelperTemplate]:
    """The helpers of a framework, whatever the options."""
    package = f"transpile.rules.{framework}"
    if find_spec(f"{package}._prelude") is None:
        return {}
    found: Mapping[str, HelperTemplate] = import_module(f"{package}._prelude").HELPERS
    return found


def sources_of(plan: Plan) -> Mapping[str, HelperSource]:
    """The helpers for one plan: those that rules have made for it first."""
    return Helpers({**templates_of(plan.table.framework), **plan.helpers}, plan.options)


class Helpers(Mapping[str, HelperSource]):
    """The helpers for the options of a conversion, each made when it is asked for."""

    def __init__(self, templates: Mapping[str, HelperTemplate], options: Options) -> None:
        self._templates = templates
        self._options = options

    def __getitem__(self, name: str) -> HelperSource:
        template = self._templates[name]
        return template if isinstance(template, HelperSource) else template(self._options)

    def __iter__(self) -> Iterator[str]:
        return iter(self._templates)

    def __len__(self) -> int:
        return len(self._templates)


def closed(names: Iterable[str], sources: Mapping[str, HelperSource]) -> list[str]:
    """The helpers and everything that they call, in the order of the mapping."""
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending.extend(sources[name].helpers)
    return [name for name in sources if name in wanted]


def prelude_edits(
    plan: Plan, module: Module, helpers: Iterable[str], used: Iterable[int] = ()
) -> Iterable[Edit]:
    """The edits that insert helpers into a module, and the imports that its edits need.

    Args:
        plan: the plan.
        module: the module.
        helpers: the names of the helpers.
        used: where in the module they are used.
    """
    sources = sources_of(plan)
    names = plan.names_in(module)
    blocks = []
    for name in closed(helpers, sources):
        source = sources[name]
        words = {key: names.imported(dotted, key) for key, dotted in source.modules}
        words.update({helper: names.fresh(helper) for helper in (*source.helpers, name)})
        blocks.append(Template(source.code.strip("\n")).substitute(words))
    edits: list[Edit] = []
    lines = joined_imports(sorted(names.imports.values(), key=import_order))
    if lines:
        edits.extend(insert_import(module.source, lines))
    if blocks:
        edits.extend(insert_after_imports(module.source, "\n\n\n".join(blocks), used=used))
    return edits


def helper_module(helpers: Iterable[str], sources: Mapping[str, HelperSource]) -> HelperText:
    """A module that holds helpers and nothing else.

    Args:
        helpers: the helpers that others import; what they call comes with them.
        sources: the framework's helpers.
    """
    blocks = {}
    imports: set[str] = set()
    for name in closed(helpers, sources):
        source = sources[name]
        words = {key: key for key, _ in source.modules}
        imports.update(import_line(dotted, key) for key, dotted in source.modules)
        words.update({helper: helper for helper in (*source.helpers, name)})
        blocks[name] = Template(source.code.strip("\n")).substitute(words)
    return HelperText(frozenset(imports), blocks)
