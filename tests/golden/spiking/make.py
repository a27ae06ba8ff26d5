"""Writes the reference of the spiking kind: a network of 200 neurons, its input, and what Brian2 2.9 makes of them.

    python3 -m venv venv && venv/bin/pip install brian2==2.9.0 'numpy<2'
    venv/bin/python tests/golden/spiking/make.py

Equations, parameters and their order are those of Shiu et al. 2024 (LIF with exponential synapses; input that reaches a
refractory neuron is dropped). The weights are small integers, so that every sum is the same in any order.
"""

import csv
import json
from pathlib import Path

import brian2
import numpy as np
from brian2 import Network, NeuronGroup, SpikeGeneratorGroup, SpikeMonitor, Synapses, defaultclock, mV, ms, prefs

N, STEPS, W_SYN_MV, KICK_MV = 200, 10_000, 0.275, 68.75
HERE = Path(__file__).resolve().parent

prefs.codegen.target = "numpy"
defaultclock.dt = 0.1 * ms


def network(rng):
    """Each neuron has 24 targets; every fifth neuron is inhibitory. Strong enough to sustain activity between inputs."""
    edges = []
    for pre in range(N):
        for post in sorted(rng.choice([n for n in range(N) if n != pre], 24, replace=False)):
            count = int(rng.integers(1, 60))
            edges.append((pre, int(post), -2 * count if pre % 5 == 4 else count))
    return edges


def kicks(rng):
    """Neurons 0 to 11, each about 60 times: an inserted voltage of 68.75 mV that makes it spike in the next step."""
    rows = {(int(rng.integers(0, 12)), int(rng.integers(5, STEPS - 200))) for _ in range(720)}
    return sorted(rows, key=lambda row: (row[1], row[0]))


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main():
    rng = np.random.default_rng(2024)
    edges, inputs = network(rng), kicks(rng)
    write_csv(HERE / "net200/edges.csv", ["pre", "post", "w"], edges)
    write_csv(HERE / "net200/kicks_A.csv", ["idx", "step"], inputs)

    space = dict(v_0=-52 * mV, v_rst=-52 * mV, v_th=-45 * mV, t_mbr=20 * ms, tau=5 * ms)
    driven = sorted({row[0] for row in inputs})
    neurons = NeuronGroup(
        N,
        """dv/dt = (v_0 - v + g)/t_mbr : volt (unless refractory)
           dg/dt = -g/tau : volt (unless refractory)
           rfc : second""",
        method="linear",
        threshold="v > v_th",
        reset="v = v_rst; g = 0*mV",
        refractory="rfc",
        namespace=space,
    )
    neurons.v, neurons.g, neurons.rfc = -52 * mV, 0 * mV, 2.2 * ms
    neurons.rfc[driven] = 0 * ms
    synapses = Synapses(neurons, neurons, "w : volt", on_pre="g += w", delay=1.8 * ms)
    synapses.connect(i=[e[0] for e in edges], j=[e[1] for e in edges])
    synapses.w = np.array([e[2] for e in edges]) * W_SYN_MV * mV
    source = SpikeGeneratorGroup(N, [r[0] for r in inputs], np.array([r[1] for r in inputs]) * defaultclock.dt)
    kick = Synapses(source, neurons, on_pre="v += kick", namespace=dict(kick=KICK_MV * mV), delay=0 * ms)
    kick.connect(i=driven, j=driven)
    kick.pre.order = 1
    spikes = SpikeMonitor(neurons)
    net = Network(neurons, synapses, source, kick, spikes)
    net.run(STEPS * defaultclock.dt)

    step = np.round(np.asarray(spikes.t / defaultclock.dt)).astype(np.int32)
    np.savez_compressed(
        HERE / "net200_det_A.npz",
        idx=np.asarray(spikes.i, np.int32),
        step=step,
        v_final_mV=np.asarray(neurons.v / mV),
        g_final_mV=np.asarray(neurons.g / mV),
    )
    info = {"N": N, "edges": len(edges), "brian2": brian2.__version__, "dt_ms": 0.1, "ms": STEPS * 0.1,
            "kicks": "kicks_A.csv", "n_driven": len(driven), "spikes": len(step),
            "active": len(set(spikes.i[:])), "rates_per_100ms": np.bincount(step // 1000, minlength=10).tolist()}
    (HERE / "net200_det_A_info.json").write_text(json.dumps(info, indent=1) + "\n")
    print(info)


if __name__ == "__main__":
    main()
