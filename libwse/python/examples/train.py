#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a language model on a text file and prints the loss:

    train.py FILE [DEVICE [STEPS]]
"""
import sys

import wse


def main(text, device="sim:func,rows=4,cols=4", steps=100):
    model = wse.Model.mlp(vocab=256, window=8, embed=16, hidden=[128, 128], activation="gelu_new")
    params = wse.Params.make(model, data=text, batch=256, lr=2e-3, max_norm=1.0)
    with wse.Trainer(params, device) as trainer:
        for s in trainer.steps(int(steps)):
            if s.step == 1 or s.step % 10 == 0:
                print(f"step {s.step}: loss {s.loss:.4f}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except wse.Error as e:
        sys.exit(str(e))
