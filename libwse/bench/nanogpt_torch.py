#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nanoGPT's CPU recipe in PyTorch: the peer of `make train` and of build/gpt-ref-train, which has
the same model, rates, split of the text and report. On bytes; nine tenths are trained on, the rest
is held out.

Written from the published hyperparameters, for Debian 12's python3-torch (1.13) and later. As on
the wafer every layer has a bias and GELU is its tanh form; nanoGPT itself has no biases and the
exact GELU.

With --masks a checkpoint of a sparse run (libwse/configs/gpt_sparse.yaml) says which weights there
are: the others are 0, and stay so.
"""
import argparse
import json
import math
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print(
        "nanogpt_torch: skipped, PyTorch is not installed (Debian: apt-get install python3-torch)"
    )
    sys.exit(0)

VOCAB, BLOCK, LAYERS, HEADS, WIDTH, BATCH = 256, 64, 4, 4, 128, 12
RATE, RATE_MIN, WARMUP, DECAY, BETAS, CLIP = 1e-3, 1e-4, 100, 0.1, (0.9, 0.99), 1.0
REPORT, HELD = 250, 512  # steps; sequences of a report, the last one takes 8 times as many


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.c_proj2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        future = torch.ones(BLOCK, BLOCK, dtype=torch.bool).triu(1)
        self.register_buffer("future", future)

    def attention(self, x):
        n, s, _ = x.shape
        q, k, v = (
            part.view(n, s, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.c_attn(x).split(WIDTH, dim=2)
        )
        score = (q @ k.transpose(2, 3)) / math.sqrt(WIDTH // HEADS)
        score = score.masked_fill(self.future[:s, :s], float("-inf"))
        return self.c_proj((F.softmax(score, dim=-1) @ v).transpose(1, 2).reshape(n, s, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.c_proj2(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        for name, p in self.named_parameters():
            # what a block adds to the residual is smaller, so that their sum is not
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * LAYERS) if "c_proj" in name else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, tokens):  # [n][s + 1] -> mean loss
        x = self.wte(tokens[:, :-1]) + self.wpe.weight[: tokens.shape[1] - 1]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))


def read_masks(path, model):
    """Pairs of a parameter and its mask. A file has [in][out] of these layers, torch [out][in]."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
        pairs = []
        for i, block in enumerate(model.blocks):
            for name, layer in (
                ("attn.c_attn", block.c_attn),
                ("attn.c_proj", block.c_proj),
                ("mlp.c_fc", block.c_fc),
                ("mlp.c_proj", block.c_proj2),
            ):
                entry = header.get(f"mask.transformer.h.{i}.{name}.weight")
                if entry is None:
                    continue
                if entry["dtype"] != "U8" or entry["shape"] != list(layer.weight.t().shape):
                    sys.exit(f"nanogpt_torch: {path}: the masks are of another model")
                begin, end = entry["data_offsets"]
                f.seek(8 + size + begin)
                mask = torch.tensor(list(f.read(end - begin)), dtype=torch.float32)
                pairs.append((layer.weight, mask.view(entry["shape"]).t().contiguous()))
    if not pairs:
        sys.exit(f"nanogpt_torch: {path} has no masks: give a checkpoint of a sparse run")
    return pairs


def apply(pairs, grad=False):
    with torch.no_grad():
        for p, mask in pairs:
            (p.grad if grad else p).mul_(mask)


def rate(step, steps):
    if step < WARMUP:
        return RATE * (step + 1) / (WARMUP + 1)
    x = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE_MIN + (RATE - RATE_MIN) * 0.5 * (1 + math.cos(math.pi * min(x, 1)))


def held_out(model, text, limit):
    total = (len(text) - 1) // BLOCK
    n = min(limit, total)
    at = [i * total // n * BLOCK for i in range(n)]
    loss = 0.0
    with torch.no_grad():
        for i in range(0, n, BATCH):
            batch = torch.stack([text[p : p + BLOCK + 1] for p in at[i : i + BATCH]]).long()
            loss += model(batch).item() * len(batch)
    return loss / n


def main():
    args = argparse.ArgumentParser(description="nanoGPT's CPU recipe in PyTorch")
    args.add_argument("text")
    args.add_argument("--steps", type=int, default=2000)
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--schedule", type=int, help="steps of the schedule, where a run ends early")
    args.add_argument("--masks", help="a checkpoint of a sparse run")
    args = args.parse_args()
    try:
        with open(args.text, "rb") as f:
            text = torch.tensor(list(f.read()), dtype=torch.uint8)
    except OSError as e:
        sys.exit(f"nanogpt_torch: {args.text}: {e.strerror}")
    if len(text) < 20 * (BLOCK + 1) or args.steps < 1 or args.threads < 1:
        sys.exit("nanogpt_torch: a text of 1300 bytes, one step and one thread at least")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    cut = len(text) // 10 * 9
    model = GPT()
    masks = read_masks(args.masks, model) if args.masks else []
    apply(masks)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}],
        lr=RATE,
        betas=BETAS,
        eps=1e-8,
    )
    print(
        f"{sum(p.numel() for p in model.parameters())} parameters, {len(text)} bytes of text, {len(text) - cut} held out, "
        f"{args.threads} threads, PyTorch {torch.__version__}"
    )
    if masks:
        there, of = sum(int(m.sum()) for _, m in masks), sum(m.numel() for _, m in masks)
        print(f"{there} of {of} weights in {len(masks)} matrices are there")
    seconds, loss_sum, since = 0.0, 0.0, 0
    begin = time.monotonic()
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, args.schedule or args.steps)
        at = torch.randint(cut - BLOCK, (BATCH,)).tolist()
        loss = model(torch.stack([text[p : p + BLOCK + 1] for p in at]).long())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        apply(masks, grad=True)
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        loss_sum += loss.item()
        since += 1
        last = step + 1 == args.steps
        if last or (step + 1) % REPORT == 0:
            seconds += time.monotonic() - begin
            held = held_out(model, text[cut:], HELD * 8 if last else HELD)
            print(
                f"step {step + 1}: training loss {loss_sum / since:.4f}, held-out loss {held:.4f}, {seconds:.1f} s, "
                f"{(step + 1) * BATCH * BLOCK / seconds:.0f} tokens/s",
                flush=True,
            )
            loss_sum, since = 0.0, 0
            begin = time.monotonic()


main()
