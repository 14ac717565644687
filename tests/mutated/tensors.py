"""Breakages of axes, of tensors and of losses."""

from __future__ import annotations

from . import Mutant

QUANTITY = "transpile/quantity/"
MUTANTS = (
    Mutant(
        "a unique count is a size",
        QUANTITY + "sample_axis/pieces.py",
        '"\'unique", ',
        "",
    ),
    Mutant(
        "stores by place",
        QUANTITY + "sample_axis/pieces.py",
        "return isinstance(node, cst.Integer)",
        "return False",
    ),
    Mutant(
        "writes in place are not followed",
        QUANTITY + "tensors/in_place.py",
        '    if event.kind != "call":\n        return ()\n',
        "    return ()\n",
    ),
    Mutant(
        "positions reorder nothing",
        QUANTITY + "sample_axis/orders.py",
        "return start == (Constant(0),) and step == (Constant(1),)",
        "return True",
    ),
    Mutant(
        "an index of samples selects",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(result, selection=True, dim=dim + added - removed)",
        "return result",
    ),
    Mutant(
        "flattened over samples",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(tensor, dim=dim if start > dim else (0 if start == 0 else None))",
        "return tensor",
    ),
    Mutant(
        "transposed in place of turned",
        QUANTITY + "sample_axis/shapes.py",
        "return replace(tensor, dim={0: 1, 1: 0}.get(dim))",
        "return tensor",
    ),
    Mutant(
        "unsqueezed before the samples",
        QUANTITY + "sample_axis/shapes.py",
        "dim=dim + 1 if 0 <= at <= dim else dim, rank",
        "dim=dim, rank",
    ),
    Mutant(
        "reduced over the samples",
        QUANTITY + "sample_axis/dimensions.py",
        "    if tensor.dim is not None and tensor.dim in dims:\n"
        "        return domain.unknown(ACROSS",
        "    if False:\n        return domain.unknown(ACROSS",
    ),
    Mutant(
        "reduced over an unknown axis",
        QUANTITY + "sample_axis/dimensions.py",
        "        return domain.unknown(ANY.format(word))\n    if tensor.dim in dims:",
        "        return tensor\n    if tensor.dim in dims:",
    ),
    Mutant(
        "reduced over everything",
        QUANTITY + "sample_axis/dimensions.py",
        "    if dims == ():\n        return domain.unknown(f\"'{word}' looks at all",
        "    if False:\n        return domain.unknown(f\"'{word}' looks at all",
    ),
    Mutant(
        "weights of a loss",
        QUANTITY + "losses/calls.py",
        "setup.weight is not False or setup.ignore_index or self.marks_left_out",
        "setup.ignore_index or self.marks_left_out",
    ),
    Mutant(
        "targets that are left out",
        QUANTITY + "losses/calls.py",
        "setup.weight is not False or setup.ignore_index or self.marks_left_out",
        "setup.weight is not False",
    ),
    Mutant(
        "summed losses are means",
        QUANTITY + "losses/calls.py",
        "            return algebra.total(each)\n",
        "            return algebra.average(each)\n",
    ),
    Mutant(
        "a loss of selected samples",
        QUANTITY + "losses/calls.py",
        "if each.selection and signature.sized",
        "if False and signature.sized",
    ),
    Mutant(
        "turned sides of a product",
        QUANTITY + "tensors/products.py",
        "    if matrix.may_count_along(-1) or matrix.may_count_along(-2):\n",
        "    if False:\n",
    ),
    Mutant(
        "products of many matrices",
        QUANTITY + "tensors/products.py",
        "(left.dim or right.dim):",
        "False:",
    ),
    Mutant(
        "sums along all by default",
        QUANTITY + "tensors/functions.py",
        'plain in ("cumsum", "cumprod")',
        'plain in ("cumprod",)',
    ),
    Mutant(
        "padding from the first axis",
        QUANTITY + "sample_axis/dimensions.py",
        'if word == "pad_either" and pads_first(tensor, widths):',
        "if False:",
    ),
    Mutant(
        "what is added to a scaled sum",
        QUANTITY + "tensors/functions.py",
        "return algebra.add(scaled, self.look(more)) if more else scaled",
        "return scaled",
    ),
    Mutant(
        "repeated for each sample",
        QUANTITY + "tensors/functions.py",
        "                if at is not None:\n"
        "                    return domain.sample(tensor.gradient, dim=at)",
        "                if at is None:\n"
        "                    return domain.sample(tensor.gradient, dim=at)",
    ),
    Mutant(
        "a loss along another axis",
        QUANTITY + "losses/settings.py",
        'or given("batch_axis") not in ((), (Constant(0),))',
        "",
    ),
    Mutant(
        "losses that compare samples",
        QUANTITY + "losses/calls.py",
        "if signature.couples and each.kind is Kind.SAMPLE:",
        "if False:",
    ),
    Mutant(
        "targets that versions leave out",
        QUANTITY + "losses/calls.py",
        "if signature.unsure and self.marks_left_out",
        "if False and self.marks_left_out",
    ),
    Mutant(
        "variadic joins",
        QUANTITY + "tensors/functions.py",
        "        for one in parts[1:]:\n"
        "            found = algebra.join(found, one)\n"
        "        return concatenated(word, found, given, parts)",
        "        return concatenated(word, found, given, [])",
    ),
    Mutant(
        "sums of several tensors",
        QUANTITY + "tensors/functions.py",
        "        for one in parts:\n"
        "            found = algebra.add(found, one)\n        return found",
        "        return parts[0]",
    ),
)
