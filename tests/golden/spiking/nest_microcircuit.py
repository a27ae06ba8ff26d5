"""Rates of the cortical microcircuit with a tenth of the neurons and inputs, by NEST 3.10 (`pip install nest-simulator`).

The network is that of projects/microcircuit-10.ron: numbers, weights, delays and currents are read from the project. Prints
rates and coefficients of variation by population, of `--seconds` after 0.5 s, for each seed. The figures are stored in
nest_microcircuit.json, which tests/kinds/spiking/rules.rs reads.
"""
import argparse
import json
import pathlib
import re

import nest
import numpy as np

TEXT = (pathlib.Path(__file__).parents[3] / "projects/microcircuit-10.ron").read_text()
NUMBER = r"(-?[\d.]+)"


def populations():
    pattern = rf'name: "(\w+)", size: (\d+), v_start: "normal\({NUMBER}, {NUMBER}\)'
    return [(name, int(n), float(mean), float(sd)) for name, n, mean, sd in re.findall(pattern, TEXT)]


def projections():
    normal = rf'"normal\({NUMBER}, {NUMBER}\) in {NUMBER}\.\.{NUMBER}"'
    pattern = rf'from: "(\w+)", to: "(\w+)", rule: FixedTotal\(n: (\d+)\), weight: {normal}, delay: {normal}'
    return [(f[0], f[1], int(f[2]), [float(x) for x in f[3:]]) for f in re.findall(pattern, TEXT)]


def run(seed, seconds):
    nest.ResetKernel()
    nest.set(resolution=0.1, rng_seed=seed, local_num_threads=1, print_time=False)
    groups, recorders, sizes = {}, {}, {}
    for name, n, mean, sd in populations():
        group = nest.Create("iaf_psc_exp", n, params=dict(
            tau_m=10.0, C_m=250.0, E_L=-65.0, V_reset=-65.0, V_th=-50.0, t_ref=2.0, tau_syn_ex=0.5, tau_syn_in=0.5))
        group.V_m = nest.random.normal(mean=mean, std=sd)
        groups[name], sizes[name] = group, n
        recorders[name] = nest.Create("spike_recorder", params=dict(start=500.0))
        nest.Connect(group, recorders[name])
    for source, target, n, (weight, weight_sd, low, high, delay, delay_sd, *_) in projections():
        redraw = nest.math.redraw
        nest.Connect(groups[source], groups[target], dict(rule="fixed_total_number", N=n), dict(
            weight=redraw(nest.random.normal(mean=weight, std=weight_sd), min=low, max=high),
            delay=redraw(nest.random.normal(mean=delay, std=delay_sd), min=0.05, max=6.4)))
    for name, rate, weight in re.findall(rf'population: "(\w+)", source: Poisson\(rate: {NUMBER}, weight: {NUMBER}\)', TEXT):
        poisson = nest.Create("poisson_generator", params=dict(rate=float(rate)))
        nest.Connect(poisson, groups[name], syn_spec=dict(weight=float(weight), delay=1.5))
    for name, current in re.findall(rf'population: "(\w+)", source: Current\(amplitude: {NUMBER}\)', TEXT):
        groups[name].I_e = float(current)
    nest.Simulate(500.0 + 1000.0 * seconds)
    rates, variations = [], []
    for name, n in sizes.items():
        events = recorders[name].get("events")
        rates.append(len(events["times"]) / n / seconds)
        order = np.lexsort((events["times"], events["senders"]))
        senders, times = events["senders"][order], events["times"][order]
        cells = [times[senders == s] for s in np.unique(senders)]
        cvs = [np.std(np.diff(t)) / np.mean(np.diff(t)) for t in cells if len(t) > 5]
        variations.append(float(np.mean(cvs)) if cvs else 0.0)
    return rates, variations


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    nest.set_verbosity("M_WARNING")
    runs = [run(seed + 1, arguments.seconds) for seed in range(arguments.seeds)]
    rates, variations = (np.array([r[i] for r in runs]) for i in range(2))
    print(json.dumps(dict(
        nest=nest.__version__, seconds=arguments.seconds, seeds=arguments.seeds,
        populations=[p[0] for p in populations()],
        rates_hz=[round(float(x), 4) for x in rates.mean(0)], rates_sd=[round(float(x), 4) for x in rates.std(0)],
        cv=[round(float(x), 4) for x in variations.mean(0)])))
