"""Shares of data sets that executors read from files themselves."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.fluid._helpers.names import FLUID, OS

LINES = '''
@$contextlib.contextmanager
def $share_lines(dataset):
    """Have a data set read this trainer's share of every batch, all files as if they were one."""
    trainers = $get_trainer_count()
    batch_size, command = dataset.proto_desc.batch_size, dataset.proto_desc.pipe_command
    files, threads = dataset.filelist, dataset.thread_num
    missing = [name for name in files if not $os.path.isfile(name)]
    if missing:
        raise SystemExit("every trainer needs every file, as a local one: %s" % missing[0])
    script = $tempfile.NamedTemporaryFile("w")
    for name in files:
        unpacked = "zcat" if name.endswith(".gz") else "cat"
        script.write("%s %s | ( %s )\\n" % (unpacked, $pipes.quote(name), command))
    script.flush()
    # Every line is a sample behind the command; the last ones are padded with the first.
    chosen = (
        "NR < n { first[NR] = $$0 } (NR - 1) % n == t { print }"
        " END { for (i = NR; NR && i % n; i++) if (i % n == t) print first[(i - NR) % NR + 1] }"
    )
    share = "awk -v n=%d -v t=%d '%s'" % (trainers, $get_trainer_id(), chosen)
    dataset.set_filelist([script.name])
    dataset.set_pipe_command("sh | %s" % share)
@size    # Servers count the steps of trainers, not of threads.
    dataset.set_thread(1)
    try:
        yield
    finally:
        dataset.set_filelist(files)
        dataset.set_pipe_command(command)
        dataset.set_batch_size(batch_size)
        dataset.set_thread(threads)
        script.close()
'''
SIZE = """\
    $check_batch(batch_size, 0)
    dataset.set_batch_size(batch_size // trainers)
"""
MODULES = (
    ("contextlib", "contextlib"),
    ("pipes", "pipes"),
    ("tempfile", "tempfile"),
    OS,
)


def lines_helper(options: Options) -> HelperSource:
    """The helper ``share_lines`` for the chosen meaning of the batch size."""
    helpers: tuple[str, ...] = ("get_trainer_id", "get_trainer_count")
    if options.batch_size == "per-device":
        return HelperSource(LINES.replace("@size", ""), MODULES, helpers)
    return HelperSource(LINES.replace("@size", SIZE), MODULES, (*helpers, "check_batch"))


DATASETS: dict[str, HelperTemplate] = {
    "share_lines": lines_helper,
    "load_share": HelperSource(
        '''
def $load_share(load):
    """Return load_into_memory for this trainer's share of the samples."""

    def loaded():
        if $get_trainer_count() == 1:
            return load()
        with $share_lines(load.__self__):
            return load()

    return loaded
''',
        (),
        ("get_trainer_count", "share_lines"),
    ),
    "train_from_share": HelperSource(
        '''
def $train_from_share(train):
    """Return train_from_dataset for this trainer's share of every batch."""

    def trained(
        program=None,
        dataset=None,
        scope=None,
        thread=0,
        debug=False,
        fetch_list=None,
        fetch_info=None,
        print_period=100,
        **others
    ):
        if $get_trainer_count() == 1:
            shown = (debug, fetch_list, fetch_info, print_period)
            return train(program, dataset, scope, thread, *shown, **others)
        if not $is_main_process():
            debug, fetch_list, fetch_info = False, None, None
        shown = (debug, fetch_list, fetch_info, print_period)
        program = program or $fluid.default_main_program()
        distributed = program._is_distributed
        # Else the threads of the executor are counted by a communicator, which is not there.
        program._is_distributed = False
        try:
            with $share_lines(dataset):
                return train(program, dataset, scope, 1, *shown, **others)
        finally:
            program._is_distributed = distributed

    return trained
''',
        (FLUID,),
        ("get_trainer_count", "is_main_process", "share_lines"),
    ),
    "infer_once": HelperSource(
        '''
def $infer_once(infer):
    """Return infer_from_dataset for trainer 0, which alone shows what comes out."""

    def inferred(program=None, *args, **kwargs):
        if $get_trainer_count() == 1:
            return infer(program, *args, **kwargs)
        if $is_main_process():
            program = program or $fluid.default_main_program()
            distributed = program._is_distributed
            program._is_distributed = False
            try:
                return infer(program, *args, **kwargs)
            finally:
                program._is_distributed = distributed

    return inferred
''',
        (FLUID,),
        ("get_trainer_count", "is_main_process"),
    ),
}
