"""Operations that go element by element."""

from __future__ import annotations

WORDS = """
abs absolute acos acosh add addcdiv addcmul angle arccos arcsin arctan asin asinh atan atan2 atanh
bernoulli_probability bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp clamp_max
clamp_min clip conj copysign cos cosh deg2rad digamma div divide elu erf erfc erfinv exp exp2 expit
expm1 fix float_power floor floor_divide fmax fmin fmod frac gelu hardshrink hardsigmoid hardswish
hardtanh heaviside hypot i0 ldexp leaky_relu lerp lgamma log log10 log1p log2 logaddexp logaddexp2
logit logsigmoid masked_fill maximum minimum mish mul multiply nan_to_num neg negative nextafter
polygamma positive pow prelu rad2deg reciprocal relu relu6 remainder round rsqrt rsub selu sgn
sigmoid sign silu sin sinc sinh softplus softshrink softsign sqrt square sub subtract tan tanh
tanhshrink threshold true_divide trunc where xlogy expit_ entr ndtr complex view_as_real_ polar
binary_cross_entropy_none smooth
"""
#: The same, with entries that are true or false.
CONDITION_WORDS = """
eq equal_to ge greater greater_equal gt isclose isfinite isinf isnan isneginf isposinf isreal le
less less_equal logical_and logical_not logical_or logical_xor lt ne not_equal signbit
"""
#: Methods that give back the tensor: elsewhere, of another type, without gradients.
SAME_WORDS = """
to cuda cpu float double half bfloat16 int long short bool type type_as contiguous clone detach
requires_grad_ detach_ retain_grad real imag data refine_names alias as_subclass xpu mps char byte
ensure_strided pin_memory view_as_complex_ quint8 share_memory_ resolve_conj coalesce values
"""
ELEMENTWISE = frozenset(WORDS.split())
CONDITIONS = frozenset(CONDITION_WORDS.split())
SAME = frozenset(SAME_WORDS.split())
#: The losses, which give an entry per element where they do not reduce.
LOSSES = frozenset(
    {
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "nll_loss",
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss",
        "gaussian_nll_loss", "soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss",
        "cosine_embedding_loss", "triplet_margin_loss", "multi_margin_loss", "ctc_loss",
        "multilabel_margin_loss", "multilabel_soft_margin_loss",
        "triplet_margin_with_distance_loss", "sigmoid_focal_loss", "linear_cross_entropy",
    }
)  # fmt: skip
#: Losses with an entry for each row rather than each element.
ROW_LOSSES = frozenset({"cross_entropy", "nll_loss", "linear_cross_entropy"})
#: Kinds of operators.
COMPARISONS = frozenset(
    {"Equal", "NotEqual", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"}
)
