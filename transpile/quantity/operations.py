"""What operations on tensors do, by the words of the analysis.

Functions, methods and their in-place and NumPy forms share a word; a framework says in its
vocabulary which of its own words mean which of these.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, without the underscore of in-place forms."""
    return frozenset(word if word.startswith("__") else word.rstrip("_") for word in text.split())


#: Give back what they are called on, perhaps elsewhere, in another type or shape.
SAME = words("""
    item tolist numpy cpu cuda to float double half bfloat16 long int short byte char type
    type_as clone contiguous requires_grad as_tensor tensor array asarray ascontiguousarray
    from_numpy copy Variable retain_grad pin_memory expand expand_as view_as reshape_as real
    squeeze_copy to_dense coalesce astype xpu mps Tensor FloatTensor LongTensor DoubleTensor
    IntTensor HalfTensor BoolTensor ByteTensor bool repeat repeat_interleave tile float32
    float64 int64 int32 atleast_1d atleast_2d nan_to_num deepcopy
    refine_names rename stop_gradient register_hook record_stream
    """)
#: Put what they are called on in another order along a dimension.
REORDERS = words("flip fliplr flipud roll")
#: Cut the graph of gradients.
CUTS = words("detach item tolist numpy data long int bool byte")
#: Give plain numbers, in Python or NumPy.
NUMBERS = words("item tolist numpy")

#: Applied to each element, not linear.
ELEMENTWISE = words("""
    abs absolute fabs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square pow float_power
    sigmoid logit tanh sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh erf erfc
    erfinv lgamma digamma gamma relu relu6 leaky_relu rrelu prelu elu selu celu gelu silu mish
    softplus softsign hardtanh hardswish hardsigmoid hardshrink softshrink tanhshrink logsigmoid
    threshold swish sign sgn round floor ceil trunc frac reciprocal eq ne lt le gt ge equal
    greater less greater_equal less_equal not_equal logical_and logical_or logical_xor
    logical_not bitwise_and bitwise_or bitwise_not bitwise_xor isnan isinf isfinite isclose
    maximum minimum fmax fmin where lerp fmod remainder masked_fill masked_scatter scatter
    scatter_add scatter_reduce index_add index_copy index_put
    index_fill fill zero log_normal bernoulli dropout dropout1d dropout2d dropout3d
    alpha_dropout feature_dropout one_hot embedding index_select take_along_dim gather select
    narrow linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    bilinear max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d interpolate upsample pad
    grid_sample affine_grid fold unfold pixel_shuffle pixel_unshuffle layer_norm group_norm
    instance_norm local_response_norm rms_norm batch_norm channel_shuffle glu crop resize
    normalize_image scaled_dot_product_attention multi_head_attention_forward gumbel_softmax
    rfft irfft fft ifft fft2 ifft2 stft istft angle conj complex polar tril triu
    diag_embed make_grid xlogy nextafter addcmul addcdiv softmin log_prob rsample sample entropy
    cdf icdf checkpoint elementwise pad_either
    """)
#: Put entries of one tensor at places of another.
SCATTERS = words("scatter scatter_add scatter_reduce index_add index_copy index_put")
#: Keep values apart only from below or above: a guard against zero.
GUARDS = words("clamp clip clamp_min clamp_max")
#: Comparisons and the like, whose result is a mask.
MASKS = words("""
    eq ne lt le gt ge greater less greater_equal less_equal not_equal logical_and logical_or
    logical_xor logical_not isnan isinf isfinite isclose bool
    """)
ADDITIONS = words("add sub subtract rsub __add__ __radd__ __iadd__ __sub__")
PRODUCTS = words("mul multiply __mul__ __rmul__ prod_scale")
QUOTIENTS = words("div divide true_divide floor_divide __truediv__")
NEGATIONS = words("neg negative positive")

#: Reduce over all elements, or over the given dimension.
SUMS = words("sum nansum count_nonzero")
MEANS = words("mean nanmean average")
#: Look along a dimension: over all elements, or along the last one, where none is given.
OVER_ALL = words("""
    prod std var std_mean var_mean norm vector_norm max min amax amin argmax argmin median
    nanmedian mode quantile nanquantile logsumexp all any aminmax unique histc bincount ptp
    percentile
    """)
ALONG = words("""
    softmax log_softmax cumsum cumprod logcumsumexp sort argsort topk kthvalue normalize
    cosine_similarity pairwise_distance cross diff renorm msort
    """)
#: The dimension along which they look where none is given.
DEFAULT_DIM = {"normalize": 1, "cosine_similarity": 1}
#: Where `dim` stands among the arguments behind the tensor.
DIM_POSITION = {
    "norm": 1, "vector_norm": 1, "topk": 1, "kthvalue": 1, "normalize": 1, "quantile": 1,
    "cosine_similarity": 1, "logsumexp": 0, "renorm": 1, "nanquantile": 1, "percentile": 1,
    "unique": 3,
}  # fmt: skip
#: Have a flag between their dimensions and the one that keeps these.
DEVIATIONS = words("std var std_mean var_mean")
#: Count all elements, whatever numbers they are given.
COUNTED_ALL = words("histc bincount")
#: Give integers that say where something is.
POSITIONS = words("argmax argmin argsort arange randperm multinomial searchsorted nonzero")

#: Functions that count up along the samples.
COUNTING = words("arange linspace logspace")

#: Types of tensors: called with sizes they make one.
TENSOR_TYPES = words("""
    Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor ByteTensor
    BoolTensor
    """)
#: Work along one dimension, the last where none is given: where `dim` stands behind the tensor.
LAST_BY_DEFAULT = {
    "glu": 0, "softmin": 0, "gumbel_softmax": 3, "fft": 1, "ifft": 1, "rfft": 1, "irfft": 1,
}  # fmt: skip
#: Take what stands at places along a dimension.
PICKING = words("gather index_select take_along_dim")
#: Look at what stands side by side along the last dimensions.
SPATIAL = words("""
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d unfold fold
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d interpolate upsample pad
    layer_norm instance_norm group_norm rms_norm local_response_norm
    """)
#: Make tensors of lists.
LISTING = words("tensor as_tensor array asarray") | TENSOR_TYPES
#: Make tensors of a shape.
FACTORIES = words("""
    zeros ones full empty rand randn randint normal eye arange linspace randperm new_zeros
    new_ones new_full new_empty new_tensor uniform random_sample standard_normal choice
    permutation new poisson exponential laplace beta binomial integers random random_integers
    sample_n
    """)
#: Those whose positional arguments are all sizes.
SIZES_ONLY = words("zeros ones empty rand randn new_zeros new_ones new_empty new") | TENSOR_TYPES
#: Methods that write something else into each entry of a tensor, named with an underscore.
REFILLS = words("""
    zero fill normal uniform random bernoulli exponential cauchy log_normal geometric
    """)
LIKE = words("zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_like")
CONCATENATIONS = words("cat concat concatenate stack hstack vstack dstack column_stack block_diag")
#: Those that put one behind the other along a dimension that there is.
JOINING = words("cat concat concatenate vstack")
#: Take some entries, along two dimensions, or their sum.
DIAGONALS = words("diag diagonal trace")
SPLITS = words("chunk split tensor_split unbind hsplit array_split unbind_copy")

#: Products of matrices.
BATCHED_PRODUCTS = words("bmm baddbmm dot_batched")
MATRIX_PRODUCTS = words("mm matmul dot mv inner tensordot addmm")
#: All pairs of rows.
PAIRWISE = words(
    "cdist pdist outer ger kron cov corrcoef cartesian_prod combinations pairwise_distances"
)
#: Methods of texts that give a text, or its words, for each.
TEXTS = frozenset({"casefold", "lower", "lstrip", "rstrip", "strip", "title", "upper"})
SELECTIONS = words("masked_select nonzero pack_padded_sequence extract compress")

#: Attributes of tensors that say nothing of the samples.
NEUTRAL_ATTRIBUTES = words("""
    device dtype requires_grad is_cuda ndim layout is_leaf is_sparse names grad_fn training
    itemsize place stop_gradient persistable context ctx stype
    """)
#: Methods of tensors that say nothing of the samples.
NEUTRAL_METHODS = words("""
    dim ndimension element_size is_floating_point is_contiguous get_device stride data_ptr
    is_tensor is_complex finfo iinfo device set_grad_enabled no_grad manual_seed is_available
    seed
    """)

#: Operations that are told by themselves.
OTHERS = words("""
    scale add_all weighting
    size numel nelement resize resize_as einsum pad_packed_sequence pad_sequence cuda view reshape
    unsqueeze expand_dims squeeze transpose swapaxes swapdims permute t T mT H adjoint flatten
    ravel movedim moveaxis unflatten rearrange newaxis
    """)
ALL = (
    SAME | REORDERS | CUTS | NUMBERS | ELEMENTWISE | SCATTERS | GUARDS | MASKS | ADDITIONS
    | PRODUCTS | QUOTIENTS | NEGATIONS | SUMS | MEANS | OVER_ALL | ALONG | COUNTED_ALL | POSITIONS
    | COUNTING | TENSOR_TYPES | PICKING | SPATIAL | LISTING | FACTORIES | LIKE | CONCATENATIONS
    | SPLITS | BATCHED_PRODUCTS | MATRIX_PRODUCTS | PAIRWISE | SELECTIONS | NEUTRAL_METHODS
    | REFILLS | DIAGONALS | OTHERS
)  # fmt: skip


def spoken(only: frozenset[str] = ALL, **spelled: str) -> dict[str, str]:
    """Words of a framework to operations: those that it calls as the analysis does, and others.

    Args:
        only: the operations that it has by the same name.
        spelled: its own words for others.
    """
    unknown = {*only, *spelled.values()} - ALL
    assert not unknown, unknown
    return {**{word: word for word in only}, **spelled}


#: What functions of NumPy and Python on arrays do.
ARRAY_WORDS = spoken()
