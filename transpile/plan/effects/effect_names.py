"""The names of what has effects: functions and methods of well-known libraries."""

from __future__ import annotations

CONSOLE = frozenset(
    {
        "sys.stdout.write", "sys.stdout.writelines", "sys.__stdout__.write", "pprint.pprint",
        "pprint.pp", "rich.print", "rich.print_json", "rich.inspect", "click.echo",
        "click.secho", "typer.echo", "typer.secho", "tqdm.tqdm.write", "IPython.display.display",
        "IPython.display.clear_output", "termcolor.cprint", "traceback.print_stack",
    }
)  # fmt: skip
FLUSHES = frozenset({"sys.stdout.flush"})
LOG_METHODS = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"}
)
LOG_FILES = frozenset(
    {
        "logging.FileHandler", "logging.handlers.WatchedFileHandler",
        "logging.handlers.RotatingFileHandler", "logging.handlers.TimedRotatingFileHandler",
    }
)  # fmt: skip
OPENS = {
    "builtins.open": (1, "r"),
    "io.open": (1, "r"),
    "codecs.open": (1, "r"),
    "gzip.open": (1, "rb"),
    "bz2.open": (1, "rb"),
    "lzma.open": (1, "rb"),
}
CONTAINERS = {
    "zipfile.ZipFile": (1, "r"),
    "tarfile.open": (1, "r"),
    "h5py.File": (1, "r"),
    "h5py._hl.files.File": (1, "r"),
    "wave.open": (1, "r"),
    "shelve.open": (1, "c"),
    "pandas.ExcelWriter": (9, "w"),
    "pandas.HDFStore": (1, "a"),
    "cv2.VideoWriter": (9, "w"),
    "imageio.get_writer": (9, "w"),
    "lmdb.open": (9, "w"),
    "sqlite3.connect": (9, "w"),
    "netCDF4.Dataset": (1, "r"),
    "numpy.lib.format.open_memmap": (1, "r"),
    "numpy.memmap": (2, "r"),
}
#: The keyword of what names a container, and the names that stand for one in memory alone.
IN_MEMORY = {"sqlite3.connect": ("database", frozenset({":memory:", "file::memory:"}))}
WRITES = frozenset(
    {
        "numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "pickle.dump",
        "cPickle.dump", "dill.dump", "cloudpickle.dump", "joblib.dump", "json.dump", "yaml.dump",
        "yaml.safe_dump", "yaml.dump_all", "toml.dump", "marshal.dump", "os.makedirs",
        "os.mkdir", "os.remove", "os.unlink", "os.rename", "os.renames", "os.replace",
        "os.rmdir", "os.removedirs", "os.symlink", "os.link", "os.chmod", "os.truncate",
        "os.utime", "os.fsync", "os.fdatasync", "os.write", "os.pwrite", "os.ftruncate",
        "shutil.copy", "shutil.copy2",
        "shutil.copyfile", "shutil.copytree",
        "shutil.copymode", "shutil.move", "shutil.rmtree", "shutil.make_archive",
        "distutils.dir_util.mkpath", "distutils.dir_util.copy_tree", "matplotlib.pyplot.savefig",
        "matplotlib.pyplot.imsave", "matplotlib.image.imsave", "cv2.imwrite", "imageio.imwrite",
        "imageio.imsave", "imageio.mimsave", "imageio.mimwrite", "imageio.v2.imwrite",
        "imageio.v2.mimsave", "imageio.v3.imwrite", "skimage.io.imsave", "scipy.misc.imsave",
        "scipy.io.savemat", "scipy.io.wavfile.write", "scipy.sparse.save_npz",
        "soundfile.write", "librosa.output.write_wav", "nibabel.save", "tifffile.imwrite",
        "tifffile.imsave", "safetensors.numpy.save_file", "omegaconf.OmegaConf.save",
    }
)  # fmt: skip
#: What writes nothing that can be read back.
REMOVALS = frozenset(
    {"os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree", "unlink()", "rmdir()"}
)
#: What makes folders.
DIRECTORIES = frozenset({"os.makedirs", "os.mkdir", "mkdir()"})
READS = frozenset(
    {
        "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap",
        "pickle.load", "json.load", "yaml.load", "yaml.safe_load", "joblib.load",
        "pandas.read_csv", "pandas.read_json", "pandas.read_pickle", "pandas.read_parquet",
        "pandas.read_excel", "PIL.Image.open", "cv2.imread", "scipy.io.loadmat",
        "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getsize", "os.path.getmtime",
        "os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob",
    }
)  # fmt: skip
#: Methods whose names say what they do whatever they belong to.
WRITE_METHODS = frozenset(
    {
        "mkdir", "rmdir", "touch", "unlink", "symlink_to", "write_text", "write_bytes", "to_csv",
        "to_excel", "to_pickle", "to_parquet", "to_hdf", "to_feather", "to_latex", "savefig",
        "save_weights", "save_pretrained", "save_model", "write_image", "write_html", "tofile",
    }
)  # fmt: skip
#: Those that give a text where they are told no file, and what tells them one by name.
TEXTS = frozenset({"to_html", "to_json", "to_markdown", "to_string", "to_xml"})
TEXT_FILES = frozenset({"buf", "path", "path_or_buf", "path_or_buffer"})
#: Methods of objects that these modules make.
WRITES_OF = {"xml.etree.": "write", "numpy.": "dump", "lxml.": "write"}
#: Methods that only trackers have.
TRACK_METHODS = frozenset(
    {
        "add_scalar", "add_scalars", "add_image", "add_images", "add_histogram", "add_graph",
        "add_figure", "add_hparams", "add_pr_curve", "add_video", "add_mesh", "add_summary",
    }
)  # fmt: skip
PATH_WRITES = frozenset({"rename", "replace", "chmod", "hardlink_to", "link_to"})
PATH_READS = frozenset(
    {"exists", "is_file", "read_text", "read_bytes", "glob", "rglob", "iterdir", "stat"}
)
HANDLE_MAKERS = frozenset(
    {"csv.writer", "csv.DictWriter", "pickle.Pickler", "io.TextIOWrapper", "io.BufferedWriter"}
)
PLOTS = ("matplotlib.", "seaborn.", "plotly.")
SHOWS = frozenset({"matplotlib.pyplot.show", "cv2.imshow", "cv2.waitKey", "PIL.Image.Image.show"})
ASKS = frozenset(
    {"builtins.input", "builtins.breakpoint", "pdb.set_trace", "ipdb.set_trace", "IPython.embed",
     "getpass.getpass", "code.interact"}
)  # fmt: skip
TRACKERS = frozenset({"visdom.Visdom", "dllogger.init"})
TRACKER_FUNCTIONS = (
    "mlflow.log_", "mlflow.set_", "mlflow.start_run", "mlflow.end_run", "mlflow.autolog",
    "mlflow.create_experiment", "mlflow.pytorch.", "mlflow.sklearn.", "mlflow.register_model",
    "wandb.login", "trackio.", "swanlab.", "nni.report_", "clearml.Task.init",
    "tensorboard_logger.configure", "tensorboard_logger.log_",
)  # fmt: skip
#: Trackers with a parameter that switches them off: (parameter, value elsewhere, value here).
SWITCHED_TRACKERS = {
    "wandb.init": ("mode", '"disabled"', "None"),
    "neptune.init_run": ("mode", '"debug"', "None"),
    "neptune.new.init_run": ("mode", '"debug"', "None"),
    "comet_ml.Experiment": ("disabled", "True", "False"),
    "comet_ml.OfflineExperiment": ("disabled", "True", "False"),
}
SWITCHED_PREFIXES = ("wandb.", "neptune.", "comet_ml.")
#: Progress bars that no argument switches off.
ALWAYS_SHOWN = frozenset(
    {
        *(f"progress.bar.{kind}" for kind in (
            "Bar", "ChargingBar", "FillingSquaresBar", "FillingCirclesBar", "IncrementalBar",
            "PixelBar", "ShadyBar",
        )),
        *(f"progress.spinner.{kind}" for kind in (
            "Spinner", "PieSpinner", "MoonSpinner", "LineSpinner", "PixelSpinner",
        )),
        *(f"progress.counter.{kind}" for kind in ("Counter", "Countdown", "Stack", "Pie")),
        "progressbar.ProgressBar", "progressbar.progressbar", "progressbar.DataTransferBar",
    }
)  # fmt: skip
PROGRESS = ALWAYS_SHOWN | {
    "tqdm.tqdm", "tqdm.trange", "tqdm.contrib.tenumerate", "alive_progress.alive_bar",
    "alive_progress.alive_it", "rich.progress.track", "rich.progress.Progress",
}  # fmt: skip
DOWNLOADS = frozenset(
    {
        "urllib.request.urlretrieve", "wget.download", "gdown.download", "gdown.download_folder",
        "gdown.cached_download", "nltk.download", "datasets.load_dataset",
        "huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download",
        "kagglehub.dataset_download", "kagglehub.model_download", "spacy.cli.download",
        "shutil.unpack_archive", "gensim.downloader.load", "openml.datasets.get_dataset",
        "pooch.retrieve", "sentencepiece.SentencePieceTrainer.train",
        "sentencepiece.SentencePieceTrainer.Train",
    }
)  # fmt: skip
DOWNLOAD_PREFIXES = ("sklearn.datasets.fetch_",)
#: Packages whose data sets fetch themselves, and nothing else of which does.
DATASET_PACKAGES = ("ogb.",)
DOWNLOAD_METHODS = frozenset({"extractall", "from_pretrained"})
PROGRAMS = frozenset(
    {
        "os.system", "subprocess.run", "subprocess.call", "subprocess.check_call",
        "subprocess.Popen",
    }
)  # fmt: skip
#: Run other programs, most often to read what they say.
READ_PROGRAMS = frozenset({"subprocess.check_output", "subprocess.getoutput"})
#: What gives the shell of a notebook, whose methods run other programs.
SHELLS = frozenset({"IPython.get_ipython", "IPython.core.getipython.get_ipython"})
SHELL_PROGRAMS = frozenset({"system", "system_piped", "system_raw", "getoutput", "getoutput_raw"})
#: Methods of the shell that are given the name of a magic.
SHELL_MAGICS = frozenset({"magic", "run_line_magic", "run_cell_magic"})
#: Magics that run programs or write files, or stand for a program that does.
MAGICS = frozenset(
    {
        "bash", "sh", "script", "writefile", "system", "sx", "pip", "conda", "mamba", "mkdir",
        "rm", "rmdir", "cp", "mv",
    }
)  # fmt: skip
