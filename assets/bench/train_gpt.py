"""Trains the model of a case of `neuropil bench transformer` with PyTorch, for comparison.

torch.compile, scaled_dot_product_attention and the fused AdamW are what a user of PyTorch would use, on random tokens. In
bf16, autocast with weights in f32 is tried, and all weights and optimiser states in bf16, which is faster and less exact.
"""

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


# What is tried on a GPU: kernels of attention, weights in half precision, modes of torch.compile after the default one.
ATTENTIONS = ["default", "flash", "cuDNN"]
HALF_WEIGHTS = ["bf16 weights"]
MORE_MODES = ["reduce-overhead", "max-autotune-no-cudagraphs"]


def compile_parts(model, mode):
    """The model as a whole."""
    return torch.compile(model, mode=mode)
