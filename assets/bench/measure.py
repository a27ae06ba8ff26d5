"""Measures training steps of the `Model` of the script before this one.

Reads the workload as JSON from the first argument and writes one line of JSON.
"""

import contextlib
import json
import statistics
import sys
import time


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
        compiled, mode = compile_parts(model), "torch.compile"
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
