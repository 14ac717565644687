"""Dicts that the script has not made: of names, attributes, modules and the environment.

``globals()["scale"]`` is the name ``scale`` of the module, ``vars(Config)["scale"]`` an attribute
of the class, ``sys.modules["numpy"]`` a module, and what is put into ``os.environ`` is there for
the whole process. Only keys that are written are followed.
"""

from __future__ import annotations

from transpile.facts.expressions.containers import Containers
from transpile.facts.state import call_frames, external
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Value,
    Values,
    join,
    only_constant,
)

ENVIRONMENT = "os.environ"
#: Functions that read one of its entries.
READING = frozenset({"os.getenv", "os.environ.get", "os.environ.pop", "os.environ.__getitem__"})
#: Functions that give the module of a name; of those that are asked for, it may not be there.
MODULES = "sys.modules"
IMPORTING = frozenset({"importlib.import_module", "builtins.__import__"})
ASKING = frozenset({"sys.modules.get", "sys.modules.__getitem__"})
#: Functions, or methods of such a dict, that set one entry, and those that set several.
SETTING = frozenset({"putenv", "setdefault", "__setitem__"})
UPDATING = frozenset({"update", "__ior__"})


class Namespaces(Containers):
    """The part of the interpreter that knows the dicts of names and of the environment."""

    def names_held(self, value: Value) -> dict[str, Values] | None:
        """What such a dict holds by name; None for other values."""
        if isinstance(value, External):
            return self.environment if value.name == ENVIRONMENT else None
        if not isinstance(value, Opaque):
            return None
        if value.kind == "attribute" and value.name == "__dict__" and len(value.operands[0]) == 1:
            return attributes_held(value.operands[0][0])
        if value.kind != "call" or len(value.callee) != 1:
            return None
        name = getattr(value.callee[0], "name", "")
        given = value.arguments.items
        if name == "builtins.vars" and len(given) == 1 and len(given[0].values) == 1:
            return attributes_held(given[0].values[0])
        if given or name not in ("builtins.globals", "builtins.locals", "builtins.vars"):
            return None
        if name != "builtins.globals" and call_frames(self.stack):
            return None
        return value.module.scope.names if value.module.scope is not None else None

    def named_item(self, base: Value, key: Constant | None) -> Values:
        """What such a dict holds under a key; nothing where that is not known."""
        if key is not None and base == External(MODULES):
            return self.module_named(str(key.value))
        held = self.names_held(base) if key is not None else None
        if held is None or key is None or not isinstance(key.value, str):
            return ()
        return held.get(key.value, ())

    def set_named(self, base: Value, keys: Values, values: Values) -> None:
        """``base[key] = values`` for such a dict."""
        held = self.names_held(base)
        if held is None:
            return
        for key in keys:
            if isinstance(key, Constant) and isinstance(key.value, str):
                self.set_attribute(held, key.value, values, definite=False)

    def change_named(self, base: Value, method: str, arguments: Arguments) -> None:
        """A method of such a dict that changes it."""
        if self.names_held(base) is None:
            return
        items = arguments.items
        if method in SETTING and len(items) == 2:
            self.set_named(base, items[0].values, items[1].values)
        for item in items if method in UPDATING else ():
            for key, values in entries_of(item):
                self.set_named(base, (Constant(key),), values)

    def module_named(self, name: str) -> Values:
        """The module of a name that is written: the project's own, or one from outside."""
        found = self.find_module(name, self.module)
        if found is None:
            return external(self.dialect.canonical(name))
        self.import_module(found)
        return (ModuleValue(found),)

    def module_called_for(self, name: str, arguments: Arguments) -> Values:
        """The module that a function gives by its name, written in full; nothing for others."""
        key = only_constant(arguments.items[0].values) if arguments.items else None
        if key is None or not isinstance(key.value, str) or key.value.startswith("."):
            return ()
        if name in ASKING:
            return join(self.module_named(key.value), (Constant(None),))
        if name in IMPORTING and len(arguments.items) == 1:
            # Where several are named, __import__ gives the first.
            whole = name.startswith("importlib.")
            found = self.module_named(key.value if whole else key.value.partition(".")[0])
            return found if isinstance(found[0], ModuleValue) else ()
        return ()

    def keep_outside(self, module: External, name: str, values: Values) -> None:
        """Keep what is computed and set as an attribute of a module from outside the project."""
        computed = tuple(value for value in values if isinstance(value, Opaque))
        if computed:
            dotted = self.dialect.canonical(f"{module.name}.{name}")
            self.set_attribute(self.environment, dotted, computed, definite=False)

    def read_environment(self, name: str, arguments: Arguments) -> Values:
        """What the script itself has put where a function reads the environment."""
        if name not in READING or not arguments.items:
            return ()
        keys = [key for key in arguments.items[0].values if isinstance(key, Constant)]
        return join(*(self.environment.get(str(key.value), ()) for key in keys))


def attributes_held(value: Value) -> dict[str, Values] | None:
    """The attributes of something by name; None where they are not known."""
    if isinstance(value, (Instance, Function)):
        return value.attributes
    if isinstance(value, Class):
        return value.scope.names
    if isinstance(value, ModuleValue) and value.module.scope is not None:
        return value.module.scope.names
    return None


def entries_of(item: Argument) -> list[tuple[str, Values]]:
    """What an argument of ``update`` puts into a dict, by the keys that are known."""
    if item.keyword is not None:
        return [(item.keyword, item.values)]
    return [
        (key, entry.values)
        for value in item.values
        if isinstance(value, Mapping)
        for key, entry in value.entries.items()
        if isinstance(key, str)
    ]
