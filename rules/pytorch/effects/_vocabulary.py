"""PyTorch's own effects, beside those of well-known libraries."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "torch.save", "torch.jit.save", "torch.onnx.export", "torch.export.save",
            "torchvision.utils.save_image", "torchvision.io.write_png",
            "torchvision.io.write_jpeg", "torchvision.io.write_video", "torchaudio.save",
            "safetensors.torch.save_file", "safetensors.torch.save_model",
            "torch.distributed.checkpoint.save",
        }
    ),  # fmt: skip
    reads=frozenset({"torch.load", "torch.jit.load", "torchvision.io.read_image",
                     "safetensors.torch.load_file", "torchaudio.load"}),  # fmt: skip
    saves=frozenset({"torch.save"}),
    loads=frozenset({"torch.load"}),
    paths={
        "torch.save": ("f", 1),
        "torch.jit.save": ("f", 1),
        "torch.onnx.export": ("f", 2),
        "torchvision.utils.save_image": ("fp", 1),
    },
    reports=frozenset(
        {"torchsummary.summary", "torchsummaryX.summary", "torchinfo.summary", "torchscan.summary"}
    ),
    trackers=frozenset(
        {
            "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter",
            "tensorboard_logger.Logger", "aim.Run", "tensorflow.summary.FileWriter",
            "tensorflow.compat.v1.summary.FileWriter", "tensorflow.train.SummaryWriter",
            "tensorflow.summary.create_file_writer",
            "tensorflow.compat.v2.summary.create_file_writer",
        }
    ),  # fmt: skip
    tracker_functions=("tensorflow.summary.", "tensorflow.compat.v2.summary."),
    downloads=frozenset(
        {
            "torch.hub.load", "torch.hub.download_url_to_file", "torch.utils.model_zoo.load_url",
            "torch.hub.load_state_dict_from_url", "torchvision.datasets.utils.download_url",
            "torchvision.datasets.utils.download_and_extract_archive",
            "torchvision.datasets.utils.download_file_from_google_drive",
            "torchvision.datasets.utils.extract_archive", "torchtext.utils.download_from_url",
        }
    ),  # fmt: skip
    download_flags=(
        ("torchvision.datasets.", ("download",)),
        ("torchaudio.datasets.", ("download",)),
        ("torchvision.models.", ("pretrained", "weights", "weights_backbone")),
        ("torchvision.prototype.models.", ("weights",)),
        ("timm.", ("pretrained",)),
        ("segmentation_models_pytorch.", ("encoder_weights",)),
    ),
    pure=(
        "torch.", "torchvision.utils.make_grid", "torchvision.transforms.", "torchmetrics.",
        "torchvision.ops.",
    ),  # fmt: skip
    impure=(
        "torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial", "torch.poisson",
        "torch.nn.Dropout", "torch.nn.functional.dropout", "torch.nn.init.", "torch.distributed.",
        "torch.manual_seed", "torch.seed", "torch.set_", "torch.cuda.set_", "torch.load",
        "torch.save", "torch.hub.", "torch.jit.", "torch.onnx.", "torch.utils.data.",
        "torch.nn.Linear", "torch.nn.Conv", "torch.autograd.backward", "torch.autograd.grad",
        "torch.optim.", "torch.multiprocessing.", "torch.cuda.manual_seed", "torch.random.",
        "torch.cuda.random.", "torch.nn.Sequential", "torch.nn.Embedding", "torch.nn.RNN",
        "torch.nn.LSTM", "torch.nn.GRU", "torch.nn.Transformer", "torch.compile",
        "torch.profiler.", "torch.backends.", "torch.use_deterministic_algorithms",
        "torchvision.transforms.Random", "torchvision.transforms.functional.random",
    ),  # fmt: skip
)
