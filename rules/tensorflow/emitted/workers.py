"""Helpers that connect the workers, and for what one of them does alone."""

import atexit
import functools
import json
import logging
import multiprocessing
import os
import pickle
import random
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, List

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context


def choose_gpu(task: int, addresses: List[str]) -> None:
    """Leave each worker of a machine a GPU of its own."""
    hosts = [address.rpartition(":")[0] for address in addresses]
    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) > 1:
        position = hosts[:task].count(hosts[task])
        tf.config.set_visible_devices(gpus[position % len(gpus)], "GPU")
        if hosts.count(hosts[task]) < len(gpus):
            print("each worker uses one GPU: start one for each GPU", file=sys.stderr)


def connect_workers() -> Any:
    """Connect the workers that TF_CONFIG names; return None where this is the only process."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    jobs = config.get("cluster", {})
    workers = [*jobs.get("chief", ()), *jobs.get("worker", ())]
    sizes = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
    if not workers and any(int(os.environ.get(size, 1)) > 1 for size in sizes):
        raise SystemExit("several tasks but no TF_CONFIG: set it for each of them")
    started = len(workers) or 1
    if int(os.environ.get("EXPECTED_WORLD_SIZE", started)) != started:
        raise SystemExit(f"{started} workers started, others expected")
    if started == 1 or multiprocessing.current_process().name != "MainProcess":
        return None
    kind, index = config["task"]["type"], int(config["task"]["index"])
    if kind not in ("chief", "worker"):
        raise SystemExit(f"there is nothing to do for a task {kind}: start workers alone")
    choose_gpu(index + (kind == "worker") * len(jobs.get("chief", ())), workers)
    return tf.distribute.MultiWorkerMirroredStrategy()


strategy = connect_workers()


def get_rank() -> int:
    """Return the place of this worker among all of them."""
    if strategy is None:
        return 0
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type == "worker" and "chief" in resolver.cluster_spec().jobs:
        return resolver.task_id + 1
    return resolver.task_id


def get_world_size() -> int:
    """Return the number of workers; 1 without a launcher."""
    return strategy.num_replicas_in_sync if strategy is not None else 1


def scale_learning_rate(rate: Any) -> Any:
    """Return a learning rate for a batch that grows with the number of workers."""
    return rate * get_world_size()


def scale_learning_rate_by_root(rate: Any) -> Any:
    """Return a learning rate for a batch that grows with the number of workers."""
    return rate * get_world_size() ** 0.5


def is_main_process() -> bool:
    """Tell whether this is the worker that alone writes files and prints."""
    return get_rank() == 0


def add_up(tensors: Iterable[tf.Tensor]) -> List[tf.Tensor]:
    """Return the sums of tensors over all workers; slices of variables stay slices."""

    def all_reduce(values: List[tf.Tensor]) -> List[tf.Tensor]:
        context = tf.distribute.get_replica_context()
        sums = list(values)
        for dtype in dict.fromkeys(value.dtype for value in values):
            same = [index for index, value in enumerate(values) if value.dtype == dtype]
            added = context.all_reduce("SUM", [tf.identity(values[index]) for index in same])
            for index, value in zip(same, added):
                sums[index] = value
        return sums

    return list(strategy.run(all_reduce, args=(list(tensors),)))


def wait_for_workers() -> None:
    """Wait until every worker has come here."""
    if strategy is not None:
        add_up([tf.constant(1)])


@contextmanager
def main_process_first() -> Iterator[None]:
    """Let the workers in one after the other."""
    for turn in range(get_world_size()):
        if turn == get_rank():
            yield
        wait_for_workers()


def agree() -> None:
    """Let all workers draw the same random numbers, and one of them alone speak."""
    if strategy is None:
        return
    # What is seeded already goes on where it is.
    states, seed = (random.getstate(), np.random.get_state()), context.global_seed()
    if seed is None:
        seed = random.randrange(2**30)
    drawn = pickle.dumps((states, seed)) if is_main_process() else b""
    length = int(add_up([tf.constant(len(drawn))])[0])
    sent = add_up([tf.constant(list(drawn.ljust(length, b"\0")))])[0]
    states, of_first = pickle.loads(bytes(sent.numpy().tolist()))
    random.setstate(states[0])
    np.random.set_state(states[1])
    if context.global_seed() != of_first:
        tf.random.set_seed(of_first)
    if not is_main_process():
        sys.stdout = open(os.devnull, "w")
        logging.disable(logging.INFO)


agree()


@functools.lru_cache(maxsize=None)
def path_of_this_worker(path: Any) -> Any:
    """Return the path on the worker that writes files, one that is thrown away on all others."""
    if is_main_process():
        return path
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return os.path.join(folder, os.path.basename(os.fspath(path).rstrip("/")))


def backup_of_this_worker(folder: Any) -> Any:
    """Return the folder of this worker's own backup, all of which hold the same."""
    return folder if is_main_process() else f"{os.fspath(folder)}-{get_rank()}"


def checkpoints_of_this_worker(folder: Any) -> Any:
    """Return the folder on the worker that writes files, a copy that is thrown away on others."""
    own = path_of_this_worker(folder)
    if strategy is None:
        return own
    wait_for_workers()
    names = tf.io.gfile.listdir(folder) if tf.io.gfile.isdir(folder) else []
    if int(add_up([tf.constant(len(names))])[0]) != len(names) * get_world_size():
        raise SystemExit(f"the workers see other files in {folder}: it must be shared")
    if own != folder:
        tf.io.gfile.makedirs(own)
        for name in set(tf.io.gfile.listdir(own)).difference(names):
            if not tf.io.gfile.isdir(os.path.join(own, name)):
                tf.io.gfile.remove(os.path.join(own, name))
        for name in names:
            if not tf.io.gfile.isdir(os.path.join(folder, name)):
                tf.io.gfile.copy(os.path.join(folder, name), os.path.join(own, name), True)
    wait_for_workers()
    return own
