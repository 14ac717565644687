"""Operations that go along axes, move them or make them: what each does, and its parameters.

A parameter list is that of the function; a method has the tensor as the first of them.
"""

from __future__ import annotations

#: Kind of operation to (name, parameters).
TABLE: dict[str, dict[str, str]] = {
    "reduces": {
        **dict.fromkeys(
            ("sum", "mean", "prod", "nansum", "nanmean", "amax", "amin", "argmax", "argmin",
             "logsumexp", "count_nonzero"),
            "input dim keepdim dtype",
        ),
        **dict.fromkeys(("std", "var"), "input dim unbiased keepdim"),
        **dict.fromkeys(("quantile", "nanquantile"), "input q dim keepdim"),
        "norm": "input p dim keepdim dtype",
        "vector_norm": "input ord dim keepdim",
        "aminmax": "input dim keepdim",
    },
    "tests": dict.fromkeys(("all", "any"), "input dim keepdim"),
    "extremes": dict.fromkeys(("max", "min"), "input dim keepdim"),
    "paired": {
        **dict.fromkeys(("median", "nanmedian", "mode"), "input dim keepdim"),
        "kthvalue": "input k dim keepdim",
    },
    "two": dict.fromkeys(("std_mean", "var_mean"), "input dim unbiased keepdim"),
    "along": {
        **dict.fromkeys(("cumsum", "cumprod", "logcumsumexp", "softmin", "argsort", "glu",
                         "flip", "flipud", "fliplr", "msort"), "input dim"),
        "cumulative_trapezoid": "input x dx dim",
        "diff": "input n dim prepend append",
        "normalize": "input p dim eps",
        "gumbel_softmax_": "input tau hard eps dim",
        "renorm": "input p dim maxnorm",
        "roll": "input shifts dim",
        "rot90": "input k dim",
        **dict.fromkeys(("fft", "ifft", "rfft", "irfft"), "input n dim norm"),
        **dict.fromkeys(("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn"), "input s dim norm"),
        **dict.fromkeys(("fftshift", "ifftshift"), "input dim"),
        "layer_norm_": "input normalized_shape weight bias eps",
        "cross": "input other dim",
        "local_response_norm_": "input size",
    },
    "implicit_softmax": {"softmax": "input dim dtype", "log_softmax": "input dim dtype"},
    "sorts": {
        **dict.fromkeys(("sort",), "input dim descending stable"),
        **dict.fromkeys(("cummax", "cummin"), "input dim"),
        "topk": "input k dim largest sorted",
    },
    "splits": {
        **dict.fromkeys(("chunk", "split", "tensor_split", "split_with_sizes"), "input pieces dim"),
    },
    "unbinds": {"unbind": "input dim"},
    "picks": {"select": "input dim index"},
    "cuts": {"narrow": "input dim start length", "index_select": "input dim index"},
    "gathers": {
        "gather": "input dim index", "take_along_dim": "input index dim",
    },
    "scatters": {
        **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce"), "input dim index src"),
        **dict.fromkeys(("index_add", "index_copy"), "input dim index src"),
        "index_fill": "input dim index value",
    },
    "one_hot": {"one_hot": "input count"},
    "views": {**dict.fromkeys(("view", "reshape"), "input *size")},
    "views_as": dict.fromkeys(("view_as", "reshape_as"), "input other"),
    "flattens": {"flatten": "input start_dim end_dim"},
    "unflattens": {"unflatten": "input dim sizes"},
    "transposes": {
        **dict.fromkeys(("transpose", "swapaxes", "swapdims"), "input dim0 dim1"),
        **dict.fromkeys(("t", "adjoint"), "input"),
    },
    "permutes": {"permute": "input *dim"},
    "moves": dict.fromkeys(("movedim", "moveaxis"), "input source destination"),
    "unsqueezes": {"unsqueeze": "input dim"},
    "squeezes": {"squeeze": "input dim"},
    "expands": {"expand": "input *size", "broadcast_to": "input size"},
    "expands_as": {"expand_as": "input other"},
    "repeats": {"repeat": "input *size", "tile": "input *size"},
    "interleaves": {"repeat_interleave": "input repeats dim"},
    "joins": dict.fromkeys(("cat", "concat", "concatenate"), "input dim"),
    "stacks": {"stack": "input dim"},
    "diagonals": {
        "diagonal": "input offset dim1 dim2", "diag": "input diagonal", "diag_embed": "input",
    },
    "last_two": {
        **dict.fromkeys(("tril", "triu", "inverse", "inv", "pinverse", "pinv", "cholesky",
                         "matrix_exp", "matrix_power"), "input diagonal"),
    },
    "products": dict.fromkeys(("matmul", "mm", "bmm", "mv", "spmm"), "input other"),
    "added_products": dict.fromkeys(("addmm", "baddbmm", "addmv", "addbmm_"), "input one other"),
    "outers": dict.fromkeys(("outer", "ger"), "input other"),
    "dots": dict.fromkeys(("dot", "inner_", "vdot"), "input other"),
    "distances": {"cdist": "input other p"},
    "tensordots": {"tensordot": "input other count"},
    "einsum": {"einsum": "equation *operands"},
    "similarities": {
        "cosine_similarity": "input other dim eps",
        "pairwise_distance": "input other p eps keepdim",
    },
    "noisy": {
        **dict.fromkeys(("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d",
                         "dropout2d", "dropout3d"), "input p training inplace"),
        "bernoulli": "input p",
        "rrelu": "input lower upper training inplace",
    },
    "drawn": {
        **dict.fromkeys(("rand", "randn"), "*size"),
        "randint": "low high size",
        "normal": "mean std size",
    },
    "drawn_like": {
        **dict.fromkeys(("rand_like", "randn_like", "empty_drawn_like"), "input"),
        "randint_like": "input low high",
    },
    "new": {
        **dict.fromkeys(("zeros", "ones", "empty"), "*size"),
        "full": "size fill",
    },
    "like": {**dict.fromkeys(("zeros_like", "ones_like", "empty_like"), "input"),
             "full_like": "input fill"},
    "counting": {"arange": "start end step", "range": "start end step"},
    "evenly": dict.fromkeys(("linspace", "logspace"), "start end steps"),
    "identity": {"eye": "*size"},
    "constant": {
        **dict.fromkeys(("tensor", "as_tensor", "from_numpy", "asarray"), "data"),
        "hann_window": "data",
    },
    "typed": dict.fromkeys(("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor",
                            "IntTensor", "ShortTensor", "ByteTensor", "BoolTensor"),
                           "data *sizes"),
    "attention": {
        "scaled_dot_product_attention": "query key value mask dropout_p is_causal scale"
    },
    "refuses": {
        **dict.fromkeys(
            ("unique", "unique_consecutive", "nonzero", "argwhere", "masked_select", "histc",
             "bincount", "histogram", "cov", "corrcoef", "pdist", "multinomial_", "item", "tolist",
             "svd", "qr", "eig", "eigh", "det", "lstsq", "solve", "numpy", "put_", "take", "trace",
             "allclose", "equal", "searchsorted_", "bucketize_", "combinations", "cartesian_prod",
             "embedding_renorm", "kron", "block_diag", "matrix_norm"),
            "input other",
        ),
    },
    "asks": dict.fromkeys(
        ("is_tensor", "is_floating_point", "is_complex", "is_contiguous", "element_size",
         "get_device",
         "is_grad_enabled", "is_scripting", "is_tracing", "get_default_dtype", "device", "dtype",
         "finfo", "iinfo", "no_grad", "enable_grad", "set_grad_enabled", "autocast",
         "inference_mode",
         "register_hook", "is_available", "manual_seed", "result_type", "is_autocast_enabled",
         "is_compiling", "is_nonzero_", "stride", "storage", "data_ptr", "is_pinned", "_assert",
         "set_printoptions", "record_function", "is_inference"),
        "input",
    ),
}  # fmt: skip
#: Names to (kind, parameters).
OPERATIONS: dict[str, tuple[str, str]] = {
    word: (kind, signature) for kind, words in TABLE.items() for word, signature in words.items()
}
