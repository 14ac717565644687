"""What a configuration may hold, checked by msgspec."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec

from transpile.configuration.settings import RUN_KEYS
from transpile.records import dataclass

_UNKNOWN = re.compile(r"unknown field `(?P<key>.*?)`(?: - at `(?P<place>.*)`)?$", re.DOTALL)
_PLACE = re.compile(r"(?P<reason>.*?) - at `(?P<place>.*)`$", re.DOTALL)
_TABLE = re.compile(r"\[(\d+)\]")
_INDEX = re.compile(r"\[[^]]*\]")
_Texts = str | int | float | list[str | int | float]


@dataclass(frozen=True)
class OptionKey:
    """An option of the command as a key.

    Args:
        name: the option without its hyphens in front.
        kind: ``flag``, ``choice``, ``integer``, ``text``, or ``amount``: a text or a number.
        choices: the words that it takes.
        least: the smallest number that it takes.
        several: it may be given more than once.
    """

    name: str
    kind: Literal["flag", "choice", "integer", "text", "amount"]
    choices: tuple[str, ...] = ()
    least: int | None = None
    several: bool = False


class ConfigurationError(Exception):
    """A configuration that does not hold what it should; the message is one line."""


def check(
    table: Mapping[str, Any],
    options: Sequence[OptionKey],
    run: Sequence[OptionKey],
    launch: Sequence[OptionKey],
    name: str,
) -> None:
    """Make sure that a table holds known keys with values of their types.

    Args:
        table: as it was read.
        options: the keys that are options of the conversion.
        run: those that are options of a whole run.
        launch: those that describe a job.
        name: how messages call the table.

    Raises:
        ConfigurationError: it does not.
    """
    model = _model(options, run, launch)
    try:
        msgspec.convert(table, model)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_message(str(error), options, run, launch, name)) from error


def _model(
    options: Sequence[OptionKey], run: Sequence[OptionKey], launch: Sequence[OptionKey]
) -> type[msgspec.Struct]:
    job = _struct("Launch", [*_fields(launch), ("targets", _Texts), ("script-arguments", _Texts)])
    role = _struct("Role", [], required=[("samples", Literal["apart"])])
    own = _fields(options)
    script = _struct("Script", [*own, ("output", str), ("launch", job)], required=[("source", str)])
    return _struct(
        "Configuration",
        [
            *own,
            *_fields(run),
            ("select", list[str]),
            ("ignore", list[str]),
            ("exclude", list[str]),
            ("baseline", str),
            ("cache-dir", str),
            ("roles", dict[str, str | role]),  # type: ignore[valid-type]
            ("launch", job),
            ("script", list[script]),  # type: ignore[valid-type]
        ],
    )


def _struct(
    name: str, fields: Sequence[tuple[str, Any]], required: Sequence[tuple[str, Any]] = ()
) -> type[msgspec.Struct]:
    names = {_attribute(key): key for key, _ in (*required, *fields)}
    return msgspec.defstruct(
        name,
        [
            *((_attribute(key), kind) for key, kind in required),
            *((_attribute(key), kind | msgspec.UnsetType, msgspec.UNSET) for key, kind in fields),
        ],
        rename=names,
        forbid_unknown_fields=True,
        namespace={"__module__": __name__},
    )


def _attribute(key: str) -> str:
    return "key_" + key.replace("-", "_")


def _fields(options: Sequence[OptionKey]) -> list[tuple[str, Any]]:
    return [(option.name, _type_of(option)) for option in options]


def _type_of(option: OptionKey) -> Any:
    if option.several:
        return _Texts | dict[str, str | int | float]
    if option.kind == "flag":
        return bool
    if option.kind == "choice":
        return Literal[option.choices]
    if option.kind == "integer":
        return Annotated[int, msgspec.Meta(ge=option.least)] if option.least is not None else int
    # 3.10 as a number would be 3.1.
    return str if option.kind == "text" else str | int | float


def _message(
    text: str,
    options: Sequence[OptionKey],
    run: Sequence[OptionKey],
    launch: Sequence[OptionKey],
    name: str,
) -> str:
    unknown = _UNKNOWN.search(text)
    if unknown is not None:
        table = _table_of(unknown["place"] or "$")
        near = get_close_matches(unknown["key"], _keys(table, options, launch), 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        called = " ".join(filter(None, (_called(table, name), unknown["key"])))
        if table.startswith("script") and unknown["key"] in RUN_KEYS:
            return f"{called}: it holds for a whole run, and stands above the tables of scripts."
        return f"{called}: there is no such key{hint}"
    placed = _PLACE.match(text)
    if placed is None:
        return f"{name or 'the file'}: {text}."
    place = placed["place"].removeprefix("$").replace("[...]", "")
    table, _, key = place.rpartition(".")
    # An item of a list is named by the key of the list.
    key, _, item = key.partition("[")
    if item:
        table, key = f"{table}.{key}[{item}", ""
    called = " ".join(filter(None, (_called(table.lstrip("."), name), key)))
    reason = placed["reason"].removeprefix("Object ")
    known = {option.name: option for option in (*options, *run, *launch)}.get(key)
    if known is not None and known.kind == "choice" and not known.several:
        reason = f"it is one of {', '.join(known.choices)}"
    if key == "launch":
        reason += ', as in launch = { targets = ["torchrun"] }'
    reason = reason.replace("`", "").replace("array", "list").replace("object", "table")
    return f"{called}: {reason[:1].lower()}{reason[1:]}."


def _table_of(place: str) -> str:
    return place.removeprefix("$").lstrip(".")


def _called(table: str, name: str) -> str:
    """How a person finds a table in the file: the third ``[[...script]]`` is said so."""
    if not table:
        return name
    number = _TABLE.search(table)
    path = ".".join(filter(None, (name.strip("[]"), _INDEX.sub("", table))))
    if number is None:
        return f"[{path}]"
    return f"[[{path}]] no. {int(number[1]) + 1}"


def _keys(table: str, options: Sequence[OptionKey], launch: Sequence[OptionKey]) -> list[str]:
    if table.endswith("launch"):
        return [*(option.name for option in launch), "targets", "script-arguments"]
    if table.startswith("roles"):
        return ["samples"]
    own = [option.name for option in options]
    if table.startswith("script"):
        return [*own, "source", "output", "launch"]
    return [*own, *RUN_KEYS]
