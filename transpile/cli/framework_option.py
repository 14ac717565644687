"""Options that only some frameworks have."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource


class FrameworkOption(click.Option):
    """An option with the frameworks that it fits.

    Args:
        frameworks: their names, as ``--framework`` takes them.
        only: values that fit fewer frameworks, with the names of these.
        *args: as for ``click.Option``.
        **kwargs: as for ``click.Option``.
    """

    def __init__(
        self,
        *args: Any,
        frameworks: tuple[str, ...],
        only: Mapping[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.frameworks = frameworks
        self.only = only or {}


def framework_names() -> tuple[str, ...]:
    """What ``--framework`` takes: ``auto``, or the name of a folder of rules."""
    import transpile.rules

    found = (each.name for each in pkgutil.iter_modules(transpile.rules.__path__) if each.ispkg)
    return ("auto", *sorted(found))


def framework_check(context: click.Context) -> Callable[[str], None]:
    """Return a function that raises ``click.UsageError`` where a given option does not fit.

    Its argument is the name of a framework; an option left at its default fits every one.
    """
    given = [
        option
        for option in context.command.params
        if isinstance(option, FrameworkOption)
        and option.name is not None
        and _is_chosen(context, option)
    ]

    def check(framework: str) -> None:
        for option in given:
            if framework not in option.frameworks:
                raise click.UsageError(f"{option.opts[0]} does not fit {framework}.", context)
            value = context.params.get(option.name or "")
            if isinstance(value, str) and framework not in option.only.get(value, (framework,)):
                words = f"{option.opts[0]} {value}"
                raise click.UsageError(f"{words} does not fit {framework}.", context)

    return check


def check_choice(context: click.Context) -> None:
    """Make sure that the framework of a command line has rules, and the options that are given."""
    framework = context.params["framework"]
    if framework != "auto":
        framework_check(context)(framework)
        from transpile import catalog

        if framework not in catalog.frameworks():
            raise click.UsageError(f"There are no rules for {framework} yet.")


def _is_chosen(context: click.Context, option: click.Option) -> bool:
    """Whether an option was given; one left at its default, or taken back, was not."""
    source = context.get_parameter_source(option.name or "")
    value = context.params.get(option.name or "")
    if source is ParameterSource.DEFAULT_MAP:
        return bool(value != option.default)
    if value is False and option.default is False:
        return False
    return source is not ParameterSource.DEFAULT
