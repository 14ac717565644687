"""The same for the refusals that are met most often with other frameworks."""

from __future__ import annotations

from followed import Advised, changed

GLUON = """\
import mxnet as mx
from mxnet import autograd, gluon, nd

mx.random.seed(0)
inputs = nd.random.normal(shape=(64, 4))
dataset = gluon.data.ArrayDataset(inputs, inputs.sum(axis=1))
loader = gluon.data.DataLoader(dataset, batch_size=8)
net = gluon.nn.Dense(1)
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
l2 = gluon.loss.L2Loss()
for epoch in range(2):
    for x, y in loader:
        with autograd.record():
            loss = l2(net(x), y)
        loss.backward()
        trainer.step(8)
"""
TRAINER = 'trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})\n'
BY_HAND = """\
        for one in net.collect_params().values():
            one.data()[:] -= 0.1 / 8 * one.grad()
"""
SESSION = """\
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rows = np.random.rand(64, 4).astype("float32")
wanted = rows.sum(1, keepdims=True)
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 1])
weight = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) - y))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(2):
        session.run(step, feed_dict={x: rows, y: wanted})
"""
KERAS = """\
import numpy as np
import tensorflow as tf

rows = np.random.rand(64, 4).astype("float32")
wanted = rows.sum(1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
model.fit(rows, wanted, batch_size=8, epochs=2)
"""

ELSEWHERE = [
    Advised(
        "TF901", "move it to TensorFlow 2: Keras, or a loop with tf.GradientTape", SESSION, KERAS
    ),
    Advised(
        "MX307",
        "update the parameters with a gluon.Trainer",
        changed((TRAINER, ""), ("        trainer.step(8)\n", BY_HAND), text=GLUON),
        GLUON,
    ),
    Advised(
        "MX203",
        "draw the batches from a DataLoader or an iterator",
        changed(
            ("    for x, y in loader:\n", "    for _ in range(8):\n        x, y = dataset[:]\n"),
            text=GLUON,
        ),
        GLUON,
    ),
]
