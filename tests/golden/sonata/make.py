"""Writes the SONATA files of this folder: `python make.py`, with h5py 3.16.0, numpy 2.4.6 and bmtk 1.2.0."""

import shutil
from pathlib import Path

import h5py
import numpy as np
from bmtk.builder.index_builders import create_index_in_memory

N = 30
index = np.arange(N)
source, target = (index * 3) % 8, (index * 7 + 3) % 5
order = np.lexsort((target, source))
source, target = source[order].astype("u8"), target[order].astype("u8")
counts = (index % 5 + 1).astype("i4") * np.where(source < 6, 1, -1)
weights = (counts * 0.25).astype("f4")
delays = (1.0 + (index % 4) * 0.5).astype("f4")


def edges(name, libver, properties, **layout):
    """Writes a file with one population of edges."""
    with h5py.File(name, "w", libver=libver) as file:
        file.attrs["magic"] = np.uint32(0x0A7A)
        file.attrs["version"] = np.array([0, 1], "u4")
        group = file.create_group("edges/E_to_I")
        for column, values, population in (("source_node_id", source, "E"), ("target_node_id", target, "I")):
            data = group.create_dataset(column, data=values, **layout)
            data.attrs["node_population"] = population
        group.create_dataset("edge_type_id", data=np.full(N, 100, "u4"), **layout)
        group.create_dataset("edge_group_id", data=np.zeros(N, "u4"), **layout)
        group.create_dataset("edge_group_index", data=index.astype("u8"), **layout)
        inner = group.create_group("0")
        for column, values in properties.items():
            inner.create_dataset(column, data=values, **layout)


edges("packed.h5", "earliest", {"syn_weight": weights, "delay": delays}, chunks=(16,), compression="gzip", shuffle=True)
edges("counts.h5", "latest", {"nsyns": counts})
shutil.copy("packed.h5", "indexed.h5")
for end in ("source", "target"):
    create_index_in_memory("indexed.h5", "edges/E_to_I", end)


def nodes(name, population, type_ids):
    """Writes a file with one population of nodes."""
    with h5py.File(name, "w") as file:
        file.attrs["magic"] = np.uint32(0x0A7A)
        file.attrs["version"] = np.array([0, 1], "u4")
        group = file.create_group(f"nodes/{population}")
        n = len(type_ids)
        group.create_dataset("node_id", data=np.arange(n, dtype="u8"))
        group.create_dataset("node_type_id", data=np.array(type_ids, "u4"))
        group.create_dataset("node_group_id", data=np.zeros(n, "u4"))
        group.create_dataset("node_group_index", data=np.arange(n, dtype="u8"))
        group.create_group("0")


def typed_edges(name, population, ends, type_ids):
    """Writes a file of edges with weights and delays by edge type only."""
    with h5py.File(name, "w") as file:
        file.attrs["magic"] = np.uint32(0x0A7A)
        file.attrs["version"] = np.array([0, 1], "u4")
        group = file.create_group(f"edges/{population}")
        for column, values, end in zip(("source_node_id", "target_node_id"), (source, target), ends):
            group.create_dataset(column, data=values).attrs["node_population"] = end
        group.create_dataset("edge_type_id", data=np.array(type_ids, "u4"))
        group.create_dataset("edge_group_id", data=np.zeros(N, "u4"))
        group.create_dataset("edge_group_index", data=index.astype("u8"))
        group.create_group("0")


Path("circuit/network").mkdir(parents=True, exist_ok=True)
# The circuit has a configuration and tables in `circuit`, which are text.
nodes("circuit/network/v1_nodes.h5", "v1", [100] * 8 + [101] * 5)
nodes("circuit/network/lgn_nodes.h5", "lgn", [100] * 8)
typed_edges("circuit/network/v1_v1_edges.h5", "v1_to_v1", ("v1", "v1"), np.where(source < 6, 200, 201))
typed_edges("circuit/network/lgn_v1_edges.h5", "lgn_to_v1", ("lgn", "v1"), [300] * N)
