"""Edits of the arguments of a call; all edits of one call fit together."""

from __future__ import annotations

import libcst

from transpile.layout.expressions import replace_expression
from transpile.text.edit import ChangeList, CommaList, Edit
from transpile.text.source import Source


def add_argument(source: Source, call: libcst.Call, text: str, order: int = 0) -> tuple[Edit, ...]:
    """Add a keyword argument behind the others, but before ``**`` arguments.

    Args:
        source: the script.
        call: the call.
        text: the argument, for example ``sampler=train_sampler``.
        order: rank among the arguments that are added to the call.
    """
    return (ChangeList(argument_list(source, call), added=(text,), order=order),)


def remove_argument(source: Source, call: libcst.Call, argument: libcst.Arg) -> tuple[Edit, ...]:
    """Remove an argument with its comma, and with its line where nothing else stands there.

    Args:
        source: the script.
        call: the call.
        argument: one of the call's arguments.

    Raises:
        ValueError: the argument is not the call's.
    """
    return (ChangeList(argument_list(source, call), removed=(_index(call, argument),)),)


def replace_argument_value(
    source: Source, call: libcst.Call, argument: libcst.Arg, text: str
) -> tuple[Edit, ...]:
    """Put another value in the place of an argument's; its keyword stays.

    Args:
        source: the script.
        call: the call.
        argument: one of the call's arguments.
        text: the new value.

    Raises:
        ValueError: the argument is not the call's.
    """
    _index(call, argument)
    return replace_expression(source, argument.value, text)


def argument_list(source: Source, call: libcst.Call) -> CommaList:
    """Where the arguments of a call stand."""
    arguments = call.args
    last = 0
    while last < len(arguments) and arguments[-1 - last].star == "**":
        last += 1
    only = arguments[0].value if len(arguments) == 1 else None
    return CommaList(
        opening=source.span(call.whitespace_before_args).start,
        closing=source.span(call).end - 1,
        items=tuple(source.span(argument) for argument in arguments),
        last=last,
        bare_generator=isinstance(only, libcst.GeneratorExp) and not only.lpar,
        newline=source.newline,
    )


def _index(call: libcst.Call, argument: libcst.Arg) -> int:
    for index, candidate in enumerate(call.args):
        if candidate is argument:
            return index
    raise ValueError("the argument does not belong to the call")
