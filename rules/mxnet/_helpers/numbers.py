"""The helper functions that report metrics and numbers of all workers."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import COPY, ITERTOOLS, MX, NUMPY

NUMBERS: dict[str, HelperTemplate] = {
    "reduce_metric": HelperSource(
        '''
def $reduce_metric(metric):
    """Return a metric of what all workers have counted."""
    if $store is None:
        return metric
    reduced = $copy.deepcopy(metric)
    for part in getattr(reduced, "metrics", [reduced]):
        names = ["sum_metric", "num_inst", "global_sum_metric", "global_num_inst"]
        counted = [name for name in names if hasattr(part, name)]
        totals = $all_reduce([float(getattr(part, name)) for name in counted])
        for name, total in zip(counted, totals):
            setattr(part, name, int(total) if name.endswith("inst") else total)
    return reduced
''',
        (COPY,),
        ("store", "all_reduce"),
    ),
    "SharedMetric": HelperSource(
        '''
class $SharedMetric($mx.metric.EvalMetric):
    """A metric that is read as that of what all workers have counted."""

    def __init__(self, metric):
        self.metric = $mx.metric.create(metric)
        super().__init__(self.metric.name)

    def update(self, labels, preds):
        self.metric.update(labels, preds)

    def update_dict(self, label, pred):
        self.metric.update_dict(label, pred)

    def reset(self):
        self.metric.reset()

    def reset_local(self):
        self.metric.reset_local()

    def get(self):
        return $reduce_metric(self.metric).get()

    def get_global(self):
        return $reduce_metric(self.metric).get_global()

    def get_global_name_value(self):
        return $reduce_metric(self.metric).get_global_name_value()
''',
        (MX,),
        ("reduce_metric",),
    ),
    "add_workers": HelperSource(
        '''
def $add_workers(number):
    """Return the sum of a number, or of an array, over all workers."""
    if $store is None:
        return number
    return $all_reduce($np.ravel(number)).reshape($np.shape(number))[()]
''',
        (NUMPY,),
        ("store", "all_reduce"),
    ),
    "average_workers": HelperSource(
        '''
def $average_workers(number):
    """Return the mean of a number, or of an array, over all workers."""
    if $store is None:
        return number
    return $add_workers(number) / $get_num_workers()
''',
        (),
        ("store", "add_workers", "get_num_workers"),
    ),
    "add_counts": HelperSource(
        '''
def $add_counts(*numbers):
    """Return the sums of numbers over all workers, whole ones as whole ones."""
    if $store is None:
        return numbers
    totals = $all_reduce([float(number) for number in numbers])
    kept = zip(numbers, totals)
    return tuple(int(t) if isinstance(n, int) and t == int(t) else t for n, t in kept)
''',
        (),
        ("store", "all_reduce"),
    ),
    "EvaluationShare": HelperSource(
        '''
class $EvaluationShare:
    """This worker's batches of data for evaluation, of which each worker takes every N-th."""

    def __init__(self, data):
        self.data = data

    def __getattr__(self, name):
        return getattr(self.data, name)

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return $itertools.islice(iter(self.data), $get_rank(), None, $get_num_workers())
''',
        (ITERTOOLS,),
        ("get_rank", "get_num_workers"),
    ),
}
