// A spiking network, one delay window at a time; the CUDA twin of src/kinds/spiking/cpu/mod.rs, which is the
// definition. Written once for float and double.
//
// A window of w steps, w at most one delay, takes two launches: `deliver` adds the spikes that arrive in it to
// arrivals[group of neurons][step][neuron], as integers and therefore in any order; `advance` takes every neuron through the window, from
// one thing that happens to the next. A block whose neurons nothing reaches and of whom none can cross leaves at once.
// Where all neurons fit into the shared memory of the device, `reside` does the same for many windows in one launch.
#pragma once
#include "spiking/advance.cuh"
#include "spiking/between.cuh"
#include "spiking/deliver.cuh"
#include "spiking/resident.cuh"
