"""Breakages of facts, of models, of rows, of tables, and of what rules make of them."""

from __future__ import annotations

from . import Mutant

QUANTITY = "transpile/quantity/"
FACTS = "transpile/facts/"
MODELS = "transpile/plan/models/"
ROWS = "transpile/rows/"
DIVERGENCE = "rules/pytorch/agreement/_divergence/"
MUTANTS = (
    # Facts.
    Mutant(
        "an entry that may be there is",
        FACTS + "calls/container_methods.py",
        "join(entry.values, default) if entry.maybe else entry.values",
        "entry.values",
    ),
    Mutant(
        "what is popped stays",
        FACTS + "calls/container_methods.py",
        "del mapping.entries[constant.value]",
        "pass",
    ),
    Mutant(
        "setdefault sets nothing",
        FACTS + "calls/container_methods.py",
        "self.store_item(mapping, ordered[0].values, default, ordered[-1].node)",
        "pass",
    ),
    Mutant(
        "copies of dicts are empty",
        FACTS + "calls/container_methods.py",
        "self.update_mapping(made, (mapping,))",
        "pass",
    ),
    Mutant(
        "what heaps are given is lost",
        FACTS + "calls/arguments_changed.py",
        '"append" if name in INTO_LISTS else ""',
        '""',
    ),
    Mutant(
        "arrays that are given to be written",
        FACTS + "calls/arguments_changed.py",
        "out is not None and out.values != (Constant(None),)",
        "False",
    ),
    Mutant(
        "a settled number is a literal",
        FACTS + "folding.py",
        "return isinstance(other, Settled) and super().__eq__(other)",
        "return super().__eq__(other)",
    ),
    Mutant(
        "whole quotients have fractions",
        FACTS + "folding.py",
        "return Constant(left // right)",
        "return Constant(left / right)",
    ),
    Mutant(
        "modules are never too many",
        FACTS + "extent.py",
        "if self._sizes.total() > self.most:",
        "if False:",
    ),
    Mutant(
        "the right side of an or is certain",
        FACTS + "expressions/operators.py",
        'self.stack = self.pushed(Branch(node, "right"))',
        "pass",
    ),
    Mutant(
        "what a dict class inherits",
        FACTS + "inherited.py",
        '    "collections.UserDict": dict,\n',
        "",
    ),
    # What models do.
    Mutant(
        "gradients flow through places",
        MODELS + "gradient_flow.py",
        "return not any(words_of(base) & WITH_PLACES for base in value.operands[0])",
        "return True",
    ),
    Mutant(
        "modes are switched in any order",
        MODELS + "modes.py",
        "            if not off:\n                # In",
        "            if False:\n                # In",
    ),
    Mutant(
        "a switch on one arm is certain",
        MODELS + "modes.py",
        "return off and certain and later",
        "return off and later",
    ),
    Mutant(
        "a generator of its own draws unevenly",
        MODELS + "noise.py",
        'generator = event.arguments.get("generator", None) is not None',
        "generator = False",
    ),
    Mutant(
        "what is drawn before training is uneven",
        MODELS + "noise.py",
        "    if not begun and not any(id(loop.node) in around for loop in event.loops()):\n"
        "        return False\n",
        "",
    ),
    Mutant(
        "frozen before the wrap is frozen later",
        MODELS + "frozen.py",
        "off and event.order >= first and not",
        "off and not",
    ),
    Mutant(
        "passes on arms that exclude each other",
        MODELS + "second_passes.py",
        "    if excluded(first.stack, second.stack):\n        return False\n",
        "",
    ),
    # Quantities.
    Mutant(
        "old words of reductions",
        QUANTITY + "losses/settings.py",
        '(("size_average", "sum"), ("reduce", "none"))',
        '(("reduce", "none"),)',
    ),
    Mutant(
        "the old word for a mean", QUANTITY + "losses/settings.py", 'reduction = "mean"\n', "pass\n"
    ),
    Mutant(
        "targets that are probabilities",
        QUANTITY + "losses/calls.py",
        "if are_probabilities(target.values, self.plan):",
        "if False:",
    ),
    Mutant(
        "weights made of the batch",
        QUANTITY + "losses/calls.py",
        "if one.kind is not Kind.NOTHING and not one.independent:",
        "if False:",
    ),
    Mutant(
        "numbers of classes times a number",
        QUANTITY + "losses/targets.py",
        'return value.name == "Divide" or any(',
        "return True or any(",
    ),
    Mutant(
        "pairs of samples are sized",
        QUANTITY + "sizes.py",
        'return counting > (word != "eye") and',
        "return False and",
    ),
    Mutant(
        "axes that are kept",
        QUANTITY + "sample_axis/dimensions.py",
        "return 0 if keeps_dimensions(word, given) else sum(",
        "return sum(",
    ),
    Mutant(
        "axes that are left out",
        QUANTITY + "sample_axis/dimensions.py",
        "        dim = sum(0 <= one < tensor.dim for one in dims)\n",
        "        dim = tensor.dim\n",
    ),
    Mutant(
        "pieces are batches if there are any",
        QUANTITY + "sample_axis/joins.py",
        "return number > 0 and batches % number == 0",
        "return True",
    ),
    Mutant(
        "rows that are repeated each",
        QUANTITY + "sample_axis/joins.py",
        "        if word in INTERLEAVING:\n            return None\n",
        "",
    ),
    Mutant(
        "rows of ones differ",
        QUANTITY + "tensors/places.py",
        "& ALIKE:\n            return True",
        "& ALIKE:\n            return False",
    ),
    # Rows of models.
    Mutant(
        "named axes that are summed over",
        ROWS + "products.py",
        "if any(dim.samples and letter not in wanted for letter, dim in sizes.items()):",
        "if False:",
    ),
    Mutant(
        "one draw for all samples",
        ROWS + "moving.py",
        "if tensor.drawn and not found.whole:",
        "if False:",
    ),
    Mutant(
        "squeezed batches of one",
        ROWS + "moving.py",
        "if dim.size != ONE or dim.samples)",
        "if dim.size != ONE)",
    ),
    Mutant(
        "how many samples decides nothing",
        ROWS + "decisions.py",
        'return None, "count" if value.samples or value.counted else ""',
        'return None, ""',
    ),
    Mutant(
        "softmax without an axis",
        ROWS + "along.py",
        "chosen = 0 if len(tensor.dims) in (0, 1, 3) else 1",
        "chosen = 1",
    ),
    # Tables.
    Mutant(
        "losses of rows within models",
        "rules/pytorch/operations/losses.py",
        "return Tensor((dims[0], *dims[2:]))",
        "return Tensor(dims)",
    ),
    Mutant(
        "heads that predict the next",
        "rules/pytorch/operations/heads.py",
        'return Head("next labels")',
        'return Head("labels")',
    ),
    Mutant(
        "versions of Paddle that leave out",
        "rules/paddle/_quantities.py",
        "by_targets=True, unsure=LEFT_OUT, negative",
        "by_targets=True, negative",
    ),
    Mutant(
        "recurrent layers of Gluon take time first",
        "rules/mxnet/_quantities.py",
        'time_first=dict.fromkeys(("RNN", "LSTM", "GRU"), TimeFirst("layout", "TNC", True)),',
        "",
    ),
    # What rules make of them.
    Mutant(
        "sums need parentheses",
        "rules/pytorch/losses/_multiples.py",
        "elif not multiplies_well(node):",
        "elif False:",
    ),
    Mutant(
        "the bound of a mean is shared out",
        "rules/pytorch/losses/_denominators.py",
        "if found.guard is None or quantity.degree == 0:",
        "if found.guard is None:",
    ),
    Mutant(
        "parts are as long as where they begin",
        DIVERGENCE + "extents.py",
        "yield told[2]",
        "yield told[1]",
    ),
    Mutant(
        "norms differ in their last digits",
        DIVERGENCE + "values.py",
        'if callee.name == "norm" and self.on_gpu:',
        "if False:",
    ),
    Mutant(
        "signals come to all",
        DIVERGENCE + "expressions.py",
        "found.causes.add(Cause.SIGNAL)",
        "pass",
    ),
    Mutant(
        "files differ on what they decide",
        DIVERGENCE + "expressions.py",
        "look.causes if expression is node else look.causes - ON_DISK",
        "look.causes",
    ),
)
