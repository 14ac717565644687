"""What a command line asks to be launched, for each script that it makes or names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import click

from transpile.cli.launching.launch_files import LaunchFile, as_argument
from transpile.cli.launching.launch_job import make_job, make_workload, script_arguments
from transpile.cli.launching.launch_script import ScriptFacts
from transpile.cli.launching.launch_settings import chosen, words
from transpile.finding import Finding
from transpile.launch import targets
from transpile.launch.advice import advice
from transpile.launch.roles import Framework


@dataclass(frozen=True)
class Launch:
    """What starts one script.

    Args:
        total: what all roles take together.
        texts: those of the files of every target, by their relative paths.
        findings: what a person should look at before.
    """

    total: str
    texts: tuple[Mapping[str, str], ...]
    findings: tuple[Finding, ...]

    def files(self, folder: str) -> list[LaunchFile]:
        """The files of all targets, in a folder."""
        return [
            LaunchFile(os.path.join(folder, path), os.fsencode(text))
            for texts in self.texts
            for path, text in texts.items()
        ]


@dataclass(frozen=True)
class LaunchRequest:
    """The launch targets that a command line asks for, and the choices on it.

    Args:
        context: of a command with the options of a launch.
        targets: the names of the targets, each once.
        arguments: of the script.
    """

    context: click.Context
    targets: tuple[str, ...]
    arguments: tuple[str, ...] = ()

    def framework(self, script: str) -> str | None:
        """The framework that the user names; None where the script shall tell."""
        named = chosen(self.context, script).get("framework")
        return None if named == "auto" else cast("str | None", named)

    def launch(
        self, script: str, facts: ScriptFacts, output: Sequence[str] = (), seen: str = ""
    ) -> Launch:
        """Return the jobs of `script` and what is to be said of them.

        Args:
            script: as the user names it.
            facts: what it says of itself.
            output: the words of the command that say where the files go.
            seen: the script from the launch files; empty where they lie beside it.

        Raises:
            click.UsageError: the choices contradict each other, do not fit a target, or those of
                the project cannot be read.
        """
        try:
            return self._launch(script, facts, output, seen)
        except ValueError as error:
            raise click.UsageError(f"{error}.", self.context) from error

    def _launch(self, script: str, facts: ScriptFacts, output: Sequence[str], seen: str) -> Launch:
        choices = chosen(self.context, script)
        framework = facts.framework or _only_framework(self.targets)
        if self.context.params.get("singa_start") == "multiprocess":
            raise ValueError(
                f"{self.targets[0]} starts processes, and so does a script of --singa-start "
                "multiprocess: start it with python"
            )
        arguments = script_arguments(choices, self.arguments)
        rest = [*words(self.context, choices), *(("--", *arguments) if arguments else ())]
        jobs = {
            target: make_job(
                seen or os.path.basename(script),
                framework,
                choices,
                (
                    "disttranspile",
                    "launch",
                    as_argument(script),
                    "--target",
                    target,
                    *output,
                    *rest,
                ),
                arguments,
                facts.has_servers(framework, choices.get("mode")),
            )
            for target in self.targets
        }
        workload = make_workload(
            choices,
            facts.samples(arguments),
            facts.workers(arguments),
            is_single=facts.is_single,
        )
        job = next(iter(jobs.values()))
        texts = tuple(targets()[target](job) for target, job in jobs.items())
        return Launch(job.total, texts, tuple(advice(job, workload, script)))


def _only_framework(names: Sequence[str]) -> Framework:
    """The one framework that all targets start, where a script does not show its own."""
    common: frozenset[Any] = frozenset.intersection(*(targets()[name].frameworks for name in names))
    if len(common) != 1:
        raise ValueError("the script does not show what it trains with: say it with --framework")
    (framework,) = common
    return cast(Framework, framework)
