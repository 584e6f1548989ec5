#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A GPT trained by a script that was written for Cerebras' torch front end: its module, its loop.

    traced.py TEXT OUT_DIR [STEPS [NUM_CSX [CHECKPOINT]]]

The bytes of TEXT in sequences of 32, eight a step, in order; OUT_DIR gets a checkpoint every ten
steps. CHECKPOINT: the file to go on from.
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F

import cerebras.pytorch as cstorch

SEQUENCE, BATCH, WIDTH = 32, 8, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.fc, self.proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, future):
        y = self.ln_1(x)
        x = x + self.attention(y, y, y, attn_mask=future, need_weights=False)[0]
        return x + self.proj(F.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, blocks=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(256, WIDTH), nn.Embedding(SEQUENCE, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, labels):
        future = torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool).triu(1)
        x = self.wte(tokens) + self.wpe(torch.arange(SEQUENCE))
        for block in self.blocks:
            x = block(x, future)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, 256), labels.reshape(-1))


def batches(path, first):
    """From the batch of step first on."""
    with open(path, "rb") as f:
        text = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8).long()
    n = (len(text) - 1) // SEQUENCE // BATCH * BATCH
    tokens = text[: n * SEQUENCE].view(-1, BATCH, SEQUENCE)
    labels = text[1 : n * SEQUENCE + 1].view(-1, BATCH, SEQUENCE)
    for i in range(first, first + len(tokens)):
        yield tokens[i % len(tokens)], labels[i % len(tokens)]


def main(text, out_dir, steps=20, num_csx=1, checkpoint=None):
    cluster = cstorch.distributed.ClusterConfig(num_csx=int(num_csx))
    backend = cstorch.backend("CSX", cluster_config=cluster)
    torch.manual_seed(1)
    with backend.device:
        model = GPT()
    compiled = cstorch.compile(model, backend)
    vectors, matrices = ([p for p in model.parameters() if (p.dim() > 1) == m] for m in (0, 1))
    optimizer = cstorch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        lr=0.1,
        betas=(0.9, 0.95),
        eps=1e-8,
    )
    rates = cstorch.optim.lr_scheduler
    schedule = rates.SequentialLR(
        optimizer,
        schedulers=[
            rates.LinearLR(optimizer, 0.0, 3e-3, 5),
            rates.CosineDecayLR(optimizer, 3e-3, 3e-4, 15),
        ],
        milestones=[5],
    )
    done = 0
    if checkpoint:
        state = cstorch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        done = state["step"]

    @cstorch.trace
    def training_step(batch):
        loss = compiled(*batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        return loss

    @cstorch.step_closure
    def say(loss, step):
        print(
            f"step {step}: loss {loss.item():.5f}, lr {schedule.get_last_lr()[0]:.6f}", flush=True
        )

    @cstorch.checkpoint_closure
    def save(step):
        state = {"model": model, "optimizer": optimizer, "schedule": schedule}
        state = {k: v.state_dict() for k, v in state.items()}
        cstorch.save({**state, "step": step}, f"{out_dir}/checkpoint_{step}.mdl")

    loader = cstorch.utils.data.DataLoader(batches, text, done)
    executor = cstorch.utils.data.DataExecutor(loader, int(steps) - done, checkpoint_steps=10)
    for step, batch in enumerate(executor, start=done + 1):
        loss = training_step(batch)
        say(loss, step)
        save(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
