"""Which values nobody can know before the run: what arguments, variables and files say."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from transpile.facts.values import External, Instance, Opaque, Unknown, Value, Values
from transpile.plan.flow.start import PARSERS
from transpile.plan.graph import called_names, method_calls

#: Packages whose objects hold what a configuration or a command line says.
CONFIGURATIONS = frozenset(
    {
        "yaml", "ruamel", "toml", "tomli", "tomlkit", "omegaconf", "hydra", "absl", "click",
        "typer", "fire", "docopt", "dotenv", "decouple", "environ", "environs", "munch", "easydict",
        "addict", "ml_collections", "yacs", "dynaconf", "confuse", "jsonargparse",
        "configargparse", "tap", "simple_parsing", "pydantic", "pydantic_settings", "json5",
        "hjson", "requests", "wandb",
    }
)  # fmt: skip
#: Modules of the standard library that give back what they are given: tensors and models, too.
CARRIERS = frozenset(
    {
        "builtins", "collections", "concurrent", "contextlib", "copy", "functools", "heapq",
        "itertools", "multiprocessing", "operator", "pickle", "queue", "random", "shelve",
        "threading", "typing", "weakref",
    }
)  # fmt: skip
#: Functions that give what stands outside of the script, or what their argument is made of.
READING = frozenset({"builtins.open", "builtins.input", "builtins.eval", "builtins.globals"})
PASSING = frozenset({"builtins.int", "builtins.str", "builtins.getattr", "builtins.vars"})
#: Modules of the standard library whose objects have the attributes that scripts choose.
HOLDERS = frozenset({"argparse", "builtins", "importlib", "optparse", "runpy", "types"})
#: Attributes of tensors that are no devices.
OF_TENSORS = frozenset({"dtype", "data", "weight"})
MODULES = frozenset({"torch.nn.Module"})


def comes_from_outside(value: Value) -> bool:
    """Whether a value is what the user of the script chose: an argument, a configuration."""
    current: Value = value
    of_object = isinstance(value, Opaque) and value.kind == "attribute"
    for _ in range(20):
        if isinstance(current, External):
            return is_outside(current.name, of_object) and current is not value
        if not isinstance(current, Opaque):
            return False
        if current.kind == "parameter":
            return current is value
        if current.kind in ("attribute", "item", "element"):
            if current.name in OF_TENSORS:
                return False
            base = current.operands[0]
            if current.kind == "attribute" and any(
                isinstance(b, Opaque) and is_set_otherwise(b, current) for b in base
            ):
                return False
        elif current.kind == "call":
            if any(name in PARSERS for name, _ in method_calls(current)):
                return True
            names = called_names(current)
            if any(is_outside(name, of_object) for name in names):
                return True
            base = next((receiver for _, receiver in method_calls(current)), ())
            if names and set(names) <= PASSING:
                given = current.arguments.get("object", 0)
                base = given.values if given is not None else ()
        else:
            return False
        if len(base) != 1:
            return False
        current = base[0]
    return False


def is_set_otherwise(base: Opaque, read: Opaque) -> bool:
    """Whether the script sets an attribute to something else than what it held before."""
    stored = base.attributes.get(read.name)
    return stored is not None and not any(value is read for value in stored)


def is_outside(name: str, of_object: bool = False) -> bool:
    """Whether a name outside of the project gives what nobody knows before the run.

    Args:
        name: the name.
        of_object: whether an attribute of what it gives is asked for, which numbers and texts have
            not.
    """
    package = name.partition(".")[0]
    if name in READING or package in CONFIGURATIONS:
        return True
    if of_object and package not in HOLDERS:
        return False
    return package in sys.stdlib_module_names and package not in CARRIERS


def named_devices(values: Values) -> Iterator[Value]:
    """Devices, and what ``torch.device`` makes them of."""
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, Opaque) and "torch.device" in called_names(value):
            pending += [one for item in value.arguments.items for one in item.values]


def is_chosen_outside(values: Values) -> bool:
    """Whether a device is one that the run alone knows, or is made by ``torch.device`` of one."""
    for value in named_devices(values):
        if isinstance(value, Unknown) or comes_from_outside(value):
            return True
        if isinstance(value, Opaque) and value.kind == "operation":
            if any(comes_from_outside(one) for group in value.operands for one in group):
                return True
    return False


def may_be_any(values: Values) -> bool:
    """Whether nothing in the project says which device values in the place of one are.

    Entries of containers that are filled elsewhere, and attributes that nobody sets, may be any.
    """
    for value in named_devices(values):
        if isinstance(value, Unknown):
            return True
        if not isinstance(value, Opaque) or "torch.device" in called_names(value):
            continue
        if value.kind == "item" or (
            value.kind == "attribute" and value.name not in OF_TENSORS and not is_device_of(value)
        ):
            return True
    return False


def is_device_of(value: Opaque) -> bool:
    """Whether an attribute is the device of a tensor or model, not of an object of the script."""
    return value.name == "device" and not any(
        isinstance(base, Instance) and MODULES.isdisjoint(base.cls.external_bases())
        for base in value.operands[0]
    )
