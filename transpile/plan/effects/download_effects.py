"""Calls that download what they do not find, where they are told so."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Argument, Class, External, Opaque, only_constant
from transpile.plan.effects.effect_names import (
    DATASET_PACKAGES,
    DOWNLOAD_METHODS,
    DOWNLOAD_PREFIXES,
    DOWNLOADS,
)
from transpile.plan.effects.effects import Vocabulary


def downloads(name: str, event: Event, vocabulary: Vocabulary) -> bool:
    """Whether a call may fetch something from the network or unpack it."""
    if name in DOWNLOADS or name in vocabulary.downloads or name.startswith(DOWNLOAD_PREFIXES):
        return True
    if name.startswith(DATASET_PACKAGES) and name.endswith("Dataset"):
        return True
    if name.rpartition(".")[2] in DOWNLOAD_METHODS and "." in name:
        # The framework's own downloads are listed: an embedding is made of weights at hand.
        return not name.startswith(vocabulary.pure)
    for prefix, flags in vocabulary.download_flags:
        if name.startswith(prefix):
            return any(switched_on(event.arguments.keyword(flag)) for flag in flags) or (
                "download" in flags and positional_download(name, event)
            )
    return False


def positional_download(name: str, event: Event) -> bool:
    """Whether the last of many positional arguments of a data set switches downloading on."""
    given = event.arguments.positional()
    made = name.removesuffix(".__init__").rpartition(".")[2]
    return made[:1].isupper() and len(given) >= 5 and switched_on(given[-1])


def inherited_constructor(cls: Class) -> str:
    """The class of a library that makes the instances of one of the project; else nothing."""
    for ancestor in cls.ancestry():
        if isinstance(ancestor, External):
            return ancestor.name
        if isinstance(ancestor, Class) and "__init__" in ancestor.scope.names:
            break
    return ""


def switched_on(argument: Argument | None) -> bool:
    """Whether an argument may be true."""
    if argument is None:
        return False
    constant = only_constant(argument.values)
    return constant is None or bool(constant.value)


def chosen_by_name_downloads(callee: Opaque, event: Event, vocabulary: Vocabulary) -> bool:
    """Whether something picked by name out of a package, ``models.__dict__[arch]``, fetches."""
    packages = [
        value.name for group in callee.operands for value in group if isinstance(value, External)
    ]
    for package in packages:
        base = package.removesuffix(".__dict__")
        for prefix, flags in vocabulary.download_flags:
            if f"{base}.".startswith(prefix):
                return any(switched_on(event.arguments.keyword(flag)) for flag in flags)
    return False
