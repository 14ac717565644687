"""MXNet's own effects, beside those of well-known libraries."""

from __future__ import annotations

from transpile.plan.effects.effects import Vocabulary

VOCABULARY = Vocabulary(
    writes=frozenset(
        {
            "mxnet.nd.save", "mxnet.model.save_checkpoint", "mxnet.npx.save",
            "mxnet.contrib.onnx.export_model", "mxnet.onnx.export_model", "mxnet.profiler.dump",
            "mxnet.rnn.save_rnn_checkpoint", "mxnet.image.imwrite", "gluoncv.utils.makedirs",
            "gluonnlp.utils.mkdir", "gluoncv.utils.TrainingHistory.plot",
        }
    ),  # fmt: skip
    write_methods=frozenset(
        {
            "save_parameters", "save_params", "save_checkpoint", "save_states", "export",
            "save_optimizer_states", "dump_profile",
        }
    ),  # fmt: skip
    reads=frozenset({"mxnet.nd.load", "mxnet.sym.load", "mxnet.model.load_checkpoint",
                     "mxnet.image.imread", "mxnet.io.MNISTIter", "mxnet.io.ImageRecordIter",
                     "mxnet.io.CSVIter", "mxnet.io.ImageDetRecordIter",
                     "mxnet.io.LibSVMIter", "mxnet.image.ImageIter", "mxnet.recordio.MXRecordIO",
                     "mxnet.recordio.MXIndexedRecordIO"}),  # fmt: skip
    read_methods=frozenset({"load_parameters", "load_params", "load_states"}),
    saves=frozenset({"mxnet.nd.save", "mxnet.model.save_checkpoint"}),
    loads=frozenset({"mxnet.nd.load", "mxnet.model.load_checkpoint"}),
    trackers=frozenset({"mxboard.SummaryWriter", "tensorboard.SummaryWriter"}),
    downloads=frozenset(
        {
            "mxnet.gluon.utils.download", "gluoncv.utils.download", "d2l.download",
            "mxnet.test_utils.download", "mxnet.test_utils.get_mnist",
            "mxnet.test_utils.get_mnist_ubyte", "mxnet.test_utils.get_mnist_pkl",
            "mxnet.test_utils.get_cifar10", "mxnet.test_utils.get_zip_data",
            "mxnet.test_utils.get_bz2_data", "mxnet.gluon.data.vision.MNIST",
            "mxnet.gluon.data.vision.FashionMNIST", "mxnet.gluon.data.vision.CIFAR10",
            "mxnet.gluon.data.vision.CIFAR100", "mxnet.gluon.contrib.data.WikiText2",
            "mxnet.gluon.contrib.data.WikiText103", "mxnet.contrib.text.embedding.create",
            "gluonnlp.data.", "gluoncv.data.",
        }
    ),  # fmt: skip
    download_flags=(
        ("mxnet.gluon.model_zoo.", ("pretrained",)),
        ("gluoncv.model_zoo.", ("pretrained", "pretrained_base")),
        ("gluonnlp.model.", ("pretrained",)),
    ),
    pure=("mxnet.nd.", "mxnet.np.", "mxnet.npx.", "mxnet.metric."),
    impure=("mxnet.nd.random", "mxnet.np.random", "mxnet.nd.save", "mxnet.nd.load",
            "mxnet.nd.Dropout", "mxnet.nd.shuffle"),  # fmt: skip
)
