"""Lines that conversions make longer than those of their file."""

from __future__ import annotations

import pytest

from transpile.layout.long_lines import limit_of, with_short_lines

SHORT = "x = 1\n" * 60


@pytest.mark.parametrize(
    ("line", "split"),
    [
        (
            f"    call({'a' * 34}, {'b' * 34}, k=[1, 2])",
            f"    call(\n        {'a' * 34}, {'b' * 34}, k=[1, 2]\n    )",
        ),
        (
            f"    call({'a' * 50}, {'b' * 50}, k=(1, 2))",
            f"    call(\n        {'a' * 50},\n        {'b' * 50},\n        k=(1, 2),\n    )",
        ),
        (f"    value = ({'a' * 90})", None),
        (f"    call({'a' * 90} for x in y)", None),
        (f"    call({'a' * 90})  # a comment", None),
        (f"    text = '{'a, b' * 30}'", None),
    ],
)
def test_a_call_is_split_as_black_splits_it(line: str, split: str | None) -> None:
    before, after = (f"{SHORT}if x:\n{text}\n" for text in ("    pass", line))
    expected = after if split is None else f"{SHORT}if x:\n{split}\n"
    assert with_short_lines(before, after) == expected


def test_lines_that_were_long_stay_so() -> None:
    line = f"call({'a' * 50}, {'b' * 50})\n"
    assert with_short_lines(SHORT + line, SHORT + line.replace("call", "all_")) == (
        SHORT + line.replace("call", "all_")
    )
    assert limit_of([line.rstrip()] * 3 + ["x"]) == 120
    assert limit_of(["x" * 200] * 5) is None
