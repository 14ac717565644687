"""Data classes that cost next to nothing until the first of their objects is made.

A conversion defines over a hundred data classes and makes objects of some of them. The standard
library compiles up to six methods for each of them where it is defined, which takes as long as the
rest of loading this tool. Here the initialiser is compiled with the first object, and what compares
and shows objects is shared by all classes. For a type checker they are ordinary data classes.

Classes whose objects users of the library hold are ordinary ones at run time, too; in the command,
which has no such users, they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from dataclasses import dataclass as shown_dataclass
else:
    from operator import attrgetter, ge, gt, le, lt

    class _Factory:
        """A default that is recreated for each object."""

        __slots__ = ("make",)

        def __init__(self, make: Any) -> None:
            self.make = make

    _UNSET = object()
    _ORDER = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}

    class _Fields:
        """What the standard library's functions on data classes look for, made when they do."""

        def __get__(self, made: Any, cls: type) -> Any:
            import dataclasses

            described = []
            for name in _names(cls):
                default = getattr(cls, name, _UNSET)
                if isinstance(default, _Factory):
                    default = dataclasses.field(default_factory=default.make)
                described.append((name, Any) if default is _UNSET else (name, Any, default))
            fields = dataclasses.make_dataclass(cls.__name__, described).__dataclass_fields__
            cls.__dataclass_fields__ = fields
            return fields

    _FIELDS = _Fields()

    def field(*, default_factory: Any) -> Any:
        """A field whose default is recreated for each object."""
        return _Factory(default_factory)

    def shown_dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a class a data class, and an ordinary one where others than the command see it."""
        if in_command:
            return dataclass(cls, **options)
        import dataclasses

        return dataclasses.dataclass(cls, **options)

    def dataclass(
        cls: type | None = None, /, *, eq: bool = True, frozen: bool = False, order: bool = False
    ) -> Any:
        """Make a class a data class; see :func:`dataclasses.dataclass`."""

        def make(cls: type) -> type:
            def initialise(self: Any, *args: Any, **keywords: Any) -> None:
                cls.__init__ = _initialiser(cls, frozen)
                cls.__init__(self, *args, **keywords)

            initialise.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = initialise
            if frozen:
                cls.__setattr__ = _refuse_to_set
                cls.__delattr__ = _refuse_to_delete
            if eq:
                _compare_by_fields(cls, frozen, order)
            cls.__dataclass_fields__ = _FIELDS
            if "__repr__" not in cls.__dict__:
                cls.__repr__ = _represent
            return cls

        return make if cls is None else make(cls)

    def replace(made: Any, /, **changes: Any) -> Any:
        """A copy of an object with other values for some fields."""
        cls = type(made)
        names = _names(cls)
        for name in changes:
            if name not in names:
                raise TypeError(f"{cls.__name__} has no field '{name}'")
        copy = object.__new__(cls)
        values, own = copy.__dict__, made.__dict__
        for name in names:
            values[name] = changes[name] if name in changes else own[name]
        if hasattr(cls, "__post_init__"):
            copy.__post_init__()
        return copy

    def _names(cls: type) -> tuple[str, ...]:
        """The fields of a class, those of its bases first."""
        names = cls.__dict__.get("__record_fields__")
        if names is None:
            found: dict[str, None] = {}
            for base in reversed(cls.__mro__[:-1]):
                for name, annotation in getattr(base, "__annotations__", {}).items():
                    if not str(annotation).startswith("ClassVar"):
                        found[name] = None
            names = tuple(found)
            cls.__record_fields__ = names
        return names

    def _initialiser(cls: type, frozen: bool) -> Any:
        """The initialiser of a class, compiled."""
        known: dict[str, Any] = {"_UNSET": _UNSET}
        parameters, lines = [], ["_own = self.__dict__"] if frozen else []
        for name in _names(cls):
            default = getattr(cls, name, _UNSET)
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
            target = f"_own['{name}']" if frozen else f"self.{name}"
            lines.append(f"{target} = {given}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        body = "\n    ".join(lines or ["pass"])
        exec(f"def __init__(self, {', '.join(parameters)}):\n    {body}", known)
        return known["__init__"]

    def _compare_by_fields(cls: type, frozen: bool, order: bool) -> None:
        """Let objects of a class be equal where their fields are, and have a hash where frozen."""

        def key() -> Any:
            names = _names(cls)
            cls.__record_key__ = get = attrgetter(*names) if names else lambda made: ()
            return get

        def equal(self: Any, other: Any) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            get = cls.__dict__.get("__record_key__") or key()
            return self is other or get(self) == get(other)

        def comparison(compare: Any) -> Any:
            def compared(self: Any, other: Any) -> Any:
                if other.__class__ is not self.__class__:
                    return NotImplemented
                get = cls.__dict__.get("__record_key__") or key()
                return compare(get(self), get(other))

            return compared

        for word, compare in _ORDER.items() if order else ():
            setattr(cls, word, comparison(compare))

        def hashed(self: Any) -> int:
            return hash((cls.__dict__.get("__record_key__") or key())(self))

        if "__eq__" not in cls.__dict__:
            cls.__eq__ = equal
        if "__hash__" not in cls.__dict__ or cls.__dict__["__hash__"] is None:
            cls.__hash__ = hashed if frozen else None

    def _represent(self: Any) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in _names(type(self)))
        return f"{type(self).__qualname__}({parts})"

    def _refuse_to_set(self: Any, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field '{name}' of {type(self).__qualname__}")

    def _refuse_to_delete(self: Any, name: str) -> None:
        raise AttributeError(f"cannot delete field '{name}' of {type(self).__qualname__}")


#: Whether the process is the command's own; set before anything else is loaded.
in_command = False

__all__ = ["dataclass", "field", "in_command", "replace", "shown_dataclass"]
