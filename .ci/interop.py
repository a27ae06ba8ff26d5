"""Exports runs of every kind that the formats hold, and compares the numbers that other programs read with the run folder.

Run by `.ci/interop`, which installs the programs.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import libsonata
import h5py
import numpy as np
from bmtk.utils import sonata
from bmtk.utils.reports.spike_trains import SpikeTrains
from hdmf_zarr import NWBZarrIO
from nwbinspector import inspect_nwbfile_object

PROGRAM = os.environ["NEUROPIL_BIN"]
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "assets" / "python"))

import neuropil

ABOUT = ["subject_id=model", "species=Drosophila melanogaster", "sex=U", "age=P5D", "experimenter=Last, First",
         "institution=None", "keywords=test"]
COMMON = ["--device", "cpu", "--threads", "1"]
# Name, project, arguments of the run.
RUNS = [
    ("balanced", "balanced", ["--duration", "60ms", "--set", "network.n_neurons=400", "--probe", "v[1, 5, 9]",
                              "--probe", "rate_field"]),
    ("trials", "balanced", ["--duration", "40ms", "--set", "network.n_neurons=300", "--trials", "3"]),
    ("cuba", "cuba", ["--duration", "40ms", "--set", "populations.E.size=320", "--set", "populations.I.size=80"]),
    ("fly", "fly", ["--duration", "5ms"]),
    ("nuclei", "nuclei", ["--duration", "60generations"]),
    ("nano", "nano", ["--duration", "4steps"]),
    ("evolution", "evolution-nano", ["--duration", "1generations"]),
    ("synaptic", "synaptic-nano16", ["--duration", "3steps"]),
]
# bmtk reads whole columns of a file when it opens the file.
MOST_IN_BMTK = 1_000_000
compared = {}


def run(*words):
    """Runs the program. Fails with its messages."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def count(what, n):
    compared[what] = compared.get(what, 0) + int(n)


def equal(what, a, b):
    """Fails unless two arrays are equal."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, f"{what}: {a.shape}, expected {b.shape}"
    assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), f"{what}: values differ"
    count(what.split(":")[0], a.size)


def manifest(folder):
    """Returns the streams and the step of a run, from its manifest."""
    text = (folder / "run.ron").read_text()
    streams = []
    for part in re.split(r"\n        \(\n            probe: ", text)[1:]:
        values = dict(re.findall(r"\n            (\w+): (.*),", part))
        probe = part.split('"')[1]
        streams.append((probe, values["shape"].strip('"'), values["file"].strip('"'), int(values["width"]),
                        int(values.get("n_columns", 0))))
    step = float(re.search(r"\n    secs_per_step: (.*),", text)[1])
    last = int(re.search(r"\n    last_step: (.*),", text)[1])
    return streams, step, last


def times(steps, step):
    """Converts steps to seconds as exports do: a whole number of steps per second divides exactly."""
    per_second = round(1 / step)
    whole = abs(per_second * step - 1) < 1e-9
    return steps / per_second if whole else steps * step


def samples(folder, stream):
    """Returns steps and values of a stream of rows."""
    _, _, file, width, _ = stream
    data = np.fromfile(folder / file, dtype=[("step", "<u8"), ("value", "<f4", (width,))])
    return data["step"], data["value"]


def trials(folder):
    inner = sorted((folder / "trials").glob("*")) if (folder / "trials").is_dir() else []
    return inner or [folder]


def stem(file):
    return re.sub(r"[/:\\]", "_", file.rsplit(".", 1)[0])


def check_nwb(name, folder, path):
    """Compares all spikes, series and fields of an NWB file with the run, and inspects the file."""
    with NWBZarrIO(str(path), "r") as io:
        nwb = io.read()
        offset, spikes, n = 0, [], 0
        for k, trial in enumerate(trials(folder)):
            streams, step, last = manifest(trial)
            suffix = f"_trial_{k}" if trial != folder else ""
            for stream in streams:
                probe, shape, file, width, _ = stream
                if shape == "spikes":
                    data = np.fromfile(trial / file, "<u4").reshape(-1, 2)
                    if probe == "spikes":
                        spikes.append((times(data[:, 0].astype("u8") + offset, step), data[:, 1]))
                    elif len(data):
                        series = nwb.acquisition[stem(file) + suffix]
                        equal("nwb events: data", series.data[:], data[:, 1])
                        equal("nwb events: times", series.timestamps[:], times(data[:, 0].astype("u8") + offset, step))
                elif shape in ("series", "field", "matrix", "histogram") and width > 0:
                    steps, values = samples(trial, stream)
                    if len(steps):
                        check_rows(nwb, stem(file) + suffix, times(steps + offset, step), values)
            offset += last
        if spikes:
            when, who = (np.concatenate([part[i] for part in spikes]) for i in (0, 1))
            units = nwb.units
            n = len(units.id)
            order = np.argsort(who, kind="stable")
            equal("nwb spikes: times", units.spike_times.data[:], when[order])
            ends = np.cumsum(np.bincount(who, minlength=n))
            equal("nwb spikes: index", units.spike_times_index.data[:], ends)
            for unit in (0, n // 2, n - 1):
                equal("nwb spikes: unit", units.get_unit_spike_times(unit), when[who == unit])
        if trials(folder) != [folder]:
            assert len(nwb.trials) == len(trials(folder))
        assert nwb.source_script and "hash: " in nwb.notes and nwb.subject.subject_id == "model"
        print(f"  {name}: intervals {sorted(nwb.intervals or {})}, columns {nwb.units.colnames if nwb.units else ()}")
        messages = list(inspect_nwbfile_object(nwb))
    by = {}
    for message in messages:
        by.setdefault(message.importance.name, set()).add(message.check_function_name)
    assert not critical(messages), critical(messages)
    print(f"  nwbinspector: { {level: sorted(names) for level, names in by.items()} }")


def critical(messages):
    """Returns the critical findings, and checks that failed."""
    # Fails for every Zarr file, also of PyNWB: zarr 2.18 does not take the unsigned indices of this check.
    return [m for m in messages if m.importance.name in ("CRITICAL", "ERROR", "PYNWB_VALIDATION")
            and not (m.importance.name == "ERROR" and "check_units_table_duration" in str(m))]


def check_rows(nwb, name, when, values):
    """Compares a series or a table of samples."""
    if name in nwb.acquisition:
        series = nwb.acquisition[name]
        found = series.data[:]
        if series.timestamps is not None:
            equal("nwb samples: times", series.timestamps[:], when)
        else:
            expected = series.starting_time + np.arange(len(found)) / series.rate
            assert np.allclose(expected, when, rtol=1e-12, atol=1e-12), name
    else:
        table = nwb.processing["neuropil"][name]
        found = table["value"].data[:]
        equal("nwb samples: times", table["timestamp"].data[:], when)
    equal("nwb samples: values", found.reshape(values.shape), values)


def check_sonata(name, folder, path):
    """Compares nodes, edges, spikes and reports that libsonata reads with the run and its exported edge lists."""
    circuit = libsonata.CircuitConfig.from_file(str(path / "circuit_config.json"))
    sizes = {}
    for population in sorted(circuit.node_populations):
        nodes = circuit.node_population(population)
        sizes[population] = nodes.size
    nodes = libsonata.NodeStorage(str(path / "nodes.h5"))
    for population in nodes.population_names:
        opened = nodes.open_population(population)
        for column in opened.enumeration_names:
            opened.get_enumeration(column, opened.select_all())
            assert opened.enumeration_values(column)
        for column in opened.attribute_names - opened.enumeration_names:
            opened.get_attribute(column, opened.select_all())
    edges = path.parent / "edges"
    edges.mkdir(exist_ok=True)
    files = json.loads(run("export", folder, "--format", "edges", "--out", edges / "edges.parquet", "--json"))["files"]
    assert len(files) == len(circuit.edge_populations)
    for population in sorted(circuit.edge_populations):
        opened = circuit.edge_population(population)
        every = opened.select_all()
        assert sizes[opened.source] > opened.source_nodes(every).max()
        count("sonata edges", 4 * opened.size)
        weight = "nsyns" if "nsyns" in opened.attribute_names else "syn_weight"
        weights, delays = opened.get_attribute(weight, every), opened.get_attribute("delay", every)
        assert len(weights) == len(delays) == opened.size and np.isfinite(weights).all()
        source, target = opened.source_nodes(every), opened.target_nodes(every)
        compare_edges(name, population, edges, source, target, weights, delays)
        file = path / ("edges.h5" if (path / "edges.h5").exists() else f"edges.{population}.h5")
        check_indices(file, opened, (sizes[opened.source], sizes[opened.target]), source, target)
        if opened.size < MOST_IN_BMTK:
            check_bmtk_edges(file, population, sizes[opened.target], source, target, (weight, weights))
    check_models(path, circuit)
    libsonata.SimulationConfig.from_file(str(path / "simulation_config.json"))
    groups = groups_of(path, sizes)
    for trial in trials(folder):
        number = f".{int(trial.name)}" if trial != folder else ""
        streams, step, _ = manifest(trial)
        for stream in streams:
            probe, shape, file, width, _ = stream
            if probe == "spikes":
                data = np.fromfile(trial / file, "<u4").reshape(-1, 2)
                reader = libsonata.SpikeReader(str(path / f"spikes{number}.h5"))
                for population, (first, n) in groups.items():
                    of = (data[:, 1] >= first) & (data[:, 1] < first + n)
                    found = reader[population].get_dict()
                    equal("sonata spikes: nodes", found["node_ids"], data[of, 1] - first)
                    equal("sonata spikes: times", found["timestamps"], times(data[of, 0].astype("u8"), step * 1e3))
                    assert reader[population].sorting == "by_time"
                    table = SpikeTrains.load(str(path / f"spikes{number}.h5")).to_dataframe(populations=population)
                    equal("bmtk spikes: nodes", table.node_ids.astype("u8"), found["node_ids"])
                    equal("bmtk spikes: times", table.timestamps, found["timestamps"])
            report = path / f"{stem(file)}{number}.h5"
            if probe != "spikes" and report.exists():
                steps, values = samples(trial, stream)
                reader = libsonata.ElementReportReader(str(report))
                found = sum(reader[p].get().data.size for p in reader.get_population_names())
                assert found == values.size
                if len(groups) == 1 and width == list(groups.values())[0][1]:
                    frame = reader[list(groups)[0]].get()
                    equal("sonata reports: data", frame.data, values)
                    assert np.allclose(frame.times, times(steps, step * 1e3))
                count("sonata reports", found)


def drawn(size, n):
    return np.random.default_rng(size).choice(size, min(size, n), replace=False).astype("u8")


def edges_of(ends, nodes):
    """Returns the edges at each of some nodes, ascending; `ends` is the node of each edge."""
    order = np.argsort(ends, kind="stable")
    first, last = (np.searchsorted(ends, nodes, side, sorter=order) for side in ("left", "right"))
    return [order[a:b] for a, b in zip(first, last)]


def check_indices(file, opened, sizes, source, target):
    """Compares the edges that libsonata finds from and to 200 drawn nodes with the columns of the edges."""
    for read, size, ends in ((opened.efferent_edges, sizes[0], source), (opened.afferent_edges, sizes[1], target)):
        nodes = drawn(size, 200)
        for node, expected in zip(nodes, edges_of(ends, nodes)):
            equal("sonata indices: edges", read([node]).flatten(), expected)
    for group, size in (("source_to_target", sizes[0]), ("target_to_source", sizes[1])):
        with h5py.File(file) as opened_file:
            index = opened_file[f"edges/{opened.name}/indices/{group}"]
            assert index["node_id_to_ranges"] == index["node_id_to_range"]
            assert index["node_id_to_ranges"].shape == (size, 2)
            assert h5py.h5o.get_info(index["node_id_to_ranges"].id).rc == 2, "two names of one dataset"


def check_bmtk_edges(file, population, n_targets, source, target, weights):
    """Compares the edges that bmtk finds to 20 drawn nodes with the columns of the edges."""
    opened = sonata.File(str(file), str(file.parent / "edge_types.csv")).edges[population]
    name, weights = weights
    nodes = drawn(n_targets, 20)
    for node, expected in zip(nodes, edges_of(target, nodes)):
        found = list(opened.get_target(int(node)))
        equal("bmtk edges: source", [edge.source_node_id for edge in found], source[expected])
        equal("bmtk edges: target", [edge.target_node_id for edge in found], target[expected])
        equal("bmtk edges: weight", [float(edge[name]) for edge in found], np.asarray(weights[expected], "f8"))
    found = list(opened.get_targets([int(node) for node in nodes[:3]]))
    assert len(found) == sum(np.count_nonzero(target == node) for node in nodes[:3])


def check_models(path, circuit):
    """Reads the parameters of the neuron models from the folder that the circuit names; those of NEST are numbers."""
    folder = path / json.loads(circuit.expanded_json)["components"]["point_neuron_models_dir"]
    with open(path / "node_types.csv") as table:
        for row in csv.DictReader(table, delimiter=" "):
            values = json.loads((folder / row["dynamics_params"]).read_text())
            of_nest = row["model_template"].startswith("nest:")
            assert values and (not of_nest or all(isinstance(value, (int, float)) for value in values.values())), row
            count("sonata parameters", len(values))


def check_neo(folder):
    """Compares the spike trains of neo with the spikes of each trial."""
    block = neuropil.open(folder).to_neo()
    assert len(block.segments) == len(trials(folder))
    for trial, segment in zip(trials(folder), block.segments):
        streams, step, _ = manifest(trial)
        files = [file for probe, _, file, _, _ in streams if probe == "spikes"]
        data = np.fromfile(trial / files[0], "<u4").reshape(-1, 2)
        found = np.concatenate([train.rescale("ms").magnitude for train in segment.spiketrains] or [[]])
        wanted = times(data[:, 0].astype("u8"), step * 1e3)
        assert np.allclose(np.sort(found), np.sort(wanted), rtol=0, atol=1e-9), trial
        count("neo spikes", found.size)


def groups_of(path, sizes):
    """Returns first element and size of each population, in the order of the node types."""
    names = [line.split()[1].strip('"') for line in (path / "node_types.csv").read_text().splitlines()[1:]]
    firsts = np.cumsum([0] + [sizes[name] for name in names])
    return {name: (int(first), sizes[name]) for name, first in zip(names, firsts)}


def compare_edges(name, population, edges, source, target, weights, delays):
    """Compares the edges with the exported edge list, if pyarrow reads it."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        return
    file = edges / "edges.parquet"
    file = file if file.exists() else edges / f"edges.{population}.parquet"
    table = parquet.read_table(file).to_pydict()
    for column, found in (("pre", source), ("post", target), ("w", weights), ("delay_ms", delays)):
        equal("sonata edges: columns", np.asarray(found, "f8"), np.asarray(table[column], "f8"))


def check_experiment(folder):
    """Compares the trials of an experiment in an NWB file with its run folders."""
    run("run", "projects/balanced.ron", *COMMON, "--set", "network.n_neurons=200", "--duration", "20ms", "--vary",
        "lif.tau_m=10,20", "--seeds", "1..2", "--record-trials", "--out", folder)
    path = folder.parent / "trials.nwb.zarr"
    run("export", folder, "--format", "nwb", "--out", path, *[w for text in ABOUT for w in ("--about", text)])
    with NWBZarrIO(str(path), "r") as io:
        nwb = io.read()
        table = nwb.trials.to_dataframe()
        n = sum(len(np.fromfile(t / "spikes.u32", "<u4")) // 2 for t in sorted((folder / "trials").iterdir()))
        assert len(nwb.units.spike_times.data) == n and len(table) == len(list((folder / "trials").iterdir()))
        print(f"experiment: {len(table)} trials, columns {list(table.columns)}")
        messages = list(inspect_nwbfile_object(nwb))
        assert not critical(messages), critical(messages)
    count("nwb experiment: spikes", n)


def check_network_of_counts(folder):
    """Runs the network of an exported SONATA folder again, and compares the hashes of the runs."""
    words = ["--duration", "60ms", "--set", "network.n_neurons=400", *COMMON]
    run("run", "projects/balanced.ron", *words, "--out", folder / "first")
    run("export", folder / "first", "--format", "sonata", "--out", folder / "net.sonata")
    again = ["--set", "network.source=Files", "--set", f"network.path={folder / 'net.sonata'}"]
    run("run", "projects/balanced.ron", *words, *again, "--allow-outside", "--out", folder / "second")
    circuit = folder / "circuit.ron"
    run("new", folder / "net.sonata" / "circuit_config.json", "--out", circuit)
    paths = re.search(r'path: "(.*)"', circuit.read_text())[1], re.search(r'neurons: "(.*)"', circuit.read_text())[1]
    again = ["--set", "network.source=Files", "--set", f"network.path={paths[0]}", "--set", f"network.neurons={paths[1]}"]
    run("run", "projects/balanced.ron", *words, *again, "--allow-outside", "--out", folder / "third")
    digests = [(folder / name / "run.ron").read_text().split("digest:")[1] for name in ("first", "second", "third")]
    hashes = [re.search(r'hash: "(\w+)"', digest)[1] for digest in digests]
    assert len(set(hashes)) == 1, hashes
    print("a network that SONATA gives back has the same hash:", hashes[0])


def main():
    with tempfile.TemporaryDirectory() as temp:
        for name, project, words in RUNS:
            folder = Path(temp) / name / "run"
            run("run", f"projects/{project}.ron", *words, *COMMON, "--out", folder)
            offered = {f["format"] for f in json.loads(run("export", folder, "--json"))["formats"] if f["can_export"]}
            print(f"{name}: {sorted(offered)}")
            if "nwb" in offered:
                about = [word for text in ABOUT for word in ("--about", text)]
                path = folder.parent / "out.nwb.zarr"
                run("export", folder, "--format", "nwb", "--out", path, *about)
                check_nwb(name, folder, path)
            if "sonata" in offered:
                path = folder.parent / "out.sonata"
                run("export", folder, "--format", "sonata", "--out", path)
                check_sonata(name, folder, path)
                check_neo(folder)
        check_experiment(Path(temp) / "experiment")
        check_network_of_counts(Path(temp) / "counts")
    print("equal numbers:", compared)


main()
