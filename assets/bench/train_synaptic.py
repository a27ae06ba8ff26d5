"""Trains the model of a case of `neuropil bench synaptic` with PyTorch, for comparison.

The same recurrence, mixture and optimiser work as a user of PyTorch would write them: the scan walks the queries and
updates the state of all keys by tensor operations, which torch.compile fuses into a few kernels per query; the rest of
a step of the model is compiled around it. The truncated gradient takes the state before a query as a constant.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def release(c, dot, visible, state):
    """One query of all heads: bias of `[batch, heads, keys]` logits and the state after it."""
    calcium, rrp, reserve, queue, primed, clamp, amplitude, energy = state
    calcium_now = c["calcium"]["kappa"] * calcium + c["calcium"]["alpha"] * F.softplus(dot)
    sensors = (
        c["syt1"]["weight"] * torch.sigmoid(c["syt1"]["k"] * (calcium_now - c["syt1"]["half"]))
        + c["syt7"]["weight"] * torch.sigmoid(c["syt7"]["k"] * (calcium_now - c["syt7"]["half"]))
        + c["doc2"]["weight"] * torch.sigmoid(c["doc2"]["k"] * (calcium_now - c["doc2"]["half"]))
    )
    gate = torch.sigmoid(c["complexin"]["k"] * (calcium_now - c["complexin"]["half"]) - c["complexin"]["weight"] * (clamp + c["complexin"]["bias"]))
    released = (sensors * gate * primed).clamp(0, c["vesicles"]["p_max"]) * rrp
    bias = c["bias"]["lambda"] * torch.log(c["bias"]["floor"] + released * amplitude)
    with torch.no_grad():
        r = released.detach()
        returned = reserve + queue[0]
        fuel = energy / (energy + c["energy"]["half"]) if c["energy"]["half"] > 0 else 1.0
        take = torch.minimum(c["vesicles"]["k_prime"] * returned.clamp(max=1) * fuel, c["vesicles"]["rrp_max"] - (rrp - r))
        loss = c["snare"]["unprime"] * r
        after = (
            calcium_now.detach(),
            rrp - r + take,
            returned - take,
            torch.cat((queue[1:], (c["vesicles"]["recycled"] * r)[None])),
            (primed * (1 - loss) + c["snare"]["k_nsf"] * (1 - primed)).clamp(0, 1),
            (c["snare"]["clamp_retain"] * clamp + 1 - c["snare"]["clamp_retain"] - loss).clamp(0, 1),
            (amplitude + c["amplitude"]["load"] * (c["amplitude"]["target"] - amplitude) - c["amplitude"]["leak"] * amplitude).clamp(0, c["amplitude"]["max"]),
            (energy + c["energy"]["fill"] * (c["energy"]["max"] - energy) - c["energy"]["per_vesicle"] * r).clamp(0, c["energy"]["max"]),
        )
        # A key has no state before its own query.
        after = tuple(torch.where(visible, new, old) for new, old in zip(after, state))
    return bias, after


def first_state(c, like):
    full = lambda x: torch.full_like(like, x)
    queue = torch.zeros(c["vesicles"]["endo_delay"], *like.shape, dtype=like.dtype, device=like.device)
    return (
        full(0.0), full(c["first"]["rrp"]), full(c["first"]["reserve"]), queue, full(c["first"]["snare"]),
        full(c["first"]["clamp"]), full(c["first"]["amplitude"]), full(c["first"]["energy"]),
    )


class Attention(nn.Module):
    def __init__(self, w):
        super().__init__()
        width, self.heads, self.kv_heads, self.mode = w["width"], w["heads"], w["kv_heads"], w["release"]
        self.dim = width // self.heads
        self.c, self.release = w["constants"], release
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, self.kv_heads * self.dim, bias=False) for _ in range(2))
        angles = torch.arange(w["context"])[:, None] * 1e4 ** (-torch.arange(self.dim // 2) / (self.dim // 2))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        x = torch.cat((a * self.cos - b * self.sin, a * self.sin + b * self.cos), dim=-1)
        return F.rms_norm(x, (self.dim,), eps=1e-6)

    @torch.compiler.disable
    def bias(self, dots):
        t = dots.shape[-1]
        keys = torch.arange(t, device=dots.device)
        state, rows = first_state(self.c, dots[:, :, 0].detach()), []
        for query in range(t):
            bias, after = self.release(self.c, dots[:, :, query], keys <= query, state)
            rows.append(bias)
            if self.mode == "Scan":
                state = after
        return torch.stack(rows, dim=2)

    def forward(self, x):
        b, t, width = x.shape
        split = lambda y: y.view(b, t, -1, self.dim).transpose(1, 2)
        q, k, v = self.rotate(split(self.q(x))), self.rotate(split(self.k(x))), split(self.v(x))
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, dim=1) for y in (k, v))
        dots = (q @ k.transpose(2, 3) / math.sqrt(self.dim)).float()
        bias = 0.0 if self.mode == "Off" else self.bias(dots)
        distance = torch.arange(t, device=x.device)[:, None] - torch.arange(t, device=x.device)
        logits = dots + bias - self.c["bias"]["barrier"] / t * distance
        p = logits.masked_fill(distance < 0, -math.inf).softmax(-1).to(v.dtype)
        return self.o((p @ v).transpose(1, 2).reshape(b, t, width))


class Mixture(nn.Module):
    def __init__(self, w):
        super().__init__()
        width, hidden, self.experts, self.top_k = w["width"], w["hidden"], w["experts"], w["top_k"]
        self.router, self.probe = nn.Linear(width, self.experts, bias=False), nn.Linear(width, 24, bias=False)
        self.genome = nn.Parameter(0.1 * torch.randn(self.experts, 4))
        self.register_buffer("embeddings", F.normalize(torch.randn(self.experts, 24), dim=1))
        self.register_buffer("energy", torch.ones(self.experts))
        self.register_buffer("fatigue", torch.zeros(self.experts))
        self.fc1, self.fc1_bias = nn.Parameter(torch.randn(self.experts, width, hidden) * width**-0.5), nn.Parameter(torch.zeros(self.experts, hidden))
        self.fc2, self.fc2_bias = nn.Parameter(torch.randn(self.experts, hidden, width) * 0.02), nn.Parameter(torch.zeros(self.experts, width))

    @torch.compiler.disable
    def dispatch(self, x, gates, indices):
        out = torch.zeros_like(x)
        for e in range(self.experts):
            token, slot = torch.where(indices == e)
            if token.numel():
                h = F.relu(x[token] @ self.fc1[e] + self.fc1_bias[e]).square()
                y = h @ self.fc2[e] + self.fc2_bias[e]
                out.index_add_(0, token, (y * gates[token, slot, None]).to(out.dtype))
        return out

    def forward(self, x):
        shape, x = x.shape, x.flatten(0, 1)
        align = F.normalize(self.probe(x), dim=1) @ self.embeddings.T
        rates = 0.01 * (2 * torch.sigmoid(self.genome[:, 0]) + 0.1), 0.005 * (2 * torch.sigmoid(self.genome[:, 1]) + 0.1)
        gene = 0.05 * (rates[1] - rates[0]).detach()
        logits = self.router(x) + gene + 0.02 * align + 0.1 * self.energy - 0.1 * self.fatigue * self.experts / self.top_k
        values, indices = logits.topk(self.top_k, dim=1)
        gates = values.softmax(1)
        share = torch.zeros_like(logits).scatter(1, indices, gates).mean(0)
        with torch.no_grad():
            load = F.one_hot(indices, self.experts).sum((0, 1)) / len(x)
            rho = load * self.experts / self.top_k
            self.fatigue.add_(rates[0].detach() * (load - self.fatigue))
            self.energy.add_(rates[1].detach() * (1 - 0.1 * rho - self.energy))
        aux = self.experts * (share * load).sum()
        return self.dispatch(x, gates, indices).view(shape), aux


class Model(nn.Module):
    def __init__(self, w):
        super().__init__()
        width = w["width"]
        self.tokens = nn.Embedding(w["vocab"], width)
        norms = lambda: nn.ModuleList(nn.LayerNorm(width) for _ in range(w["layers"]))
        self.norm_1, self.norm_2, self.norm = norms(), norms(), nn.LayerNorm(width)
        self.attention = nn.ModuleList(Attention(w) for _ in range(w["layers"]))
        self.mixture = nn.ModuleList(Mixture(w) for _ in range(w["layers"]))
        self.head = nn.Linear(width, w["vocab"], bias=False)

    def forward(self, tokens, targets):
        x, aux = self.tokens(tokens), 0.0
        for norm_1, attention, norm_2, mixture in zip(self.norm_1, self.attention, self.norm_2, self.mixture):
            x = x + attention(norm_1(x))
            y, share = mixture(norm_2(x))
            x, aux = x + y, aux + share
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten()) + 0.01 * aux


# What is tried on a GPU beside autocast and the default mode of torch.compile: attention has a state of its own here.
ATTENTIONS = ["default"]
HALF_WEIGHTS = []
MORE_MODES = []


def compile_parts(model, mode):
    """The step of the scan, and the model around it."""
    fused = torch.compile(release, mode=mode)
    for attention in model.attention:
        attention.release = fused
    return torch.compile(model, mode=mode)
