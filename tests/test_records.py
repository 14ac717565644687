"""Data classes that are cheap to define behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transpile import records

Make = Callable[..., Any]
KINDS = pytest.mark.parametrize("kind", [records, dataclasses], ids=["own", "standard"])


@records.dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


def made(kind: Any, **options: bool) -> Any:
    """A class with every sort of field, and one that derives from it."""

    @kind.dataclass(**options)
    class Base:
        first: int
        second: str = "two"
        third: list[int] = kind.field(default_factory=list)
        values: tuple[int, ...] = (1,)

    @kind.dataclass(**options)
    class Derived(Base):
        fourth: int | None = None

        @property
        def total(self) -> int:
            return self.first + len(self.third)

    return Derived


@KINDS
def test_fields_are_given_by_position_and_by_name(kind: Any) -> None:
    cls = made(kind)
    one = cls(1, "b", [3], fourth=4)
    assert (one.first, one.second, one.third, one.fourth, one.total) == (1, "b", [3], 4, 2)
    assert one.values == (1,) and cls(1, values=(2,)).values == (2,)
    assert (cls(1).second, cls(1).third, cls(1).fourth) == ("two", [], None)


@KINDS
def test_defaults_that_are_made_are_not_shared(kind: Any) -> None:
    cls = made(kind)
    one, other = cls(1), cls(1)
    one.third.append(1)
    assert other.third == []


@KINDS
@pytest.mark.parametrize("given", [(), (1, "b", [], (), None, 5)])
def test_too_few_and_too_many_arguments_are_refused(kind: Any, given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        made(kind)(*given)


@KINDS
def test_equality_is_that_of_the_fields_within_one_class(kind: Any) -> None:
    cls, other = made(kind), made(kind)
    assert cls(1, third=[2]) == cls(1, third=[2])
    assert cls(1) != cls(2)
    assert cls(1) != other(1)
    assert made(kind, eq=False)(1) != made(kind, eq=False)(1)


@KINDS
def test_only_frozen_or_uncompared_objects_have_a_hash(kind: Any) -> None:
    with pytest.raises(TypeError):
        hash(made(kind)(1))
    same = made(kind, eq=False)(1)
    assert hash(same) == hash(same)

    @kind.dataclass(frozen=True)
    class Pair:
        left: int
        right: tuple[int, ...] = ()

    pair: Any = Pair
    assert hash(pair(1)) == hash(pair(1)) and len({pair(1), pair(1), pair(2)}) == 2


@KINDS
def test_a_comparison_of_its_own_is_kept(kind: Any) -> None:
    @kind.dataclass(frozen=True)
    class Own:
        number: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.number % 2 == other.number % 2

        def __hash__(self) -> int:
            return self.number % 2

    own: Any = Own
    assert own(1) == own(3) and len({own(1), own(3)}) == 1


@KINDS
def test_frozen_objects_stay_as_they_are(kind: Any) -> None:
    one = made(kind, frozen=True)(1)
    with pytest.raises(AttributeError):
        one.first = 2
    with pytest.raises(AttributeError):
        del one.first
    assert one.first == 1


@KINDS
def test_a_copy_with_other_values(kind: Any) -> None:
    cls = made(kind, frozen=True)
    one = cls(1, third=[7])
    changed = kind.replace(one, second="b", fourth=4)
    assert changed == cls(1, "b", [7], fourth=4) and one == cls(1, third=[7])
    with pytest.raises(TypeError):
        kind.replace(one, fifth=5)


def test_functions_of_the_standard_library_know_them() -> None:
    cls = made(records, frozen=True)
    one = cls(1, third=[7])
    assert dataclasses.replace(one, second="b") == cls(1, "b", [7])
    assert [field.name for field in dataclasses.fields(cls)] == [
        "first", "second", "third", "values", "fourth"
    ]  # fmt: skip
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0}
    assert dataclasses.is_dataclass(one)


@KINDS
def test_what_is_worked_out_afterwards_is_worked_out_for_copies_too(kind: Any) -> None:
    @kind.dataclass
    class Sized:
        parts: list[int]

        def __post_init__(self) -> None:
            self.size = len(self.parts)

    sized: Any = Sized
    assert sized([1]).size == 1
    assert kind.replace(sized([1]), parts=[1, 2]).size == 2


@KINDS
def test_objects_show_their_fields(kind: Any) -> None:
    assert repr(made(kind)(1)).endswith(
        "Derived(first=1, second='two', third=[], values=(1,), fourth=None)"
    )


def test_a_base_is_initialised_by_what_derives_from_it() -> None:
    class Named(Point):
        def __init__(self, name: str) -> None:
            super().__init__(1, 2)
            self.__dict__["name"] = name

    assert (Named("a").x, Named("a").y) == (1, 2)


def test_objects_can_be_copied_and_sent_to_a_process_that_has_made_none() -> None:
    assert copy.deepcopy(Point(1)) == Point(1)
    again = (
        "import pickle, sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_records import Point\n"
        "found = pickle.loads(bytes.fromhex(sys.argv[2]))\n"
        "assert found == found and len({found}) == 1 and (found.x, found.y) == (3, 4), found\n"
        "assert found == Point(3, 4)\n"
    )
    data = pickle.dumps(Point(3, 4)).hex()
    folder = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", again, folder, data], check=True)


@KINDS
def test_objects_can_be_ordered_by_their_fields(kind: Any) -> None:
    cls = made(kind, frozen=True, order=True)
    assert cls(1) < cls(2) and cls(2) > cls(1) and cls(1) <= cls(1) >= cls(1)
    assert sorted([cls(1, "b"), cls(1, "a")]) == [cls(1, "a"), cls(1, "b")]
    with pytest.raises(TypeError):
        _ = cls(1) < 1


def test_what_others_than_the_command_see_is_ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shown:
        first: int = 1

    assert records.shown_dataclass(Shown).__dict__["__dataclass_fields__"].keys() == {"first"}
    monkeypatch.setattr(records, "in_command", True)
    assert isinstance(records.shown_dataclass(Shown)(), Shown)
