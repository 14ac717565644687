"""What a script's options and configuration files say where nobody says anything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transpile.arithmetic.formula import Formula, number
from transpile.facts.events import Event
from transpile.facts.values import (
    Argument,
    Arguments,
    Constant,
    External,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan

PARSING = frozenset(
    {"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"}
)
#: Decorators of commands to the words that they are called by.
CLICK_OPTIONS = frozenset({"click.option", "click.argument"})
LOADING = frozenset(
    {
        "yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "json.load",
        "omegaconf.OmegaConf.load", "json.loads",
    }
)  # fmt: skip
MOST_STEPS = 12
#: Stands for the default of what has none.
REQUIRED = object()


class Defaults:
    """The numbers behind options and configuration files of a script.

    Args:
        plan: the plan; its memo may hold ``project file``, a function from the path of a file of
            the project to its text, or None.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.files: dict[str, Any] = {}

    def of(self, value: Opaque) -> Formula | None:
        """The number that a value is by default; None where it is no option, or has no number."""
        found = self.plain(value)
        if found is None:
            return None
        content, because = found
        if type(content) not in (int, float):
            return None
        return number(content, because)

    def list_of(self, value: Opaque) -> list[Formula] | None:
        """The numbers of a list that a value is by default."""
        found = self.plain(value)
        if found is None or not isinstance(found[0], (list, tuple)):
            return None
        numbers = [each for each in found[0] if type(each) in (int, float)]
        if len(numbers) != len(found[0]):
            return None
        return [number(each, found[1]) for each in numbers]

    def plain(self, value: Opaque) -> tuple[Any, str] | None:
        """The plain content behind a value, and where it stands."""
        if value.kind == "attribute":
            found = self.of_parser(value)
            if found is not None:
                return found
        if value.kind == "parameter":
            return self.of_command(value)
        return self.of_file(value)

    # Argument parsers.

    def of_parser(self, value: Opaque) -> tuple[Any, str] | None:
        """What ``args.name`` is where the command line does not say it."""
        parsers = [
            receiver
            for behind in walk_back(value.operands[0], is_handed_on)
            if isinstance(behind, Opaque) and behind.kind == "call"
            for callee in behind.callee
            if isinstance(callee, Opaque) and callee.name in PARSING and callee.operands
            for receiver in callee.operands[0]
        ]
        if not parsers:
            return None
        declared = [
            found
            for event in self.plan.facts.reached_calls
            if belongs(event, parsers)
            for found in declarations(event, value.name)
        ]
        contents = {repr(content) for _, content in declared}
        if len(contents) != 1:
            return None
        option, content = declared[0]
        if content is REQUIRED:
            return None
        return content, f"{show(content)} is the default of {option}"

    # Commands of click and typer.

    def of_command(self, value: Opaque) -> tuple[Any, str] | None:
        """What a parameter of a command is where the command line does not say it."""
        function = self.plan.facts.functions.get(id(value.node))
        if function is None:
            return None
        for values in function.decorators:
            for decorator in values:
                if not any(name in CLICK_OPTIONS for name in called_names(decorator)):
                    continue
                assert isinstance(decorator, Opaque)
                given = decorator.arguments
                words = [text for item in given.positional() if (text := text_of(item))]
                if click_name(words) != value.name:
                    continue
                default = given.keyword("default")
                content = content_of(default.values) if default is not None else None
                option = next((word for word in words if word.startswith("-")), value.name)
                return content, f"{show(content)} is the default of {option}"
        return None

    # Configuration files.

    def of_file(self, value: Opaque) -> tuple[Any, str] | None:
        """What an entry of a configuration file of the project is."""
        keys: list[Any] = []
        current: Value = value
        for _ in range(MOST_STEPS):
            if not isinstance(current, Opaque):
                return None
            if any(name in LOADING for name in called_names(current)):
                return self.entry(current, list(reversed(keys)))
            step = entered(current)
            if step is None:
                return None
            key, behind = step
            keys.append(key)
            if len(behind) != 1:
                return None
            current = behind[0]
        return None

    def entry(self, loading: Opaque, keys: list[Any]) -> tuple[Any, str] | None:
        """The entry under some keys of the file that a call loads."""
        path = self.path_of(loading)
        if not keys or path is None:
            return None
        content = self.load(path)
        for key in keys:
            try:
                content = content[key]
            except (KeyError, IndexError, TypeError):
                return None
        return content, f"{show(content)} is {'.'.join(map(str, keys))} in {path}"

    def path_of(self, loading: Opaque) -> str | None:
        """The path of the file that a call loads, where the script says it."""
        first = loading.arguments.items[:1]
        for value in walk_back(first[0].values if first else ()):
            text = None
            if isinstance(value, Constant):
                text = value.value
            elif isinstance(value, Opaque) and value.kind in ("attribute", "parameter"):
                found = self.of_parser(value) if value.kind == "attribute" else None
                found = self.of_command(value) if value.kind == "parameter" else found
                text = found[0] if found is not None else None
            if isinstance(text, str) and text.endswith((".yaml", ".yml", ".json")):
                return text
        return None

    def load(self, path: str) -> Any:
        """The content of a configuration file; None where it cannot be read."""
        if path not in self.files:
            text = self.plan.text_beside(path)
            self.files[path] = parsed(path, text) if text is not None else None
        return self.files[path]


def is_handed_on(value: Value) -> bool:
    """Whether to look further behind a value for the call that parses the command line."""
    if not isinstance(value, Opaque):
        return False
    parses = any(isinstance(c, Opaque) and c.name in PARSING for c in value.callee)
    return value.kind in ("item", "element", "call") and not parses


def belongs(event: Event, parsers: list[Value]) -> bool:
    """Whether a call is of a parser's method, or of one of its groups."""
    return any(
        isinstance(callee, Opaque)
        and callee.name in ("add_argument", "set_defaults")
        and any(
            any(behind is parser for parser in parsers)
            for behind in walk_back(callee.operands[0], lambda v: isinstance(v, Opaque))
        )
        for callee in event.callee
    )


def declarations(event: Event, name: str) -> Iterator[tuple[str, Any]]:
    """The option and the default that a call gives to ``args.name``."""
    given = event.arguments
    if any(isinstance(c, Opaque) and c.name == "set_defaults" for c in event.callee):
        changed = given.keyword(name)
        if changed is not None:
            yield f"'{name}'", content_of(changed.values)
        return
    words = [text for item in given.positional() if (text := text_of(item))]
    long = next((word for word in words if word.startswith("--")), words[0] if words else "")
    dest = given.keyword("dest")
    stored = text_of(dest) if dest is not None else long.lstrip("-").replace("-", "_")
    if stored != name:
        return
    default, kind = given.keyword("default"), given.keyword("type")
    content = content_of(default.values) if default is not None else None
    if default is None:
        content = undeclared(given, words)
    if isinstance(content, str) and kind is not None:
        content = converted(content, kind.values)
    yield long, content


def undeclared(given: Arguments, words: list[str]) -> Any:
    """What an option without a default is."""
    action = given.keyword("action")
    flag = text_of(action) if action is not None else ""
    if flag in ("store_true", "store_false"):
        return flag == "store_false"
    required = given.keyword("required")
    is_required = required is not None and content_of(required.values) is not False
    return REQUIRED if is_required or not any(word.startswith("-") for word in words) else None


def converted(text: str, kind: Values) -> Any:
    """What a parser makes of a default that is text."""
    names = {value.name for value in kind if isinstance(value, External)}
    try:
        if names == {"builtins.int"}:
            return int(text)
        if names == {"builtins.float"}:
            return float(text)
    except ValueError:
        pass
    return text


def entered(value: Opaque) -> tuple[Any, Values] | None:
    """The key that an access has, and what it looks into."""
    if value.kind == "attribute":
        return value.name, value.operands[0]
    if value.kind == "item" and len(value.index) == 1 and isinstance(value.index[0], Constant):
        return value.index[0].value, value.operands[0]
    if value.kind == "call" and len(value.callee) == 1 and value.arguments.items:
        callee = value.callee[0]
        first = value.arguments.items[0].values
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "get":
            if len(first) == 1 and isinstance(first[0], Constant):
                return first[0].value, callee.operands[0]
    return None


def click_name(words: list[str]) -> str:
    """The parameter that the words of a click option name."""
    plain = [word for word in words if not word.startswith("-")]
    if plain:
        return plain[0]
    long = [word for word in words if word.startswith("--")] or words
    return long[0].partition("/")[0].lstrip("-").replace("-", "_").lower() if long else ""


def parsed(path: str, text: str) -> Any:
    """The content of a configuration file."""
    try:
        if path.endswith(".json"):
            import json

            return json.loads(text)
        from ruamel.yaml import YAML

        return YAML(typ="safe", pure=True).load(text)
    except Exception:
        return None


def text_of(argument: Argument) -> str:
    """The text that an argument is; empty for anything else."""
    content = content_of(argument.values)
    return content if isinstance(content, str) else ""


def content_of(values: Values) -> Any:
    """The constant, or the list of constants, that a value is; None for anything else."""
    if len(values) != 1:
        return None
    value = values[0]
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Sequence) and not value.rest:
        return [content_of(each) for each in value.elements]
    return None


def show(content: Any) -> str:
    """A default as a person reads it."""
    return repr(content)
