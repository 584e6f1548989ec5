#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of one's own, as a list of operations: the last 8 bytes are looked up in an embedding, one layer with GELU, one
to the logits. libwse/examples/own.c is the same model, with the same losses. Needs numpy.

    own.py FILE [DEVICE [STEPS]]
"""
import sys

import numpy as np
import wse

VOCAB, WINDOW, EMBED, HIDDEN = 256, 8, 16, 128
INPUTS = WINDOW * EMBED
WTE, W0, B0, W1, B1 = range(5)
IN_X, OUT_DX = 1, 2  # behind the targets; behind losses and logits


def graph(g):
    """x -> act, deriv -> logits -> dy; then back, with the gradient of every unit"""
    u0 = g.unit(W0, HIDDEN, INPUTS)
    u1 = g.unit(W1, VOCAB, HIDDEN)
    g.vec(u0, B0, HIDDEN)  # a unit's only vector is at place 0
    g.vec(u1, B1, VOCAB)
    targets, logits = g.classes(VOCAB)
    inputs = g.input("inputs", INPUTS * g.tokens * 2)
    dx = g.output("gradient of the inputs", INPUTS * g.tokens * 4)

    x = g.op_in("activations", inputs, "bf16", "tokens", INPUTS // g.tile.cols)
    t = g.op_in("targets", targets, "u16", "shared", 1)
    act, deriv = g.linear(u0, x, vec=g.vec_in(u0), post="gelu_new", both=True, what="activations")
    y = g.linear(u1, act, vec=g.vec_in(u1), what="logits")
    g.op_out(logits, y)
    dy = g.loss(y, t)

    g.vec_out(u1, g.wgrad(u1, act, dy))
    dy = g.linear(u1, dy, back=1, post="mul", aux=deriv, what="gradients")
    g.vec_out(u0, g.wgrad(u0, x, dy))
    dy = g.linear(u0, dy, back=1, what="gradients")
    g.op_out(dx, dy)


def bf16(x):
    """to the nearest, ties to even"""
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def windows(batch):
    """[T][WINDOW]: the tokens before each target"""
    return np.asarray(batch.samples)[:, :WINDOW]


def gather(batch):
    """x [INPUTS][T]: the embeddings of the tokens before each target"""
    x = np.asarray(batch.param(WTE))[windows(batch)].reshape(batch.tokens, INPUTS)
    np.frombuffer(batch.input(IN_X), np.uint16).reshape(INPUTS, batch.tokens)[:] = bf16(x).T


def scatter(batch):
    """and their gradients, onto the same rows, in token order"""
    dx = np.frombuffer(batch.output(OUT_DX), np.float32).reshape(INPUTS, batch.tokens).T
    np.add.at(np.asarray(batch.grad(WTE)), windows(batch), dx.reshape(batch.tokens, WINDOW, EMBED))


def model():
    decay, read = wse.abi.WSE_TENSOR_DECAY, wse.abi.WSE_TENSOR_INPUT
    return wse.Model(
        name="own",
        vocab=VOCAB,
        window=WINDOW,
        span=1,
        macs=INPUTS * HIDDEN + HIDDEN * VOCAB,
        graph=graph,
        gather=gather,
        scatter=scatter,
        params=[
            dict(name="wte", rows=VOCAB, cols=EMBED, dev=0.5, flags=decay | read),
            dict(name="w0", rows=HIDDEN, cols=INPUTS, dev=(2.0 / INPUTS) ** 0.5, flags=decay),
            dict(name="b0", rows=HIDDEN),
            dict(name="w1", rows=VOCAB, cols=HIDDEN, dev=0.5 / HIDDEN**0.5, flags=decay),
            dict(name="b1", rows=VOCAB),
        ],
    )


def main(text, device="sim:func,rows=4,cols=4", steps=100):
    params = wse.Params.make(model(), data=text, batch=256, lr=2e-3, max_norm=1.0)
    with wse.Trainer(params, device) as trainer:
        for s in trainer.steps(int(steps)):
            if s.step == 1 or s.step % 10 == 0:
                print(f"step {s.step}: loss {s.loss:.4f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except wse.Error as e:
        sys.exit(str(e))
