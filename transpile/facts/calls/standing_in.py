"""Functions outside the project that put one function in another's place, or only look at it."""

from __future__ import annotations

import builtins

from transpile.facts.values import (
    Arguments,
    BoundMethod,
    External,
    Function,
    Opaque,
    Partial,
    Values,
)

#: What makes a function look like another one, and gives it back.
UPDATES = "functools.update_wrapper"
#: What gives a decorator that does so.
WRAPS = "functools.wraps"
#: What gives a function that remembers its results, or a decorator that does.
REMEMBERS = frozenset({"functools.lru_cache", "functools.cache"})
#: What says something of a function, and never calls it.
ASKS = frozenset(
    {
        UPDATES,
        WRAPS,
        *(
            f"builtins.{name}"
            for name in ("callable", "hasattr", "hash", "id", "isinstance", "print", "repr", "str",
                         "type")
        ),
        "asyncio.iscoroutinefunction",
        "typing.cast",
        "typing.get_type_hints",
    }
)  # fmt: skip
ASKING_MODULES = ("inspect.",)
#: What gives an object that acts as its first argument, and what gives one back when called.
PROXY = "weakref.proxy"
REFERENCES = (External("weakref.ref"), External("weakref.WeakMethod"))


def never_calls(name: str) -> bool:
    """Whether what is outside the project leaves the functions uncalled that it is given."""
    if name in ASKS or name.startswith(ASKING_MODULES):
        return True
    raised = getattr(builtins, name.removeprefix("builtins."), None)
    return isinstance(raised, type) and issubclass(raised, BaseException)


def stood_in(callee: External | Opaque, arguments: Arguments) -> Values | None:
    """The function that looks like another one from now on; None where no call does that."""
    if remembers(callee):
        given = arguments.items[0].values if arguments.items else ()
        # Without a function it gives a decorator.
        own = bool(given) and all(isinstance(v, (BoundMethod, Function, Partial)) for v in given)
        return given if own else None
    if isinstance(callee, External):
        wrapper = arguments.get("wrapper", 0) if callee.name == UPDATES else None
        return wrapper.values if wrapper is not None else None
    if callee.kind != "call" or callee.callee != (External(WRAPS),):
        return None
    return arguments.items[0].values if arguments.items else None


def remembers(callee: External | Opaque) -> bool:
    """Whether what is called gives a function back that remembers its results."""
    if isinstance(callee, External):
        return callee.name in REMEMBERS
    made = callee.callee if callee.kind == "call" else ()
    return any(isinstance(one, External) and one.name in REMEMBERS for one in made)


def referred_to(callee: Opaque) -> Values:
    """The objects that a weak reference gives when it is called; none for other callees."""
    if callee.kind != "call" or not callee.arguments.items:
        return ()
    refers = any(made in REFERENCES for made in callee.callee)
    return callee.arguments.items[0].values if refers else ()
