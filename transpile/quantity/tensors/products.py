"""The quantities of products of matrices."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque, Values, only_constant
from transpile.records import replace

from .. import algebra, domain
from ..domain import Kind, Quantity
from ..operations import BATCHED_PRODUCTS
from ..sample_axis.shapes import Given, Look


def product(
    word: str, tensor: Quantity, others: list[Quantity], value: Opaque, given: Given, look: Look
) -> Quantity:
    """A product of matrices."""
    if word == "einsum":
        return einsum(value, look)
    if not others:
        return tensor
    if word == "matmul":
        tensor = turned(tensor, given.get("transpose_x", None))
        return matrix_product(tensor, turned(others[0], given.get("transpose_y", None)))
    if word in ("addmm", "baddbmm") and len(others) > 1:
        product = matrix_product(others[0], others[1])
        return algebra.add(tensor, product)
    if word in BATCHED_PRODUCTS:
        left, right = (
            transposed(side, given.get(name, None))
            for side, name in ((tensor, "transpose_x"), (others[0], "transpose_y"))
        )
        return batched_product(left, right)
    if word in ("dot", "inner", "tensordot") and Kind.SAMPLE in (tensor.kind, others[0].kind):
        product = algebra.multiply(tensor, others[0])
        return algebra.total(product) if word == "dot" else domain.unknown(algebra.PAIRS)
    return matrix_product(tensor, others[0], word in ("mm",))


def transposed(matrices: Quantity, asked: Values) -> Quantity:
    """A side of a product of several matrices whose last two dimensions may change places."""
    if matrices.kind is not Kind.SAMPLE or not matrices.dim or asked in ((), (Constant(False),)):
        return matrices
    known = asked == (Constant(True),)
    return replace(matrices, dim={1: 2, 2: 1}.get(matrices.dim) if known else None)


def batched_product(left: Quantity, right: Quantity) -> Quantity:
    """A product of the matrices of two tensors of shape (matrices, rows, columns)."""
    if left.kind is Kind.SAMPLE and right.kind is Kind.SAMPLE and (left.dim or right.dim):
        if left.dim == 2 and right.dim == 1:
            return algebra.total(algebra.multiply(left, replace(right, dim=2)))
        return domain.unknown(algebra.PAIRS)
    return algebra.multiply(left, right)


def turned(matrix: Quantity, asked: Values) -> Quantity:
    """A side of a product whose last two dimensions may change places first."""
    if matrix.kind is not Kind.SAMPLE or not asked or asked == (Constant(False),):
        return matrix
    if matrix.may_count_along(-1) or matrix.may_count_along(-2):
        return replace(matrix, dim=None)
    return matrix


def pairwise(tensor: Quantity, others: list[Quantity]) -> Quantity:
    """What compares all rows of one tensor with all rows of another."""
    if any(one.kind in (Kind.SAMPLE, Kind.UNKNOWN) for one in (tensor, *others)):
        if tensor.kind is Kind.SAMPLE and others and others[0].independent:
            return replace(tensor, content="")
        return domain.unknown(algebra.PAIRS, certain=True)
    return algebra.nonlinear("a product", tensor, *others)


def matrix_product(left: Quantity, right: Quantity, flat: bool = False) -> Quantity:
    """``left @ right``; `flat` where both are certainly matrices."""
    found = algebra.unknown_among(left, right)
    if found is not None:
        return found
    if left.kind is Kind.SAMPLE and right.kind is Kind.SAMPLE:
        if left.dim == 0 and right.dim == 1:
            return domain.unknown(algebra.PAIRS, certain=True)
        if left.dim == 1 and right.dim == 0:
            return algebra.total(algebra.multiply(left, replace(right, dim=1)))
        if flat or (left.rank == 1 and right.rank < 3):
            # A vector of samples is summed up with the rows of a matrix.
            return domain.unknown(algebra.PAIRS)
        return algebra.multiply(replace(left, content=""), right)
    if right.kind is Kind.SAMPLE and left.kind is Kind.EQUAL:
        if right.dim == 0 and flat:
            return domain.unknown("it mixes the samples of a batch")
        return algebra.multiply(right, left)
    return algebra.multiply(left, right)


def einsum(value: Opaque, look: Look) -> Quantity:
    """``torch.einsum`` with a known equation."""
    ordered = value.arguments.positional()
    constant = only_constant(ordered[0].values) if ordered else None
    operands = [look(argument.values) for argument in ordered[1:]]
    found = algebra.unknown_among(*operands)
    if found is not None:
        return found
    samples = [one for one in operands if one.kind is Kind.SAMPLE]
    if not samples:
        return algebra.nonlinear("einsum", *operands)
    if constant is None or not isinstance(constant.value, str):
        return domain.unknown("the equation of einsum is not known")
    left, _, right = constant.value.replace(" ", "").partition("->")
    letters = set()
    for part, one in zip(left.split(","), operands, strict=False):
        if one.kind is Kind.SAMPLE:
            dim = one.dim or 0
            letters.add(part[dim] if dim < len(part) and not part.startswith(".") else ".")
    if len(letters) != 1:
        return domain.unknown(algebra.PAIRS, certain=True)
    letter = letters.pop()
    product = operands[0]
    for one in operands[1:]:
        product = algebra.multiply(product, one)
    if product.kind is not Kind.SAMPLE:
        return product
    if letter == "." or letter in right:
        return replace(product, dim=right.find(letter) if letter != "." else product.dim)
    return algebra.total(product)
