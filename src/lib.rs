//! Neuropil: a workbench for neural simulation.
//!
//! **A kind is six declarations — parameters, probes, actions, device structs, kernels, and how to build it.
//! The program is written once, against the declarations.** A raster shows any `Spikes` probe, a plot any
//! `Series`, the 3D view any `Field` over a set with positions. A feature of one kind is an *action* or a
//! *parameter*, never a panel.
//!
//! # Modules
//!
//! | module | contents | uses |
//! | --- | --- | --- |
//! | `cli`, `app` | command line; window | all below; only the window uses `view3d` and `query` |
//! | [`experiment`] | trials under conditions, with statistics | `export` |
//! | [`export`] | recorded runs in formats of other programs | `project` |
//! | [`project`] | the document, the run folder, replays | `engine`, `kinds` |
//! | [`engine`] | the worker thread that steps a simulation | `sim` |
//! | [`kinds`] | families of models, one folder each | `nn`, `query`, `data`, `sim` |
//! | [`query`] | language that selects elements of a set | `sim` |
//! | [`sim`] | contract of every kind, and the shapes of its results | `gpu`, `params` |
//! | [`nn`] | operations on tensors, forward and backward | `gpu` |
//! | [`gpu`] | the CUDA device | `num` |
//! | [`params`] | declarations of parameters | `num` |
//! | [`data`] | readers of input files, generators of networks | `num` |
//! | [`num`] | arithmetic with equal results on both backends | |
//! | `view3d` | camera and renderer of points | |
//!
//! `app`, `view3d` and the program are the package `neuropil`; the modules below are `neuropil-core` (`src/Cargo.toml`), which
//! depends on no crate that draws and is compiled and tested without the window. This crate exports them again.
//!
//! A module may also use what the modules in its last column use. `tests/floors/floors.rs` holds the exact table and
//! fails with file and line. Deliberate limits:
//!
//! - [`num`] and [`params`] use no GPU, file or window.
//! - [`gpu`] is the only module that names the CUDA binding, and it contains no simulation. There is no cargo
//!   feature for CUDA: it is always compiled in, and the driver is looked up at run time.
//! - [`nn`] contains no model and no automatic differentiation.
//! - [`kinds`] open no window and read no wall clock; a kind's time is its step count.
//! - [`engine`] uses `dyn Simulation`, no kind and no window.
//! - `view3d` draws points and is independent of element sets.
//! - [`project`] is the only module with the file format; everything it writes is versioned.
//! - `app` holds no simulation state: closing a view loses nothing but scroll positions.
//!
//! # Threads
//!
//! There are four: the window, the engine (owns the simulation), the loader (project → simulation, with progress and
//! cancel) and the recorder (disk). They exchange closed enums over bounded channels, and frames through one mailbox
//! that replaces states and appends histories. The recorder stalls the run instead of losing spikes.
//!
//! # Exactness
//!
//! Sums over spikes are integers, every random draw has an address (seed, purpose, step, lane), and parameter
//! changes are applied between two steps and logged with their step. So a project gives the same bits for any
//! number of threads and any batch length, and a run replays from its folder.
//!
//! # Glossary
//!
//! | word | meaning |
//! | --- | --- |
//! | kind | a family of models with its own parameters, probes, actions and kernels: `spiking`, `nuclei` |
//! | project | the document: kind, parameters, run settings, recorded probes, window layout |
//! | parameter, group | a declared value, and the declared list it belongs to; both have a name, a title and former names |
//! | setup | host data that a kind prepares from parameters and files: connections, samples; immutable and shared |
//! | simulation, backend | a setup that can be stepped, on the CPU (the definition) or with CUDA (a faster equivalent) |
//! | step, batch | the unit of simulated time; the steps between two reads of the command channel |
//! | trial | a simulation of one network with a seed of its own; several are stepped together, and views show one |
//! | element set, slot | the neurons or nuclei that fields and spikes index; a reusable element of a population |
//! | individual | the occupant of a slot; its id is never reused |
//! | graph, node, edge | lists of parameters that describe a network, such as populations and projections; drawn by an editor |
//! | selection | a named query over elements, available in every kind: target, filter, colour |
//! | intervention | a stimulus, a silencing or (in every kind) another value of a parameter over a span of time |
//! | action | a single change of a running simulation, such as a voltage pulse |
//! | probe, shape | a quantity that a kind can report, and the form of its data: series, spikes, field, matrix, lineage, text |
//! | tap, reading, frame | a request for a probe, its data, and all data of one batch |
//! | subscription | the taps the window needs |
//! | schema | description of a running simulation: probes, lane names, element sets, connectivity |
//! | pass, span, timing | one batch on the device, one measured part of it, a row of the kernel table |
//! | history | bounded data of a run in the window: spikes, series, fields, and the steps without data |
//! | recording, stream | a run being written to disk; one recorded probe, a file |
//! | experiment, condition, measure | conditions run with every seed; changes of the project; a value computed from each trial |
//! | run | the folder of a recording: project, command log, manifest, streams |
//! | note, tags | labels that the user gives to a run, stored in its folder outside its hashes |
//! | playback, replay | display of a recorded run; repeated computation with a comparison of every recorded bit |
//! | digest | hash and totals of a simulation since step 0 |
//! | view, panel, workspace | display of readings with certain shapes; a view in the window; a layout of panels |
//! | colormap, colour scale, palette | map from values to colours; a range with a colormap; colours of categories |
//!
//! # Reading order
//!
//! This page, then the contract ([`sim`], `sim/kind.rs`), one kind ([`kinds::spiking`] with its `params.rs` and
//! `cpu/mod.rs`, the definition of a step), `engine/worker.rs` and `app/document/session.rs`: about two thousand lines.
//! The other kinds and views have the same form. The window has five floors of its own: [`app`].

pub mod app;
pub mod view3d;

pub use neuropil_core::{
    actions, choices, cli, data, engine, experiment, export, gpu, kinds, nn, num, param_tree, params, project, query,
    sim,
};
