"""What becomes of quantities that are added, multiplied, divided, reduced or joined."""

from __future__ import annotations

from transpile.records import replace

from .domain import NOTHING, Kind, Pending, Quantity, Term, equal, unknown


def unknown_among(*several: Quantity) -> Quantity | None:
    """What an operation on something unknown gives; None where all is known."""
    unknowns = [one for one in several if one.kind is Kind.UNKNOWN]
    if not unknowns:
        return None
    found = next((one for one in unknowns if one.certain), unknowns[0])
    whole = not any(
        one.kind is Kind.SAMPLE or (one.kind is Kind.UNKNOWN and not one.whole) for one in several
    )
    pending = frozenset[Pending]().union(*(one.pending for one in several))
    sampled = any(one.sampled or one.kind in (Kind.SAMPLE, Kind.PART) for one in several)
    return replace(found, whole=whole, pending=pending, sampled=sampled, bounded=None)


SIZES = "it is computed from the shape of one process's share of the batch"


def as_value(quantity: Quantity) -> Quantity:
    """A shape as the numbers that it holds."""
    return unknown(SIZES, whole=True).number() if quantity.kind is Kind.SHAPE else quantity


COMPUTED = "it computes with the shape of one process's share of the batch"


def of_shapes(*several: Quantity) -> Quantity | None:
    """What arithmetic on the shapes of tensors of samples gives; None where there is none."""
    if any(one.kind is Kind.SHAPE for one in several):
        return unknown(COMPUTED, whole=True)
    return None


NUMBERED = "it computes with where each sample stands in one process's share of the batch"


def of_places(*several: Quantity) -> Quantity | None:
    """What arithmetic on the places of the samples gives; None where there is none."""
    if any(one.kind is Kind.SAMPLE and one.content == "place" for one in several):
        return unknown(NUMBERED)
    return None


def aligned(first: Quantity, second: Quantity) -> bool:
    """Whether the samples of two tensors meet one by one."""
    return first.dim is not None and first.dim == second.dim


#: What is taken over the batch on one path in another way than on another.
EITHER = (
    "it is taken over the batch in different ways on different paths",
    "it is one thing for each sample on one path and one for all on another",
)
PAIRS = "it compares the samples of a batch with each other"
STATISTIC = "it combines single samples with a number for the whole batch"


def merged_samples(first: Quantity, second: Quantity) -> Quantity:
    """Two tensors of samples in one operation that keeps them apart."""
    if not aligned(first, second):
        return unknown(PAIRS)
    if first.degrees != second.degrees:
        return unknown("its samples are scaled by the batch size in two ways", certain=True)
    return Quantity(
        Kind.SAMPLE,
        first.terms | second.terms,
        dim=first.dim if first.dim is not None else second.dim,
        rank=max(first.rank, second.rank),
        selection=first.selection or second.selection,
        coupled=first.coupled or second.coupled,
        tensor=first.tensor or second.tensor,
        pending=first.pending | second.pending,
    )


def sample_first(first: Quantity, second: Quantity) -> tuple[Quantity, Quantity]:
    """The two in the order sample, part, equal."""
    order = (Kind.SAMPLE, Kind.PART, Kind.EQUAL)
    if order.index(first.kind) > order.index(second.kind):
        return second, first
    return first, second


def over_nothing(first: Quantity, second: Quantity) -> Quantity:
    """The one of two quantities that is something."""
    kept, other = (second, first) if first.kind is Kind.NOTHING else (first, second)
    return kept if kept.tensor or not other.tensor else replace(kept, tensor=True)


def add(first: Quantity, second: Quantity) -> Quantity:
    """The sum or difference of two values."""
    first, second = as_value(first), as_value(second)
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    found = unknown_among(first, second) or of_places(first, second)
    if found is not None:
        return found
    if first.tiny or second.tiny:
        return second if first.tiny else first
    first, second = sample_first(first, second)
    pending = first.pending | second.pending
    if first.kind is Kind.SAMPLE:
        if second.kind is Kind.SAMPLE:
            return merged_samples(first, second)
        if first.degrees != second.degrees:
            return unknown("it adds something of another scale to each sample")
        coupled = first.coupled or second.kind is Kind.PART
        return replace(
            first, terms=first.terms | second.terms, coupled=coupled, pending=pending, content=""
        )
    return Quantity(
        first.kind,
        first.terms | second.terms,
        tensor=first.tensor if first.kind is not second.kind else first.tensor or second.tensor,
        agreed=first.kind is Kind.EQUAL and (first.agreed or second.agreed),
        pending=pending,
    )


#: The content of the number of processes.
PROCESSES = "processes"


def multiply(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values."""
    computed = of_shapes(first, second)
    if computed is not None:
        return computed
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    found = unknown_among(first, second) or of_places(first, second)
    if found is not None:
        return found
    for one, other in ((first, second), (second, first)):
        if one.agreed and other.content == PROCESSES:
            # What all processes have is theirs, however many they are.
            return one
    first, second = sample_first(first, second)
    pending = first.pending | second.pending
    terms = frozenset(
        Term(one.degree + other.degree, one.gradient or other.gradient)
        for one in first.terms
        for other in second.terms
    )
    if first.kind is Kind.SAMPLE and second.kind is Kind.SAMPLE:
        if first.coupled or second.coupled:
            return unknown(STATISTIC)
        if not aligned(first, second):
            return unknown(PAIRS)
        return Quantity(
            Kind.SAMPLE,
            terms,
            dim=first.dim if first.dim is not None else second.dim,
            rank=max(first.rank, second.rank),
            selection=first.selection or second.selection,
            tensor=first.tensor or second.tensor,
            pending=pending,
        )
    if second.kind is Kind.PART:
        if first.kind is Kind.SAMPLE:
            return unknown(STATISTIC)
        return unknown("it multiplies two numbers that are taken over the batch", whole=True)
    if first.kind is Kind.SAMPLE:
        return replace(first, terms=terms, pending=pending, content="")
    return Quantity(
        first.kind,
        terms,
        tensor=first.tensor if first.kind is Kind.PART else first.tensor or second.tensor,
        agreed=first.kind is Kind.EQUAL and (first.agreed or second.agreed),
        pending=pending,
    )


def divide(first: Quantity, second: Quantity, denominator: Pending | None = None) -> Quantity:
    """The quotient of two values.

    Args:
        first: the numerator.
        second: the denominator.
        denominator: where the denominator stands, so that it can be agreed on.
    """
    computed = of_shapes(first, second)
    if computed is not None:
        return computed
    if second.bounded is not None and denominator is not None:
        second = second.bounded
    if second.kind is Kind.NOTHING:
        return first
    found = unknown_among(first, second)
    if found is not None:
        counted = second.kind is Kind.EQUAL and second.degree == 1
        return replace(found, shared=True) if counted else found
    if first.kind is Kind.NOTHING:
        return NOTHING
    if second.kind is Kind.PART:
        if second.gradient:
            return unknown("its denominator depends on the samples and is trained", whole=True)
        if second.degree is None or denominator is None:
            return unknown("its denominator differs between the processes", whole=True)
        second = replace(second, kind=Kind.EQUAL, pending=second.pending | frozenset({denominator}))
    if second.kind is Kind.SAMPLE:
        if first.kind is Kind.PART:
            return unknown(STATISTIC)
        return multiply(first, second.scaled(-2 * (second.degree or 0)))
    if second.degree is None:
        return unknown("its denominator adds up things of different scale", whole=True)
    return multiply(first, second.scaled(-2 * second.degree))


def divides_alike(first: Quantity, second: Quantity) -> bool:
    """Whether a size leaves no remainder that depends on how many processes there are."""
    if first.degree is None or second.degree is None:
        return False
    return first.degree == second.degree or second.degree < 0


def nonlinear(word: str, *several: Quantity) -> Quantity:
    """A function that is not linear, applied to each element."""
    values = [one for one in map(as_value, several) if one.kind is not Kind.NOTHING]
    if not values:
        return equal(tensor=any(one.tensor for one in several))
    found = unknown_among(*values) or of_places(*values)
    if found is not None:
        return found
    pending = frozenset[Pending]().union(*(one.pending for one in values))
    if any(one.kind is Kind.PART or one.coupled for one in values):
        if any(one.kind is Kind.SAMPLE for one in values):
            return replace(unknown(STATISTIC), pending=pending)
        reason = f"{word} of a number over the batch is not that of its parts"
        return replace(unknown(reason, whole=True), pending=pending)
    if any(one.degrees != frozenset({0}) for one in values):
        reason = f"{word} of something that grows with the batch size"
        sampled = any(one.kind is Kind.SAMPLE for one in values)
        return replace(unknown(reason, whole=True), pending=pending, sampled=sampled)
    result = values[0]
    for one in values[1:]:
        first, second = sample_first(result, one)
        if second.kind is Kind.SAMPLE:
            result = merged_samples(first, second)
        else:
            result = replace(
                first,
                terms=first.terms | second.terms,
                tensor=first.tensor or second.tensor,
                pending=first.pending | second.pending,
            )
        if result.kind is Kind.UNKNOWN:
            return result
    return replace(result, content="")


def bounded(word: str, quantity: Quantity, bounds: list[Quantity], below: bool) -> Quantity:
    """A number that is kept above or below others; samples are, each by itself.

    Args:
        word: what does it.
        quantity: the number.
        bounds: what it is kept from.
        below: whether it is kept from what is below it alone, as a denominator is from zero.
    """
    if quantity.kind is Kind.PART or (quantity.kind is Kind.EQUAL and quantity.degree != 0):
        if below and bounds and all(one.tiny for one in bounds):
            return quantity
        if quantity.kind is Kind.EQUAL and not quantity.pending:
            # A batch has a sample or more on each process.
            small = below and all(one.kind is Kind.NOTHING or one.small for one in bounds)
            return quantity if small else nonlinear(f"'{word}'", quantity)
        found = unknown_among(*bounds)
        if found is not None:
            return found
        reason = f"'{word}' of a number over the batch is not that of its parts"
        plain = all(one.independent for one in bounds)
        held = quantity if below and plain and quantity.kind is Kind.PART else None
        return replace(
            unknown(reason, whole=True),
            pending=quantity.pending,
            tensor=quantity.tensor,
            bounded=held,
        )
    return nonlinear(f"'{word}'", quantity, *bounds)


def total(quantity: Quantity) -> Quantity:
    """The sum of all elements."""
    if quantity.kind is Kind.UNKNOWN:
        return replace(quantity, whole=True)
    if quantity.kind is Kind.SAMPLE and quantity.content == "place":
        return unknown(NUMBERED, whole=True)
    if quantity.kind is Kind.SAMPLE:
        return Quantity(
            Kind.PART, quantity.scaled(1).terms, tensor=quantity.tensor, pending=quantity.pending
        )
    return of_shapes(quantity) or quantity


def average(quantity: Quantity) -> Quantity:
    """The mean of all elements."""
    if quantity.kind is Kind.UNKNOWN:
        return replace(quantity, whole=True)
    if quantity.kind is Kind.SAMPLE:
        if quantity.selection:
            return unknown(
                "it is a mean over some of the samples, and how many differs by process", whole=True
            )
        if quantity.content == "place":
            return unknown(NUMBERED, whole=True)
        return Quantity(Kind.PART, quantity.terms, tensor=quantity.tensor, pending=quantity.pending)
    return as_value(quantity)


AT_TIMES = "it is a sum over the batch on one path and a plain number on another"


def is_sum_or_count(quantity: Quantity) -> bool:
    """Whether a value is made of samples and grows with the batch."""
    made = quantity.kind is Kind.PART or (quantity.kind is Kind.EQUAL and bool(quantity.pending))
    return made and quantity.degrees != frozenset({0})


def is_plain_number(quantity: Quantity) -> bool:
    """Whether a value is a number of the script's own that matters."""
    return quantity.independent and not quantity.tensor and not quantity.tiny


def join(first: Quantity, second: Quantity) -> Quantity:
    """One of two values, nobody knows which."""
    if first is second:
        return first
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    for one, other in ((first, second), (second, first)):
        if one.agreed and other.bounded is not None:
            # What a helper returns in several processes, and what it returns in one.
            return one
    found = unknown_among(first, second)
    if found is not None:
        return found
    if first.agreed != second.agreed:
        # What a helper returns in one process, and what it returns in several.
        return first if first.agreed else second
    if first.kind is Kind.SHAPE or second.kind is Kind.SHAPE:
        return first if first.kind is Kind.SHAPE else second
    first, second = sample_first(first, second)
    tensor = first.tensor or second.tensor
    pending = first.pending | second.pending
    for one, other in ((first, second), (second, first)):
        if is_sum_or_count(one) and is_plain_number(other):
            return replace(
                unknown(AT_TIMES, whole=True),
                pending=pending,
            )
    if first.kind is Kind.SAMPLE and second.kind is Kind.SAMPLE:
        if first.degrees != second.degrees:
            return unknown("its samples are scaled by the batch size in two ways", certain=True)
        return replace(
            first,
            terms=first.terms | second.terms,
            dim=first.dim if first.dim == second.dim else None,
            rank=min(first.rank, second.rank),
            selection=first.selection or second.selection,
            content=first.content if first.content == second.content else "",
            coupled=first.coupled or second.coupled,
            pending=pending,
        )
    if first.kind is Kind.EQUAL and second.kind is Kind.EQUAL:
        for one, other in ((first, second), (second, first)):
            if one.independent and not one.gradient and not one.tensor:
                # A stand-in, such as the number of processes where there is only one.
                return replace(other, tensor=tensor, pending=pending)
    elif second.kind is Kind.EQUAL and (not second.gradient or first.kind is Kind.SAMPLE):
        # A starting value, or a stand-in for what is switched off.
        return replace(first, tensor=tensor, pending=pending)
    if first.degrees != second.degrees:
        return unknown(EITHER[0], whole=True)
    kind = first.kind if first.kind is not Kind.SAMPLE else Kind.UNKNOWN
    if kind is Kind.UNKNOWN:
        return unknown(EITHER[1])
    return Quantity(
        kind, first.terms | second.terms, tensor=tensor, agreed=first.agreed, pending=pending
    )
