"""Trains the model of a case of `neuropil bench transformer` with PyTorch, for comparison.

Reads the workload as JSON from the first argument and writes one line of JSON. torch.compile, scaled_dot_product_attention
and the fused AdamW are what a user of PyTorch would use: weights in f32, matrix multiplications in the workload's precision
by autocast, on random tokens.
"""

import contextlib
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        width, bias = w["width"], w["bias"]
        self.heads = w["heads"]
        self.norm_1, self.norm_2 = nn.LayerNorm(width, bias=bias), nn.LayerNorm(width, bias=bias)
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)
        self.fc, self.out = nn.Linear(width, w["hidden"], bias=bias), nn.Linear(w["hidden"], width, bias=bias)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm_1(x)).split(c, dim=2))
        if cos is not None:
            q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.fc(self.norm_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, w):
        super().__init__()
        width, context = w["width"], w["context"]
        self.tokens = nn.Embedding(w["vocab"], width)
        self.positions = None if w["rope"] else nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(w) for _ in range(w["layers"]))
        self.norm = nn.LayerNorm(width, bias=w["bias"])
        half = width // w["heads"] // 2
        angles = torch.arange(context)[:, None] * 1e4 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        angles = (self.cos, self.sin)
        if self.positions is not None:
            x, angles = x + self.positions.weight, (None, None)
        for block in self.blocks:
            x = block(x, *angles)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    w = json.loads(sys.argv[1])
    torch.manual_seed(1)
    device = w["device"]
    on_gpu = device.startswith("cuda")
    if w.get("threads"):
        torch.set_num_threads(w["threads"])
    torch.set_float32_matmul_precision("high" if w["precision"] == "tf32" else "highest")
    half = {"bf16": torch.bfloat16, "f16": torch.float16}.get(w["precision"]) if on_gpu else None
    cast = (lambda: torch.autocast("cuda", dtype=half)) if half else contextlib.nullcontext
    scaler = torch.amp.GradScaler("cuda", enabled=half == torch.float16)
    model = Model(w).to(device)
    parameters = sum(p.numel() for p in model.parameters())
    matrices, others = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=6e-4, betas=(0.9, 0.95), fused=True)
    compiled, mode = model, "eager"
    if w.get("compile", True):
        compiled, mode = torch.compile(model), "torch.compile"
    shape = (w["micro_batches"], w["batch"], w["context"])
    tokens = torch.randint(w["vocab"], shape, device=device)
    targets = torch.randint(w["vocab"], shape, device=device)

    def step():
        for x, y in zip(tokens, targets):
            with cast():
                loss = compiled(x, y) / w["micro_batches"]
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)

    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    def steps(n):
        wait()
        since = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        return (time.perf_counter() - since) / n

    try:
        steps(3)
    except Exception as error:  # torch.compile needs a compiler, which not every machine has.
        if mode == "eager":
            raise
        compiled, mode = model, f"eager, since torch.compile failed: {type(error).__name__}"
        optimizer.zero_grad(set_to_none=True)
        steps(3)
    n = min(500, max(1, int(1.0 / steps(1)) + 1))
    secs = [steps(n) for _ in range(max(3, w.get("repeats", 3)))]
    median = statistics.median(secs)
    print(json.dumps({
        "torch": torch.__version__,
        "mode": mode,
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "parameters": parameters,
        "ms_per_step": median * 1e3,
        "spread": statistics.stdev(secs) / median,
        "tokens_per_s": tokens.numel() / median,
    }))


main()
