"""The helper functions by which each worker computes its rows of the calls of models."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.tensorflow._helpers.names import (
    CONTEXT,
    CONTEXTMANAGER,
    INSPECT,
    SYS,
    TF,
    THREADING,
)

CALLS: dict[str, HelperTemplate] = {
    "rows_of": HelperSource(
        '''
def $rows_of(count, rank):
    """Return where the rows of a worker begin and end among those of a batch."""
    workers = $get_world_size()
    return count * rank // workers, count * (rank + 1) // workers
''',
        (),
        ("get_world_size",),
    ),
    "among_all": HelperSource(
        '''
def $among_all(rows, count):
    """Return the rows of this worker, with zeros for those of the others."""
    first, behind = $rows_of(count, $get_rank())

    def zeros(number):
        return $tf.zeros($tf.concat([[number], $tf.shape(rows)[1:]], 0), rows.dtype)

    return $tf.concat([zeros(first), rows, zeros(count - behind)], 0)
''',
        (TF,),
        ("rows_of", "get_rank"),
    ),
    "gather": HelperSource(
        '''
def $gather(tensors, count):
    """Return the rows of all workers."""
    types = [tensor.dtype for tensor in tensors]
    counted = [
        tensor if dtype.is_floating else $tf.cast(tensor, $tf.int64)
        for tensor, dtype in zip(tensors, types)
    ]
    gathered = $add_up([$among_all(tensor, count) for tensor in counted])
    return [$tf.cast(tensor, dtype) for tensor, dtype in zip(gathered, types)]
''',
        (TF,),
        ("add_up", "among_all"),
    ),
    "gather_slices": HelperSource(
        '''
def $gather_slices(slices):
    """Return the slices of all workers: optimizers update the rows that a batch looks up alone."""
    rank = $get_rank()
    place = $tf.one_hot(rank, $get_world_size(), dtype=$tf.int64)
    counts = $add_up([place * $tf.size(slices.indices, $tf.int64)])[0]
    around = [$tf.reduce_sum(counts[:rank]), $tf.reduce_sum(counts[rank + 1 :])]

    def among_all_slices(tensor):
        return $tf.pad(tensor, [around] + [[0, 0]] * (tensor.shape.rank - 1))

    indices = $tf.cast(slices.indices, $tf.int64)
    values, indices = $add_up([among_all_slices(slices.values), among_all_slices(indices)])
    indices = $tf.cast(indices, slices.indices.dtype)
    return $tf.IndexedSlices(values, indices, slices.dense_shape)
''',
        (TF,),
        ("get_rank", "get_world_size", "add_up"),
    ),
    "add_up_moments": HelperSource(
        '''
@$tf.custom_gradient
def $add_up_moments(tensor):
    """Return the sum of a tensor over all workers, as part of what is differentiated."""
    return $add_up([tensor])[0], lambda upstream: $add_up([upstream])[0]
''',
        (TF,),
        ("add_up",),
    ),
    "whole_batch_moments": HelperSource(
        '''
def $whole_batch_moments(layer):
    """Return what computes the mean and variance of a batch normalization over all workers."""

    def moments(inputs, axes, keep_dims=False, mask=None):
        if hasattr(layer, "_reduction_axes"):  # Keras 3 gives the mask alone
            axes, mask = layer._reduction_axes, axes
        weights = $tf.ones_like(inputs)
        if mask is not None:
            mask = $tf.reshape(mask, [*$tf.unstack($tf.shape(mask)), 1])
            weights *= $tf.cast(mask, inputs.dtype)
        axes = list(axes)
        count = $add_up([$tf.reduce_sum(weights, axes, keepdims=True)])[0]
        total = $add_up_moments($tf.reduce_sum(inputs * weights, axes, keepdims=True))
        mean = total / count
        squares = $tf.square(inputs - mean) * weights
        variance = $add_up_moments($tf.reduce_sum(squares, axes, keepdims=True)) / count
        if keep_dims:
            return mean, variance
        return $tf.squeeze(mean, axes), $tf.squeeze(variance, axes)

    return moments
''',
        (TF,),
        ("add_up", "add_up_moments"),
    ),
    "call_with_whole_moments": HelperSource(
        '''
def $call_with_whole_moments(model, call, args, kwargs):
    """Call a model whose batch normalization sees the rows of all workers."""
    found = [layer for layer in $layers_of(model) if hasattr(layer, "moving_variance")]
    fused = [(layer, layer.fused) for layer in found if hasattr(layer, "fused")]
    for layer in found:
        layer._moments = $whole_batch_moments(layer)
    for layer, _ in fused:
        layer.fused = False
    try:
        return call(*args, **kwargs)
    finally:
        for layer in found:
            del layer._moments
        for layer, was in fused:
            layer.fused = was
''',
        (),
        ("layers_of", "whole_batch_moments"),
    ),
    "layers_of": HelperSource(
        '''
def $layers_of(model):
    """Return a model and all layers in it."""
    return list(model._flatten_layers())
''',
    ),
    "own_noise": HelperSource(
        '''
@$contextmanager
def $own_noise(model, number):
    """Let the layers of a model draw other random numbers than for another number."""
    found = (getattr(layer, "_seed_generators", ()) for layer in $layers_of(model))
    states = {id(each.state): each.state for generators in found for each in generators}
    offset = 7919 * number
    holder, name = $tf.compat.v1.get_default_graph(), "seed"
    if $tf.executing_eagerly():
        holder, name = $context.context(), "_seed"
    seed = getattr(holder, name)
    if seed is not None:
        setattr(holder, name, seed + offset)
    for state in states.values():
        state.assign(state + $tf.constant([offset, 0], state.dtype))
    try:
        yield
    finally:
        setattr(holder, name, seed)
        for state in states.values():
            state.assign(state - $tf.constant([offset, 0], state.dtype))
''',
        (CONTEXT, CONTEXTMANAGER, TF),
        ("layers_of",),
    ),
    "check_agreement": HelperSource(
        '''
def $check_agreement(sums, own):
    """Return a check that all workers computed the loss from the same batch."""
    differs = $tf.abs(sums / $get_world_size() - own)[0::2] > 1e-3 * own[1::2]
    return $tf.debugging.Assert(
        $tf.logical_not($tf.reduce_any(differs)),
        ["the workers drew different batches: something random or unordered is not agreed on"],
    )
''',
        (TF,),
        ("get_world_size",),
    ),
    "fingerprint": HelperSource(
        '''
def $fingerprint(tensors):
    """Return two numbers for each tensor, by which workers compare theirs."""
    found = []
    for tensor in tensors:
        flat = $tf.cast($tf.reshape(tensor, [-1]), $tf.float32)
        wave = $tf.cos($tf.range($tf.size(flat), dtype=$tf.float32))
        found += [$tf.reduce_sum(flat * wave), $tf.reduce_sum($tf.abs(flat))]
    return $tf.stack(found)
''',
        (TF,),
    ),
    "compute_rows": HelperSource(
        '''
def $compute_rows(model, call, args, kwargs, unchecked):
    """Call a model on this worker's rows of a batch; return the outputs of all workers.

    The gradients that flow back are those of the whole batch, on every worker.
    """
    given = $tf.nest.flatten((args, kwargs))
    tensors = [
        index
        for index, value in enumerate(given)
        if $tf.is_tensor(value) and value.shape.rank and not isinstance(value, $tf.Variable)
    ]
    if not tensors:
        return call(*args, **kwargs)
    lead = given[tensors[0]]
    tensors = [index for index in tensors if given[index].shape[0] == lead.shape[0]]
    count = $tf.shape(lead)[0]
    first, behind = $rows_of(count, $get_rank())
    result, masks = [], []

    def rows_alone(args, kwargs):
        own = $tf.nest.flatten((args, kwargs))
        for index in tensors:
            own[index] = own[index][first:behind]
        return $tf.nest.pack_sequence_as((args, kwargs), own)

    if unchecked is not None:
        check = lambda: $check_rows(model, call, args, kwargs, rows_alone)  # noqa: E731
        drawn = $context.context()._rng.getstate()
        unchecked.assign($tf.cond(unchecked, check, lambda: $tf.constant(False)))
        $context.context()._rng.setstate(drawn)

    def whole_batch(*inputs):
        rows = [tensor[first:behind] for tensor in inputs]
        watched = [tensor for tensor in rows if tensor.dtype.is_floating]
        with $tf.GradientTape(persistent=True) as tape:
            tape.watch(watched)
            own = list(given)
            for index, tensor in zip(tensors, rows):
                own[index] = tensor
            own_args, own_kwargs = $tf.nest.pack_sequence_as((args, kwargs), own)
            with $own_noise(model, $get_rank()):
                result[:] = [$call_with_whole_moments(model, call, own_args, own_kwargs)]
            outputs = $tf.nest.flatten(result[0])
        for layer in $layers_of(model):
            if getattr(layer, "_losses", None) or getattr(layer, "_eager_losses", None):
                raise SystemExit(f"{layer.name} adds a loss of its own: compute it in the training")
        gathered = $gather(outputs, count)
        for whole, output in zip(gathered, outputs):
            whole.set_shape([lead.shape[0], *output.shape[1:]])
            mask = getattr(output, "_keras_mask", None)
            masks.append(mask if mask is None else $gather([mask], count)[0])

        def gradients(*upstream, variables=None):
            order = map($variable_of, model.trainable_variables)
            position = {id(v): index for index, v in enumerate(order)}
            found = sorted(variables or (), key=lambda v: (position.get(id(v), -1), v.name))
            computed = tape.gradient(
                outputs,
                [*watched, *found],
                [tensor[first:behind] for tensor in upstream],
                unconnected_gradients=$tf.UnconnectedGradients.ZERO,
            )
            for index in range(len(watched)):
                rows_of_input = $tf.convert_to_tensor(computed[index])
                computed[index] = $among_all(rows_of_input, count)
            own = $fingerprint(upstream)
            dense = [each for each in computed if $tf.is_tensor(each)]
            sums = $add_up([own, *dense])
            with $tf.control_dependencies([$check_agreement(sums[0], own)]):
                sums = iter([$tf.identity(tensor) for tensor in sums[1:]])
            whole = [next(sums) if $tf.is_tensor(e) else $gather_slices(e) for e in computed]
            of_inputs = iter(whole)
            back = [next(of_inputs) if each.dtype.is_floating else None for each in rows]
            if not variables:
                return back
            of_variables = {id(v): each for v, each in zip(found, of_inputs)}
            return back, [of_variables[id(v)] for v in variables]

        return gathered, gradients

    outputs = $tf.custom_gradient(whole_batch)(*[given[index] for index in tensors])
    outputs = $tf.nest.flatten(outputs)
    for output, mask in zip(outputs, masks):
        if mask is not None:
            output._keras_mask = mask
    return $tf.nest.pack_sequence_as(result[0], outputs)
''',
        (CONTEXT, TF),
        (
            "rows_of",
            "get_rank",
            "own_noise",
            "call_with_whole_moments",
            "layers_of",
            "gather",
            "variable_of",
            "among_all",
            "gather_slices",
            "fingerprint",
            "add_up",
            "check_agreement",
            "check_rows",
        ),
    ),
    "variable_of": HelperSource(
        '''
def $variable_of(variable):
    """Return the variable of TensorFlow in one of Keras 3."""
    value = getattr(variable, "value", variable)
    return variable if callable(value) else value
''',
    ),
    "weights_of": HelperSource(
        '''
def $weights_of(model):
    """Return the weights that a model has; it may get others when it is called first."""
    found = {}
    for part in $layers_of(model):
        try:
            found.update((id(each), each) for each in part.weights)
        except ValueError:  # not built yet: workers will draw the same
            continue
    return list(found.values())
''',
        (),
        ("layers_of",),
    ),
    "in_training": HelperSource("$in_training = $threading.local()", (THREADING,)),
    "share_calls": HelperSource(
        '''
def $share_calls(model):
    """Let calls of a model in training be computed by all workers together, each its rows."""
    if getattr(model, "calls_are_shared", False):
        return
    keras = $sys.modules.get("keras")
    if type(model).__module__.startswith("keras.") and keras.backend.backend() != "tensorflow":
        raise SystemExit("Keras must run on TensorFlow here: set KERAS_BACKEND=tensorflow")
    call = model.call
    whole = any(getattr(each, "activity_regularizer", None) for each in $layers_of(model))
    if whole:
        print("a model with an activity regularizer is computed whole", file=$sys.stderr)

    with $tf.init_scope():
        unchecked = None if $is_of_keras(model) else $tf.Variable(True, trainable=False)

    @$tf.autograph.experimental.do_not_convert
    def shared(*args, **kwargs):
        if whole or not getattr($in_training, "now", False):
            return call(*args, **kwargs)
        $in_training.now, $in_training.found = False, True
        try:
            return $compute_rows(model, call, args, kwargs, unchecked)
        finally:
            $in_training.now = True

    shared.__signature__ = $inspect.signature(call)
    model.call = shared
    model.calls_are_shared = True
    with $tf.init_scope():
        weights = map($variable_of, $weights_of(model))
        floats = [each for each in weights if each.dtype.is_floating]
        first = float($is_main_process())
        sums = $add_up([$tf.cast(first, each.dtype) * each for each in floats]) if floats else []
        for each, begun in zip(floats, sums):
            each.assign(begun)
''',
        (INSPECT, SYS, TF),
        (
            "layers_of",
            "in_training",
            "is_of_keras",
            "compute_rows",
            "variable_of",
            "weights_of",
            "is_main_process",
            "add_up",
        ),
    ),
    "split_calls": HelperSource(
        '''
def $split_calls(model):
    """Return what calls a model in training: each worker computes its rows of the batch."""
    if $get_world_size() == 1 or not hasattr(model, "train_step"):
        return model
    $share_calls(model)

    def split(*args, **kwargs):
        before = getattr($in_training, "now", False)
        $in_training.now = True
        try:
            return model(*args, **kwargs)
        finally:
            $in_training.now = before

    return split
''',
        (),
        ("get_world_size", "share_calls", "in_training"),
    ),
    "compute_whole": HelperSource(
        '''
def $compute_whole(model):
    """Return what calls a model on the whole batch, in training, too."""

    def whole(*args, **kwargs):
        before = getattr($in_training, "now", False)
        $in_training.now = False
        try:
            return model(*args, **kwargs)
        finally:
            $in_training.now = before

    return whole
''',
        (),
        ("in_training",),
    ),
    "check_rows": HelperSource(
        '''
def $check_rows(model, call, args, kwargs, rows):
    """Stop unless what a model makes of this worker's rows is what it makes of the whole batch."""
    if "training" in $inspect.signature(call).parameters:
        kwargs = {**kwargs, "training": False}
    given = $tf.nest.flatten((args, kwargs))
    lead = next(value for value in given if $tf.is_tensor(value) and value.shape.rank)
    first, behind = $rows_of($tf.shape(lead)[0], $get_rank())
    whole = $tf.nest.flatten(call(*args, **kwargs))
    with $own_noise(model, $get_world_size()):
        again = $tf.nest.flatten(call(*args, **kwargs))
    own_args, own_kwargs = rows(args, kwargs)
    own = $tf.nest.flatten(call(*own_args, **own_kwargs))
    alike, by_chance = [], []
    for one, other, part in zip(whole, again, own):
        one, other, part = ($tf.cast(each, $tf.float32) for each in (one, other, part))
        near = 1e-3 * $tf.reduce_max($tf.abs(one)) + 1e-6
        alike.append($tf.reduce_all($tf.abs(one[first:behind] - part) <= near))
        by_chance.append($tf.reduce_any(one != other))
    $tf.debugging.Assert(
        $tf.reduce_all(alike) | $tf.reduce_any(by_chance),
        ["the model looks at other samples of the batch: its calls cannot be sharded"],
    )
    return $tf.constant(False)
''',
        (INSPECT, TF),
        ("rows_of", "get_rank", "get_world_size", "own_noise"),
    ),
    "is_of_keras": HelperSource(
        '''
def $is_of_keras(model):
    """Tell whether a model is made of layers of Keras alone, which look at one sample each."""
    parts = [*$layers_of(model), *getattr(model, "operations", ())]
    return all(
        type(part).__module__.startswith(("keras.src.layers", "keras.src.models", "tf_keras."))
        and type(part).__name__ not in ("Lambda", "TFOpLambda", "SlicingOpLambda", "InstanceMethod")
        for part in parts
    )
''',
        (),
        ("layers_of",),
    ),
    "split_fit": HelperSource(
        '''
def $split_fit(model):
    """Return a model of which each worker computes its rows of every batch that it trains on."""
    if $get_world_size() == 1 or not hasattr(model, "train_step"):
        return model
    if getattr(model, "jit_compile", False):
        model.jit_compile = False  # XLA knows no communication between workers
    if getattr(model, "training_is_shared", False):
        return model
    for part in $layers_of(model):
        if hasattr(part, "train_step"):
            $share_calls(part)
    train_step = model.train_step

    def shared_step(data):
        $in_training.now = True
        try:
            result = train_step(data)
        finally:
            $in_training.now = False
        if not getattr($in_training, "found", False):
            $in_training.found = True
            print("no call of a model to shard: every worker computes all", file=$sys.stderr)
        return result

    model.train_step = shared_step
    model.training_is_shared = True
    return model
''',
        (SYS,),
        ("get_world_size", "layers_of", "share_calls", "in_training"),
    ),
}
