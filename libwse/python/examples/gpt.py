#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""train.py with another model, a GPT of two blocks, and a text from it at the end:

    gpt.py FILE [DEVICE [STEPS]]
"""
import sys

import wse


def main(text, device="sim:func,rows=4,cols=4", steps=100):
    model = wse.Model.gpt(
        vocab=256, positions=32, hidden=64, layers=2, heads=4, activation="gelu_new"
    )
    params = wse.Params.make(model, data=text, batch=16, lr=2e-3, max_norm=1.0)
    with wse.Trainer(params, device) as trainer:
        for s in trainer.steps(int(steps)):
            if s.step == 1 or s.step % 10 == 0:
                print(f"step {s.step}: loss {s.loss:.4f}")
        print("The " + trainer.generate("The ", 60)[0])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except wse.Error as e:
        sys.exit(str(e))
