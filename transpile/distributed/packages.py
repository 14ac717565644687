"""Packages that neither make processes of one job nor know of them."""

from __future__ import annotations

_STANDARD = """
__future__ abc argparse ast asyncio atexit base64 bisect builtins bz2 calendar cmath cmd code codecs
collections colorsys concurrent configparser contextlib contextvars copy copyreg csv ctypes curses
dataclasses datetime decimal difflib dis distutils email enum errno faulthandler fcntl filecmp
fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib gzip hashlib
heapq hmac html http imghdr imp importlib inspect io ipaddress itertools json keyword linecache
locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers opcode
operator optparse os pathlib pdb pickle pkgutil platform plistlib posixpath pprint profile pstats
pty pwd queue quopri random re readline resource runpy sched secrets select selectors shelve shlex
shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string struct subprocess
sys sysconfig syslog tarfile telnetlib tempfile textwrap threading time timeit token tokenize
tomllib trace traceback tracemalloc types typing unicodedata unittest urllib uuid venv warnings wave
weakref webbrowser xml xmlrpc zipfile zipimport zlib zoneinfo
"""
_COMMON = """
absl addict albumentations art boto3 bs4 captum chardet clearml click clip cloudpickle colorama
coloredlogs comet_ml cPickle cv2 dateutil decord diffusers dill dotenv easydict editdistance einops
evaluate faiss fire fsspec ftfy gdown gensim gin graphviz gym gymnasium h5py huggingface_hub hydra
imageio imgaug inflect IPython jieba jiwer joblib jsonlines kornia librosa lmdb loguru lpips
matplotlib mido mlflow monai msgpack munch natsort neptune networkx nibabel nltk nni numba numpy
nvidia_smi ogb omegaconf onnx onnxruntime open3d open_clip openai opencv optuna orjson pandas parso
peft pesq phonemizer PIL plotly portalocker prettytable progress progressbar psutil pyarrow
pycocotools pydantic pydub pyhocon pynvml pystoi pytest pytorch_msssim pytz ray rdkit regex requests
rich rouge rouge_score ruamel sacrebleu safetensors scipy seaborn sentencepiece setproctitle
setuptools shapely simplejson six skimage sklearn sklearnex smart_open soundfile spacy submitit
sympy tabulate tensorboard tensorboard_logger tensorboardX termcolor textdistance thop tiktoken
tokenizers toml tqdm trimesh tyro ujson unidecode visdom wandb xgboost yacs yaml yapf
"""
QUIET = frozenset((_STANDARD + _COMMON).split())
