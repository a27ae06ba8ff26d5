// LIF neurons, one delay window at a time: the CUDA counterpart of src/kinds/spiking/cpu/mod.rs, which defines the
// step. Written once for float and double.
//
// A window of w steps, w at most one delay, takes two launches: `deliver_spikes` adds the spikes that arrive in it to
// arrivals[group of neurons][step][neuron], as integers and therefore in any order; `step_lif` takes every neuron
// through the window, from event to event. Blocks without input and without possible threshold crossings return at
// once. Where all neurons fit into the shared memory of the device, `step_lif_persistent` processes many windows per
// launch. Where few neurons are reached, `step_lif_reached` does so with one block.
#pragma once
#include "spiking/step_lif.cuh"
#include "spiking/traces.cuh"
#include "spiking/between_windows.cuh"
#include "spiking/deliver_spikes.cuh"
#include "spiking/lif_persistent.cuh"
#include "spiking/reached.cuh"
