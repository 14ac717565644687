"""Files and downloads of which each process has its own, or that a library locks."""

from __future__ import annotations

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import (
    Class,
    Constant,
    External,
    Opaque,
    Value,
    Values,
    only_constant,
)
from transpile.plan.effects.effects import Effect
from transpile.plan.effects.readback import PATHS
from transpile.plan.graph import called_names, walk_back
from transpile.rules.pytorch.audit._data import Sharing, loaders_of
from transpile.rules.pytorch.effects._once import VOCABULARY

#: Libraries that lock what they fetch, so that processes of a machine may come at once.
LOCKING = ("transformers.", "diffusers.", "datasets.", "huggingface_hub.", "timm.", "tokenizers.")
#: What fetches into a file of another name first, which it then moves in one step.
MOVING = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.", "torchvision.models.")
#: What gives each process another text.
UNIQUE = ("uuid.uuid1", "uuid.uuid4", "os.getpid", "secrets.token_")

#: Arguments of a ``from_pretrained`` that name a file of weights.
WEIGHT_FILES = ("weights_path", "checkpoint_path", "state_dict")


def whose(callee: Value) -> list[str]:
    """The name of a function, or of the module out of whose names it is picked."""
    while isinstance(callee, Opaque) and callee.kind in ("item", "attribute") and callee.operands:
        if len(callee.operands[0]) != 1:
            return []
        callee = callee.operands[0][0]
    if isinstance(callee, Class):
        return [name for name in callee.external_bases() if name.startswith(LOCKING)]
    return [f"{callee.name}."] if isinstance(callee, External) else []


def is_local(effect: Effect) -> bool:
    """Whether a download is locked by its library, or fetches nothing from elsewhere."""
    for event in effect.events:
        names = [name for callee in event.callee for name in whose(callee)]
        source = event.arguments.get("source", 99)
        constant = only_constant(source.values) if source is not None else None
        local = (constant is not None and constant.value == "local") or is_given_folder(event)
        if not local and not (names and all(name.startswith(LOCKING + MOVING) for name in names)):
            return False
    return True


def is_given_folder(event: Event) -> bool:
    """Whether ``from_pretrained`` is told a file of weights, or something that is no name."""
    function = getattr(event.node, "func", None)
    if not isinstance(function, cst.Attribute) or function.attr.value != "from_pretrained":
        return False
    for keyword in WEIGHT_FILES:
        file = event.arguments.keyword(keyword)
        if file is not None and file.values != (Constant(None),):
            return True
    first = event.arguments.positional()[:1]
    return bool(first) and not any(isinstance(value, Constant) for value in first[0].values)


def is_unpacked(effect: Effect) -> bool:
    """Whether an archive is unpacked into a temporary folder of the process's own."""
    return any(
        to_nowhere(argument.values)
        for event in effect.events
        if (argument := event.arguments.get("path", 0)) is not None
    )


def is_touched(effect: Effect) -> bool:
    """Whether a file is only made where it is missing, as by ``with open(path, "a"): pass``."""
    if effect.word == "touch()":
        return True
    around = effect.module.source.parent(effect.node)
    unused = isinstance(around, cst.WithItem) and around.asname is None
    closed = isinstance(around, cst.Attribute) and around.attr.value == "close"
    return (unused or closed) and all(map(adds, effect.events))


def adds(event: Event) -> bool:
    """Whether a file is opened to be added to."""
    mode = event.arguments.get("mode", 1)
    constant = only_constant(mode.values) if mode is not None else None
    return constant is not None and str(constant.value).startswith("a")


def written_at(effect: Effect) -> tuple[str, int]:
    """The keyword and position of the path that is written; of what is moved, where it was."""
    if effect.word.startswith(("os.", "shutil.move")):
        return "src", 0
    return VOCABULARY.paths.get(effect.word) or PATHS.get(effect.word, ("file", 0))


def own_path(audit: Audit, ranks: Ranks, effect: Effect) -> bool:
    """Whether each process writes a file of its own, or none."""
    keyword, position = written_at(effect)
    for event in effect.events:
        argument = event.arguments.get(keyword, position)
        values: Values = argument.values if argument is not None else ()
        receivers = [
            value
            for callee in event.callee
            if isinstance(callee, Opaque) and callee.kind == "attribute"
            for value in callee.operands[0]
        ]
        if depends(ranks, (*values, *receivers)):
            return True
    others = audit.second.events_at.get(id(effect.node), [])
    for event in others:
        argument = event.arguments.get(keyword, position)
        if argument is not None and to_nowhere(argument.values):
            return True
    return False


def depends(ranks: Ranks, values: Values) -> bool:
    """Whether values are made of a process's number, which may not only say where data is put."""
    files: list[Values] = []

    def enters(value: Value) -> bool:
        if "torch.load" not in called_names(value):
            return True
        assert isinstance(value, Opaque)
        # What is read is that of the file, on whichever device.
        files.extend(item.values for item in value.arguments.items[:1])
        return False

    if any(ranks.tells(value) for value in walk_back(values, enters)):
        return True
    return any(ranks.depend(file) for file in files)


def names_share(audit: Audit, effect: Effect) -> bool:
    """Whether the names of files come from batches of which each process has its own."""
    loaders = loaders_of(audit)
    shared = {
        id(loader.value)
        for loader in audit.plan.loaders
        if loaders.sharing(loader) is not Sharing.WHOLE
    }
    keyword, position = written_at(effect)
    for event in effect.events:
        argument = event.arguments.get(keyword, position)
        for value in walk_back(argument.values) if argument is not None and shared else ():
            if isinstance(value, Opaque) and value.kind == "element":
                if any(id(one) in shared for one in walk_back(value.operands[0], is_operation)):
                    return True
    return False


def to_nowhere(values: Values) -> bool:
    """Whether a file is a temporary one, has a name that no other has, or is no file at all."""
    for value in walk_back(values):
        if value == External("os.devnull"):
            return True
        if any(name.startswith(("tempfile.", "io.", *UNIQUE)) for name in called_names(value)):
            return True
    constant = only_constant(values)
    return constant is not None and constant.value == "/dev/null"


def is_operation(value: object) -> bool:
    """Whether a value is made of others by an operator."""
    return isinstance(value, Opaque) and value.kind == "operation"
