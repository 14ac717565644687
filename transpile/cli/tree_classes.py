"""Loading libcst in half the time: its classes of nodes are finished with their first objects.

The standard library compiles up to eight methods for each of two hundred data classes where they
are defined, which takes longer than all else that loading libcst does; a conversion makes objects
of sixty of them. They come from the parser, which makes no invalid ones, so that they are not
validated a second time. Only the command loads libcst in this way: a program that uses this package
as a library gets libcst as it is.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

_NODES = "libcst._nodes."
_METADATA = "libcst.metadata"


def load_libcst() -> None:
    """Import libcst, with classes of nodes that are finished when they are needed."""
    if "libcst" in sys.modules:
        return
    usual = dataclasses.dataclass

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        def make(cls: type) -> Any:
            if not cls.__module__.startswith(_NODES) or options != {"frozen": True}:
                return usual(cls, **options)
            return _unfinished(cls, usual)

        return make if cls is None else make(cls)

    dataclasses.dataclass = dataclass
    _leave_metadata_out()
    try:
        import libcst  # noqa: F401
    except Exception:
        # Another release of libcst or of Python, perhaps: then as it is.
        for name in [name for name in sys.modules if name.partition(".")[0] == "libcst"]:
            del sys.modules[name]
    finally:
        dataclasses.dataclass = usual
        # Whoever asks for it gets all of it.
        sys.modules.pop(_METADATA, None)


def _leave_metadata_out() -> None:
    """Let libcst import the two modules of its metadata that it needs without their package.

    The package imports everything that computes metadata, with a client of a type checker.
    """
    found = importlib.util.find_spec("libcst")
    if found is None or not found.submodule_search_locations:
        return
    package = ModuleType(_METADATA)
    package.__path__ = [os.path.join(home, "metadata") for home in found.submodule_search_locations]
    sys.modules[_METADATA] = package


def _unfinished(cls: type, usual: Any) -> type:
    """A frozen data class whose initialiser is compiled with its first object."""

    def initialise(self: Any, *args: Any, **keywords: Any) -> None:
        # Not `cls`: what gives a class its slots makes another one of it.
        own = next(k for k in type(self).__mro__ if k.__dict__.get("__init__") is initialise)
        compiled = _initialiser(own)
        own.__init__ = compiled  # type: ignore[misc]
        compiled(self, *args, **keywords)

    if not cls.__dict__.get("__doc__"):
        # Otherwise a signature would be worked out for it.
        cls.__doc__ = cls.__name__
    made: Any = usual(cls, init=False, repr=False, eq=False)
    if "__init__" not in cls.__dict__:
        made.__init__ = initialise
    made.__setattr__ = _refuse_to_set
    made.__delattr__ = _refuse_to_delete
    return made  # type: ignore[no-any-return]


def _initialiser(cls: Any) -> FunctionType:
    """The initialiser of a class, compiled."""
    known: dict[str, Any] = {"_missing": dataclasses.MISSING, "_set": object.__setattr__}
    parameters, lines = [], []
    for field in dataclasses.fields(cls):
        name, given = field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            given = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        slot = next((k.__dict__[name] for k in cls.__mro__ if name in k.__dict__), None)
        if isinstance(slot, MemberDescriptorType):
            # Half the time of the general way, for tens of thousands of nodes.
            known[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {given})")
        else:
            lines.append(f"_set(self, {name!r}, {given})")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__(self, {', '.join(parameters)}):\n    {body}", known)
    made: FunctionType = known["__init__"]
    return made


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
