"""What is left of a helper where a script has no use for all of it."""

from __future__ import annotations

from textwrap import dedent

from transpile.helpers.files import templates
from transpile.helpers.parts import without

MODULE = dedent('''\
    from contextlib import contextmanager

    from somewhere import checked, noise, quiet, tell

    count = start()


    def train(model):
        """Train it."""
        check = model
        check = checked(model)
        with noise(model, 2), quiet():
            for step in range(3):
                model(step)
        with noise(model, 3):
            first = model(
                0
            )
        tell(
            first
        )
        return check


    train(None)
''')


def test_functions_variables_and_calls_below_them_are_helpers() -> None:
    found = templates(MODULE.replace("from somewhere", "from lab.emitted.somewhere"))
    assert list(found) == ["count", "train"]
    assert found["count"].code == "$count = start()"
    assert found["train"].code.endswith("\n\n\n$train()")
    assert found["train"].helpers == ("checked", "noise", "quiet", "tell")


def test_statements_and_contexts_that_call_others_are_left_out() -> None:
    source = templates(MODULE.replace("from somewhere", "from lab.emitted.somewhere"))["train"]
    assert without(source, frozenset()) == source
    less = without(source, frozenset({"checked", "noise", "tell"}))
    assert less.helpers == ("quiet",)
    assert less.code == dedent('''\
        def $train(model):
            """Train it."""
            check = model
            with $quiet():
                for step in range(3):
                    model(step)
            first = model(
                0
            )
            return check


        $train()''')
    assert "with $noise(model, 2):\n" in without(source, frozenset({"quiet"})).code
