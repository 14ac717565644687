"""What a script says of its own launch: framework and batch size."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from transpile.launch.roles import Framework
from transpile.reading import read_regular

# The packages of frameworks, where no rules know them.
_PACKAGES: Mapping[str, Framework] = {
    "torch": "pytorch",
    "mxnet": "mxnet",
    "paddle.fluid": "fluid",
    "paddle": "paddle",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "singa": "singa",
}
# What `DistributeTranspilerConfig.mode` is set to.
_NCCL2 = re.compile(rb"""(["'])nccl2\1""")


@dataclass(frozen=True)
class ScriptFacts:
    """What is known of a script that shall be launched.

    Args:
        framework: what it trains with; None where that cannot be seen.
        batch_size: what its processes divide among them, as the plan tells it.
        loader_workers: what each process starts to load its data, as the plan tells it.
        names_nccl2: it holds the text by which Fluid's transpiler is told to do without servers.
        is_single: it trains in one process, and could be converted.
    """

    framework: Framework | None = None
    batch_size: Mapping[str, Any] = field(default_factory=dict)
    names_nccl2: bool = False
    loader_workers: Mapping[str, Any] = field(default_factory=dict)
    is_single: bool = False

    def has_servers(self, framework: Framework, mode: str | None) -> bool:
        """Whether a run of the script needs parameter servers.

        Args:
            framework: what the script trains with.
            mode: what the user says of it, as ``--mode`` takes it; None for nothing.
        """
        if mode is None or mode == "auto":
            return framework == "fluid" and not self.names_nccl2
        return mode == "pserver"

    def samples(self, arguments: Sequence[str]) -> int | None:
        """The global batch size of a run with these arguments; None where it is not known."""
        return _of_run(self.batch_size, "global", arguments)

    def workers(self, arguments: Sequence[str]) -> int | None:
        """The workers that load the data of each process in a run; None where it is not known."""
        return _of_run(self.loader_workers, "each", arguments)


def _of_run(number: Mapping[str, Any], name: str, arguments: Sequence[str]) -> int | None:
    """A number of a run with these arguments; None where it is not known."""
    options = number.get("options", ())
    found: int | None = number.get(name)
    for position, word in enumerate(arguments):
        option, separator, value = word.partition("=")
        if option in options:
            text = value if separator else "".join(arguments[position + 1 : position + 2])
            found = int(text) if text.isascii() and text.isdigit() else None
    return found


def facts_of_plan(plan: Mapping[str, Any], converted: bytes = b"") -> ScriptFacts:
    """Return what the plan of a conversion says, and what it made of the script."""
    framework = plan.get("framework")
    if framework not in get_args(Framework):
        return ScriptFacts()
    names_nccl2 = _NCCL2.search(converted) is not None
    return ScriptFacts(
        cast(Framework, framework),
        plan.get("batch_size") or {},
        names_nccl2,
        plan.get("loader_workers") or {},
    )


def facts_of_script(path: str, framework: str | None) -> ScriptFacts:
    """Return what the analysis of a script says.

    Args:
        path: the script.
        framework: what the user says that it trains with; None where the imports shall tell.
    """
    from transpile import catalog
    from transpile.engine import convert
    from transpile.options import Options
    from transpile.result import Outcome
    from transpile.text.decoding import SourceError

    named = cast("Framework | None", framework)
    try:
        data = read_regular(path)
        options = Options(framework=named or "auto", allow_partial=True)
        result = convert(data, options, path=path, folder=_folder(path))
        found = facts_of_plan(result.plan)
        is_single = result.outcome is Outcome.CONVERTED
        imported = _imported(data, path)
        names_nccl2 = _NCCL2.search(data) is not None
    except (OSError, SourceError):
        return ScriptFacts(named)
    if named is None and imported in catalog.frameworks():
        named = found.framework
    framework_found = named or imported or found.framework
    return ScriptFacts(
        framework_found, found.batch_size, names_nccl2, found.loader_workers, is_single
    )


def _folder(path: str) -> Path:
    return Path(os.path.dirname(os.path.realpath(path)))


def _imported(data: bytes, path: str) -> Framework | None:
    """The framework of the imports of the script itself."""
    from transpile.project import imported_names
    from transpile.text.source import read_source

    return _framework_of_names(set(imported_names(read_source(data, path))))


def _framework_of_names(names: Collection[str]) -> Framework | None:
    for package, framework in _PACKAGES.items():
        if any(f"{name}.".startswith(f"{package}.") for name in names):
            return framework
    return None
