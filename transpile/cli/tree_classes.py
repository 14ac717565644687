"""Loading of libcst what a conversion needs, in a fifth of the time.

Loading libcst costs more than reading a script with it. Three quarters of that are what a
conversion has no use for: metadata, matchers, a tokenizer of its own, classes of visitors with a
thousand empty methods, and up to eight methods that the standard library compiles for each of two
hundred data classes, of which a script needs sixty. Here the nodes are loaded without all that;
their initialisers are compiled with the first object, and what is left out is loaded by the first
name that asks for it. The parser makes no invalid nodes, so that they are not validated a second
time; and they are ordinary objects, which Python tells apart at once.

Only the command loads libcst in this way: a program that uses this package as a library gets libcst
as it is.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_NAME = "libcst"
_NODES = tuple(
    f"libcst._nodes.{name}" for name in ("whitespace", "op", "expression", "statement", "module")
)
_OTHERS = {
    "libcst._exceptions": ("CSTLogicError", "ParserSyntaxError"),
    "libcst._maybe_sentinel": ("MaybeSentinel",),
    "libcst._flatten_sentinel": ("FlattenSentinel",),
    "libcst._removal_sentinel": ("RemovalSentinel", "RemoveFromParent"),
    "libcst._visitors": ("CSTTransformer", "CSTVisitor"),
}
_PARSERS = ("parse_module", "parse_statement", "parse_expression")
_MATCHED, _OWN = "__match_args__", "_own_fields"
_UNSET: Any = object()


def load_libcst() -> None:
    """Import libcst, with classes of nodes that are finished when they are needed."""
    if _NAME in sys.modules:
        return
    try:
        _load()
    except Exception:
        # Another release of libcst or of Python, perhaps: then as it is.
        for name in [name for name in sys.modules if name.partition(".")[0] == _NAME]:
            del sys.modules[name]
        import libcst  # noqa: F401


def _load() -> None:
    spec = PathFinder.find_spec(_NAME)
    if spec is None or spec.loader is None:
        raise ImportError(_NAME)
    package = module_from_spec(spec)
    sys.modules[_NAME] = package
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    known = package.__dict__
    before = set(known)
    try:
        for name, words in _OTHERS.items():
            found = importlib.import_module(name)
            known.update({word: getattr(found, word) for word in words})
        for name in _NODES:
            known.update(
                (word, kind)
                for word, kind in vars(importlib.import_module(name)).items()
                if isinstance(kind, type) and kind.__module__.startswith("libcst._nodes.")
            )
        native = importlib.import_module("libcst.native")
    finally:
        sys.meta_path.remove(finder)

    def everything() -> None:
        """Load all that was left out; what is there stays as it is."""
        for word in names:
            known.pop(word, None)
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(package)

    def parser(word: str) -> Any:
        parse = getattr(native, word)

        def parse_text(source: Any, *others: Any, **named: Any) -> Any:
            if type(source) is str and not others and not named:
                return parse(source)
            everything()
            return known[word](source, *others, **named)

        return parse_text

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        everything()
        if name in known:
            return known[name]
        raise AttributeError(f"module {_NAME!r} has no attribute {name!r}")

    known.update({word: parser(word) for word in _PARSERS})
    known["__getattr__"] = attribute
    names = [word for word in known if word not in before]


class _Finder:
    """Finds the modules of libcst, for a loader that gives them other builtins."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is, as the usual finder says it."""
        if not name.startswith("libcst."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Runs a module with imports that give it stand-ins."""

    def exec_module(self, module: ModuleType) -> None:
        """Run it."""
        module.__dict__["__builtins__"] = _BUILTINS
        super().exec_module(module)


class _Instead(ModuleType):
    """Stands for a module: some of its names are others, and the rest is loaded when asked for."""

    def __init__(self, name: str, **words: Any) -> None:
        super().__init__(name)
        self.__dict__.update(words)

    def __getattr__(self, word: str) -> Any:
        return getattr(importlib.import_module(self.__name__), word)


def _import(
    name: str,
    known: Mapping[str, object] | None = None,
    local: Mapping[str, object] | None = None,
    words: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    if not level and name in _INSTEAD:
        return _INSTEAD[name]
    return builtins.__import__(name, known, local, words or (), level)


class _Factory:
    """A default that is made anew for each object."""

    def __init__(self, make: Any) -> None:
        self.make = make


class _FieldNames:
    """The names of a class's fields, worked out when somebody asks."""

    def __get__(self, made: object, cls: type) -> tuple[str, ...]:
        owner = _owner(cls, _MATCHED)
        names = tuple(_defaults(owner))
        setattr(owner, _MATCHED, names)
        return names


class _Described:
    """What the standard library looks for, made when it does."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __get__(self, made: object, cls: Any) -> Any:
        import dataclasses

        owner = _owner(cls, self.word)
        described: list[Any] = []
        for name, (annotation, default) in _defaults(owner).items():
            if default is _UNSET:
                described.append((name, annotation))
            elif isinstance(default, _Factory):
                field = dataclasses.field(default_factory=default.make)
                described.append((name, annotation, field))
            else:
                described.append((name, annotation, default))
        usual = dataclasses.make_dataclass(owner.__name__, described, frozen=owner._is_frozen)
        value = getattr(usual, self.word)
        setattr(owner, self.word, value)
        return value


def _owner(cls: type, word: str) -> Any:
    """The class that a name of a class comes from."""
    return next(base for base in cls.__mro__ if word in base.__dict__)


_ALONE = {"__eq__": object.__eq__, "__hash__": object.__hash__}
_DESCRIBED = {
    _MATCHED: _FieldNames(),
    **{word: _Described(word) for word in ("__dataclass_fields__", "__dataclass_params__")},
}


def _defaults(cls: type) -> dict[str, tuple[Any, Any]]:
    """Annotations and defaults of the fields of a class, those of its bases first."""
    found: dict[str, tuple[Any, Any]] = {}
    for base in reversed(cls.__mro__[:-1]):
        found.update(base.__dict__.get(_OWN, {}))
    return found


def _dataclass(cls: Any = None, /, **options: object) -> Any:
    """A data class whose initialiser is compiled with its first object."""

    def make(cls: Any) -> Any:
        def initialise(self: Any, *args: Any, **keywords: Any) -> None:
            made.__init__ = _initialiser(made)
            made.__init__(self, *args, **keywords)

        content: dict[str, Any] = dict(cls.__dict__)
        own = {
            name: (annotation, content.pop(name, _UNSET))
            for name, annotation in cls.__annotations__.items()
            if not name.startswith("__")
        }
        content.setdefault("__init__", initialise)
        # A node is itself alone: what libcst writes for that in Python is what objects do.
        content.update(_ALONE)
        content.update(_DESCRIBED)
        content[_OWN], content["_is_frozen"] = own, bool(options.get("frozen"))
        if "__slots__" in content:
            for word, value in content.items():
                if cls.__dict__.get(word) is not value:
                    setattr(cls, word, value)
            made: Any = cls
            return made
        inherited = {name for base in cls.__mro__ for name in base.__dict__.get(_OWN, ())}
        content["__slots__"] = tuple(name for name in own if name not in inherited)
        for word in ("__dict__", "__weakref__"):
            content.pop(word, None)
        made = type(cls)(cls.__name__, cls.__bases__, content)
        made.__qualname__ = cls.__qualname__
        return made

    return make if cls is None else make(cls)


def _initialiser(cls: Any) -> Any:
    """The initialiser of a class, compiled."""
    known: dict[str, Any] = {"_UNSET": _UNSET}
    parameters, lines = [], []
    for name, (_, default) in _defaults(cls).items():
        given = name
        if isinstance(default, _Factory):
            known[f"_make_{name}"] = default.make
            parameters.append(f"{name}=_UNSET")
            given = f"_make_{name}() if {name} is _UNSET else {name}"
        elif default is _UNSET:
            parameters.append(name)
        else:
            known[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f"self.{name} = {given}")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__(self, {', '.join(parameters)}):\n    {body}", known)
    return known["__init__"]


def _replace(made: Any, /, **changes: Any) -> Any:
    """A copy of a node with other values for some fields."""
    return type(made)(**{name: getattr(made, name) for name in made.__match_args__} | changes)


def _fields(made: Any) -> Any:
    import dataclasses

    return dataclasses.fields(made)


class _Base:
    """What classes derive from instead of ``abc.ABC``, with which Python is slow to tell kinds."""

    __slots__ = ()


class _NoMethods:
    """What visitors derive from instead of a class with an empty method for each kind of node."""


_INSTEAD: dict[str, ModuleType] = {
    "abc": _Instead("abc", ABC=_Base, abstractmethod=lambda method: method),
    "dataclasses": _Instead(
        "dataclasses",
        dataclass=_dataclass,
        field=lambda *, default_factory: _Factory(default_factory),
        fields=_fields,
        replace=_replace,
    ),
    "inspect": _Instead("inspect"),
    "libcst._add_slots": _Instead("libcst._add_slots", add_slots=lambda cls: cls),
    "libcst._typed_visitor": _Instead(
        "libcst._typed_visitor",
        CSTTypedTransformerFunctions=_NoMethods,
        CSTTypedVisitorFunctions=_NoMethods,
    ),
}
_BUILTINS = {**vars(builtins), "__import__": _import}
