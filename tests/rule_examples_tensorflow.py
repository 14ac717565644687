"""Scripts around the examples in the docstrings of TensorFlow's rules: ``@`` is the example."""

from __future__ import annotations

from transpile import Options

HEAD = """\
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("--save-model", action="store_true")
args = parser.parse_args()
images = np.zeros((640, 8), dtype="float32")
labels = np.zeros((640, 1), dtype="float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
FIT = "model.fit(images, labels, batch_size=64)\n"

OPTIONS = {
    "tensorflow/split-evaluation": Options(evaluation="shard"),
    "tensorflow/grow-batches": Options(batch_size="per-device"),
    "tensorflow/scale-learning-rate": Options(batch_size="per-device", scale_lr="linear"),
}
#: Rule to the script around its example.
EXAMPLES = {
    "tensorflow/connect-workers": "@\n" + HEAD.replace("import tensorflow as tf\n", "") + FIT,
    "tensorflow/split-fit": HEAD + "@\n",
    "tensorflow/split-evaluation": HEAD + FIT + "@\n",
    "tensorflow/split-taped-calls": HEAD
    + "optimizer = keras.optimizers.SGD()\nfor _ in range(3):\n    @\n"
    + "        loss = tf.reduce_mean((predictions - labels) ** 2)\n"
    + "    grads = tape.gradient(loss, model.trainable_variables)\n"
    + "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n",
    "tensorflow/grow-batches": HEAD + "@\n" + FIT.replace("64", "BATCH_SIZE"),
    "tensorflow/scale-learning-rate": HEAD + "@\nmodel.compile(optimizer, 'mse')\n" + FIT,
    "tensorflow/compile-where-alone": HEAD + FIT + "\n\n@\n",
    "tensorflow/keep-callback-files-apart": HEAD
    + "@\n"
    + FIT.replace("64)", "64, callbacks=[logger])"),
    "tensorflow/open-once": HEAD + FIT + "@\nresults.write('x')\nprint(results)\n",
    "tensorflow/prepare-once": HEAD + "@\n" + FIT,
    "tensorflow/progress-once": HEAD.replace(
        "import numpy as np\n", "import numpy as np\nfrom tqdm import tqdm\n"
    )
    + "train_loader = [(images, labels)]\n@\n    model.train_on_batch(data, target)\n",
    "tensorflow/track-once": HEAD.replace(
        "import numpy as np\n", "import numpy as np\nfrom tensorboardX import SummaryWriter\n"
    )
    + "@\n"
    + FIT
    + 'writer.add_scalar("loss", 0.0)\n',
    "tensorflow/wait-for-files": HEAD + FIT + 'model.save_weights("best.weights.h5")\n@\n',
    "tensorflow/write-once": HEAD + FIT + "@\n",
}
#: Rules that only report, to the script around what they report and around what they do not.
BY_HAND = {
    "tensorflow/refuse-other-ways": HEAD
    + "loss_fn = keras.losses.MeanSquaredError()\ntrain_op = None\n@\n",
    "tensorflow/refuse-clipped-embeddings": HEAD
    + "@\nmodel = Encoder()\n"
    + """\
model.compile(optimizer, "mse")
model.fit(images, labels)
""",
    "tensorflow/refuse-kept-state": HEAD + "@\n" + FIT,
    "tensorflow/refuse-disorder": HEAD
    + "dataset = tf.data.Dataset.from_tensor_slices((images, labels))\nparse = None\n@\n"
    + "model.fit(dataset)\n",
}
