"""Measures training steps of the `Model` of the script before this one, in the fastest of the settings that it offers.

Reads the workload as JSON from the first argument and writes one line of JSON.
"""

import contextlib
import statistics

# Seconds for one setting and for all of them, by device.
LIMITS = {True: (60, 150), False: (600, 1200)}


def measure(w, setting, is_brief):
    """Trains with a setting: shorter and less exact where it is brief."""
    torch.manual_seed(1)
    device = w["device"]
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)
    if w.get("threads"):
        torch.set_num_threads(w["threads"])
    torch.set_float32_matmul_precision("high" if w["precision"] == "tf32" else "highest")
    half = {"bf16": torch.bfloat16, "f16": torch.float16}.get(w["precision"]) if on_gpu else None
    is_cast = setting.weights.startswith("autocast")
    cast = (lambda: torch.autocast("cuda", dtype=half)) if is_cast else contextlib.nullcontext
    scaler = torch.amp.GradScaler("cuda", enabled=is_cast and half == torch.float16)
    with torch.device(device):
        model = Model(w)
    if setting.weights == "bf16 weights":
        for p in model.parameters():
            p.data = p.data.to(half)
    parameters = sum(p.numel() for p in model.parameters())
    matrices, others = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=6e-4, betas=(0.9, 0.95), fused=True)
    compiled = model if setting.mode == EAGER else compile_parts(model, setting.mode)
    shape = (w["micro_batches"], w["batch"], w["context"])
    tokens = torch.randint(w["vocab"], shape, device=device)
    targets = torch.randint(w["vocab"], shape, device=device)

    def step():
        for x, y in zip(tokens, targets):
            with cast(), attention_kernel(setting.attention):
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

    steps(3)
    (min_s, repeats) = (0.2, 2) if is_brief else (1.0, max(3, w.get("repeats", 3)))
    n = min(500, max(1, int(min_s / steps(1)) + 1))
    secs = [steps(n) for _ in range(repeats)]
    median = statistics.median(secs)
    return {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "parameters": parameters,
        "ms_per_step": median * 1e3,
        "spread": statistics.stdev(secs) / median,
        "tokens_per_s": tokens.numel() / median,
    }


def attention_kernel(name):
    """Makes scaled_dot_product_attention use one kernel only, or choose by itself."""
    if name == "default":
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel({"flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}[name])


def offered(w):
    """Weights, kernels of attention and modes of torch.compile to try for a workload."""
    on_gpu, precision = w["device"].startswith("cuda"), w["precision"]
    modes = ["default"] if w.get("compile", True) else []
    if not on_gpu:
        return ["f32"], ["default"], modes
    if precision not in ("bf16", "f16"):
        return [precision], ["default"], modes + MORE_MODES
    weights = [f"autocast {precision}"] + (HALF_WEIGHTS if precision == "bf16" else [])
    return weights, ATTENTIONS, modes + MORE_MODES


def main():
    w = json.loads(sys.argv[1])
    limit_s, total_s = LIMITS[w["device"].startswith("cuda")]
    search = Search(lambda setting, is_brief: measure(w, setting, is_brief), limit_s, total_s)
    setting, result = search.run(*offered(w))
    print(json.dumps({**result, "mode": str(setting), "settings": search.settings()}))


main()
