"""What is known of Paddle's functions and methods, by their last word.

Functions (``paddle.exp(x)``), methods (``x.exp()``) and NumPy's functions share a word.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


#: Give back what they are called on, perhaps in another place, type or shape.
SAME = words("""
    item tolist numpy cpu cuda pin_memory to detach clone astype cast to_tensor array asarray
    float int assign contiguous flatten reshape view squeeze unsqueeze expand expand_as tile
    broadcast_to transpose t moveaxis float32 float64 int64 int32 bool real copy as_tensor
    reshape_ squeeze_ unsqueeze_ flatten_
    """)
#: Give several values at once.
SEVERAL = words("topk split chunk unbind unstack kthvalue mode grad")
NEUTRAL_ATTRIBUTES = words("dtype place stop_gradient ndim name persistable size training")
NEUTRAL_METHODS = words("dim ndimension element_size backward clear_grad get_lr clear_gradients")
#: Methods of metrics that put samples into them.
GATHERING = words("update add")
#: Make tensors that do not depend on their arguments' values.
FACTORIES = words("""
    zeros ones full empty rand randn randint randperm arange linspace eye normal uniform
    zeros_like ones_like full_like empty_like standard_normal gaussian
    """)
#: Those of them whose result has an entry for each sample where the shape counts samples.
FILLED = words("""
    zeros ones full empty rand randn randint normal uniform zeros_like ones_like full_like
    empty_like standard_normal gaussian
    """)
ARITHMETIC = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "divide": "divide",
    "scale": "multiply",
}
MEANS = words("mean average nanmean")
SUMS = words("sum nansum count_nonzero")
#: Look at all elements where no dimension is given.
OVER_ALL = words("""
    max min amax amin std var norm prod median nanmedian quantile logsumexp all any argmax
    argmin unique histogram bincount
    """)
#: Look along the last dimension where none is given.
ALONG = words("""
    softmax log_softmax cumsum cumprod sort argsort topk normalize cosine_similarity
    """)
#: Join or reorder what may be samples.
MIXING = words("concat stack roll flip gather index_select masked_select nonzero scatter")
PAIRING = words("matmul mm dot bmm einsum cdist linear")
#: Applied to each element.
ELEMENTWISE = words("""
    abs exp expm1 log log2 log10 log1p sqrt rsqrt square pow sigmoid tanh sin cos tan relu relu6
    leaky_relu elu selu celu gelu silu mish softplus softsign hardtanh hardswish hardsigmoid
    prelu log_sigmoid swish sign round floor ceil trunc reciprocal equal not_equal less_than
    less_equal greater_than greater_equal logical_and logical_or logical_xor logical_not
    isnan isinf isfinite isclose maximum minimum where clip dropout dropout2d dropout3d
    one_hot embedding linear matmul bmm mm dot einsum conv1d conv2d conv3d conv1d_transpose
    conv2d_transpose max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_max_pool2d interpolate upsample pad grid_sample layer_norm
    group_norm instance_norm batch_norm pixel_shuffle unfold fold glu negative neg eq ne lt le
    gt ge erf label_smooth split chunk unbind unstack rsqrt_ mod remainder floor_divide
    """)

#: Losses that are not averaged unless they are told to be.
UNREDUCED = words("""
    square_error_cost softmax_with_cross_entropy sigmoid_focal_loss log_loss
    """)
LOSSES = words("""
    cross_entropy softmax_with_cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss
    binary_cross_entropy binary_cross_entropy_with_logits kl_div square_error_cost log_loss
    margin_ranking_loss cosine_embedding_loss hinge_embedding_loss triplet_margin_loss
    sigmoid_focal_loss ctc_loss dice_loss npair_loss soft_margin_loss multi_label_soft_margin_loss
    gaussian_nll_loss poisson_nll_loss multi_margin_loss triplet_margin_with_distance_loss
    """)
LOSS_CLASSES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "MarginRankingLoss": "margin_ranking_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "CTCLoss": "ctc_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "MultiLabelSoftMarginLoss": "multi_label_soft_margin_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
}
#: The parameters of losses behind their tensors, as far as they reduce.
LOSS_PARAMETERS = {
    "cross_entropy": ("weight", "ignore_index", "reduction"),
    "nll_loss": ("weight", "ignore_index", "reduction"),
    "binary_cross_entropy": ("weight", "reduction"),
    "binary_cross_entropy_with_logits": ("weight", "reduction"),
    "softmax_with_cross_entropy": ("soft_label", "ignore_index"),
    "multi_label_soft_margin_loss": ("weight", "reduction"),
}
#: Losses whose mean is over the weights of their targets, of which some may be left out.
BY_TARGETS = frozenset({"cross_entropy", "nll_loss"})
#: Losses over the whole batch, or with a mean over something else than samples.
COUPLING = words("npair_loss dice_loss ctc_loss CTCLoss sigmoid_focal_loss")
#: Losses whose weights multiply each element, and whose mean is still over the elements.
PLAINLY_WEIGHTED = words("""
    binary_cross_entropy binary_cross_entropy_with_logits BCELoss BCEWithLogitsLoss
    multi_label_soft_margin_loss MultiLabelSoftMarginLoss
    """)
