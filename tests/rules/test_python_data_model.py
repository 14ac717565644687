"""Numbers of a batch that go through what classes say of their objects: Python's data model."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import operator
from functools import partialmethod, singledispatchmethod
from operator import methodcaller

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

{before}

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    out = net(xb)
    loss = nn.functional.mse_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    {body}
{after}
"""
CLASS = "class Meter:\n    worst = 0.0\n\n"
KEEP = "        self.worst = max(self.worst, value)\n"
PROPERTY = (
    "    @property\n    def loss(self):\n        return self.worst\n\n"
    "    @loss.setter\n    def loss(self, value):\n" + KEEP
)
MADE = "\n\nm = Meter()"
DESCRIPTOR = """\
class Worst:
    def __set_name__(self, owner, name):
        self.kept = "_" + name

    def __get__(self, instance, owner):
        return getattr(instance, self.kept, 0.0)

    def __set__(self, instance, value):
        setattr(instance, self.kept, max(getattr(instance, self.kept, 0.0), value))


class Meter:
    loss = Worst()
"""
META = """\
class Meta(type):
    def {head}:
        {body}


class Board(metaclass=Meta):
    table = {{}}
"""
SET_ITEM = META.format(
    head="__setitem__(cls, key, value)",
    body="cls.table[key] = max(cls.table.get(key, 0.0), value)",
)
CALLED = META.format(
    head="__call__(cls, value)",
    body='cls.table["loss"] = max(cls.table.get("loss", 0.0), value)',
)
BY_KIND = """\
class Meter:
    def __init__(self):
        self.worst, self.count = 0.0, 0

    @singledispatchmethod
    def put(self, value):
        raise TypeError

    @put.register
    def _(self, value: float):
        self.worst = max(self.worst, value)

    @put.register
    def _(self, value: int):
        self.count += value


m = Meter()"""
PARTIAL = """\
class Meter:
    def __init__(self):
        self.table = {}

    def put(self, key, value):
        self.table[key] = max(self.table.get(key, 0.0), value)

    loss = partialmethod(put, "loss")


m = Meter()"""
OWN_SET = (
    "    def __setattr__(self, name, value):\n        super().__setattr__(name, value)\n"
    '        if name == "last":\n            super().__setattr__("worst", max(self.worst, value))\n'
)
NUMBER = "loss.item()"
#: What keeps the worst loss, how it is given one, and how it is asked for it.
KEEPERS = {
    "a property": (CLASS + PROPERTY + MADE, f"m.loss = {NUMBER}", "print(m.loss)"),
    "a property of two functions": (
        CLASS
        + "    def read(self):\n        return self.worst\n\n    def keep(self, value):\n"
        + KEEP
        + "\n    loss = property(read, keep)"
        + MADE,
        f"m.loss = {NUMBER}",
        "print(m.loss)",
    ),
    "a property of the base": (
        CLASS + PROPERTY + "\n\nclass Own(Meter):\n    pass\n\n\nm = Own()",
        f"m.loss = {NUMBER}",
        "print(m.worst)",
    ),
    "a property by name": (
        CLASS + PROPERTY + MADE,
        f'setattr(m, "loss", {NUMBER})',
        "print(m.worst)",
    ),
    "a descriptor": (DESCRIPTOR + MADE, f"m.loss = {NUMBER}", "print(m.loss)"),
    "__setattr__": (CLASS + OWN_SET + MADE, f"m.last = {NUMBER}", "print(m.worst)"),
    "__delitem__": (
        CLASS + "    def __delitem__(self, value):\n" + KEEP + MADE,
        f"del m[{NUMBER}]",
        "print(m.worst)",
    ),
    "__contains__": (
        CLASS + "    def __contains__(self, value):\n" + KEEP + "        return True" + MADE,
        f"{NUMBER} in m",
        "print(m.worst)",
    ),
    "a metaclass's items": (SET_ITEM, f'Board["loss"] = {NUMBER}', 'print(Board.table["loss"])'),
    "a metaclass's call": (CALLED, f"Board({NUMBER})", 'print(Board.table["loss"])'),
    "the class of an object": (
        CLASS + "    def add(self, value):\n        type(self).worst += value" + MADE,
        f"m.add({NUMBER})",
        "print(m.worst)",
    ),
    "a method by name": ("found = []", f'methodcaller("append", {NUMBER})(found)', "print(found)"),
    "a part of a method": (PARTIAL, f"m.loss({NUMBER})", 'print(m.table["loss"])'),
    "a method by kind": (BY_KIND, f"m.put({NUMBER})", "print(m.worst)"),
    "an attribute by a part of its name": (
        'box = type("Box", (), {})()\nn = 3',
        f'setattr(box, f"at_{{n}}", max(box.at_3, {NUMBER}))',
        "print(box.at_3)",
    ),
}
OPERATORS = {
    "add": "m + value", "sub": "m - value", "mul": "m * value", "truediv": "m / value",
    "floordiv": "m // value", "mod": "m % value", "pow": "m ** value", "matmul": "m @ value",
    "lshift": "m << value", "rshift": "m >> value", "and": "m & value", "or": "m | value",
    "xor": "m ^ value", "radd": "value + m", "ror": "value | m", "ipow": "m **= value",
    "iadd": "m += value", "lt": "m < value", "ge": "m >= value", "eq": "m == value",
}  # fmt: skip
for method, operation in OPERATORS.items():
    KEEPERS[f"__{method}__"] = (
        CLASS + f"    def __{method}__(self, value):\n" + KEEP + "        return self" + MADE,
        operation.replace("value", NUMBER),
        "print(m.worst)",
    )
KEEPERS["a function of operator"] = (
    KEEPERS["__or__"][0],
    f"operator.or_(m, {NUMBER})",
    "print(m.worst)",
)


@pytest.mark.parametrize("name", KEEPERS)
def test_what_a_class_makes_of_a_number_is_followed(name: str) -> None:
    """The numbers of each process's share were reported in silence."""
    before, body, after = KEEPERS[name]
    text = convert(SCRIPT.format(before=before, body=body, after=after)).text
    assert body.replace(NUMBER, "reduce_mean(loss).item()") in text


def test_a_property_that_gives_a_number_is_given_one() -> None:
    """Its tensor was to be averaged where the number is read: that is none any more."""
    before = (
        "class Meter:\n    kept = None\n\n    @property\n    def loss(self):\n"
        "        return self.kept.item()\n\n    @loss.setter\n    def loss(self, value):\n"
        "        self.kept = value\n\n\nm = Meter()"
    )
    text = convert(
        SCRIPT.format(before=before, body="m.loss = loss.detach()", after="print(m.loss)")
    ).text
    assert "reduce_mean(m.loss)" not in text
    assert "reduce_mean(" in text


DATA = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    served = 0

    def __init__(self):
        self.x = torch.randn(64, 4)

    def __len__(self):
        return 64

    def __getitem__(self, i):
        {counts}.served += 1
        return self.x[i], self.x[i, :1]


rows = Rows()
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for xb, yb in DataLoader(rows, batch_size=16):
    loss = nn.functional.mse_loss(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
print({read}.served)
"""


@pytest.mark.parametrize("counts", ["self", "Rows", "type(self)", "self.__class__"])
@pytest.mark.parametrize("read", ["rows", "Rows"])
def test_what_a_data_set_counts_in_its_class_is_told(counts: str, read: str) -> None:
    """Each process counted its share."""
    found = convert(DATA.format(counts=counts, read=read))
    told = "PT229" in {finding.code for finding in found.findings}
    assert told == (counts != "self" or read == "rows")


INDEX = """\
class Level:
    value = 0.0

    def __index__(self):
        return min(1, int(self.value))


rates = [0.1, 0.2]
k = Level()"""


def test_a_position_is_the_number_that_an_object_stands_for() -> None:
    body = f'k.value = {NUMBER}\n    opt.param_groups[0]["lr"] = rates[k]'
    text = convert(SCRIPT.format(before=INDEX, body=body, after="")).text
    assert "k.value = reduce_mean(loss).item()" in text


TAKEN = ["seen.pop(c, None)", "if c in seen:\n            del seen[c]"]


@pytest.mark.parametrize("taken", TAKEN)
def test_keys_that_samples_take_out_are_not_those_of_other_processes(taken: str) -> None:
    body = f"for c in yb.flatten().tolist():\n        {taken}\n    if 0 in seen:\n        break"
    found = convert(SCRIPT.format(before="seen = {0: 1, 1: 2}", body=body, after=""))
    assert "PT712" in {finding.code for finding in found.findings}
