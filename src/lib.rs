//! Neuropil: a workbench for neural simulation.
//!
//! **A kind is six declarations — parameters, probes, actions, device structs, kernels, and how to build it.
//! The program is written once, against the declarations.** A raster shows any `Spikes` probe, a plot any
//! `Series`, the 3D view any `Field` over a set with positions. What is specific to a kind is an *action* or a
//! *parameter*, never a panel.
//!
//! # Floors
//!
//! ```text
//!    cli        app ── view3d      command line, window
//!      \      / | \
//!       export  |  engine          files for others; the worker thread
//!          \    |    |
//!         project    |             the document and the run folder
//!            |       |
//!          kinds     |             one folder each, one shape
//!        / |  | \    |             (query: the language of sets of elements)
//!      nn data   sim ┘             operations on tensors; input files of kinds; the contract of every kind
//!       |   |   /   \
//!       └─ num params gpu          arithmetic equal on both backends; declarations; the device (nn uses it too)
//! ```
//!
//! A module names only the floors below it; `tests/floors/floors.rs` holds the table and fails with file and line.
//! Deliberate limits:
//!
//! - [`num`] and [`params`] use no GPU, file or window.
//! - [`gpu`] is the only module that names the CUDA binding, and it contains no simulation. There is no cargo
//!   feature for CUDA: it is always compiled in; the driver is looked for at start.
//! - [`nn`] multiplies matrices; it contains no model and no automatic differentiation.
//! - [`kinds`] open no window and read no wall clock; a kind's time is its step count.
//! - [`engine`] uses `dyn Simulation`, no kind and no window.
//! - `view3d` draws points and is independent of element sets.
//! - [`project`] is the only module with the file format; everything it writes is versioned.
//! - `app` holds no simulation state: closing a view loses nothing but scroll positions.
//!
//! # Threads
//!
//! The window, the engine (owns the simulation), the loader (project → simulation, with progress and cancel)
//! and the recorder (disk). They exchange closed enums over bounded channels, and frames through one mailbox in which
//! states are replaced and histories appended. The recorder stalls the run instead of losing spikes.
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
//! | project | the document: kind, parameters, run settings, what is recorded, window layout |
//! | parameter, group | a declared value, and the declared list it belongs to; both have a name, a title and former names |
//! | setup | what a kind prepares on the host from parameters and files: connections, samples; immutable and shared |
//! | simulation, backend | a setup that can be stepped, on the CPU (the definition) or with CUDA (the same made fast) |
//! | step, batch | the unit of simulated time; the steps taken between two looks at the command channel |
//! | element set, slot | what fields and spikes are over (neurons, nuclei); in a population a place that is used again |
//! | individual | the occupant of a slot; its id is never used again |
//! | selection | a named query over elements, of every kind: target, filter, colour |
//! | intervention | over a span of time: a stimulus, a silencing, or another value of a parameter; every kind has that one |
//! | action | something done once to a running simulation |
//! | probe, shape | something a kind can be asked for, and the form of its data: series, spikes, field, matrix, lineage, text |
//! | tap, reading, frame | a request for a probe, its answer, and all answers of one batch |
//! | subscription | the taps the window needs |
//! | schema | what a running simulation offers: probes, lane names, element sets, connectivity |
//! | pass, span, timing | one batch on the device, one measured part of it, a row of the kernel table |
//! | history | what the window keeps of a run, bounded: spikes, series, fields, and the steps it has no data for |
//! | recording, stream | a run being written to disk; one recorded probe, a file |
//! | run | the folder a recording leaves: project, command log, manifest, streams |
//! | playback, replay | showing a run; computing it again and comparing every recorded bit |
//! | digest | hash and totals of everything a simulation did |
//! | view, panel, workspace | draws readings of some shapes; a view in the window; a layout of panels |
//! | colormap, colour scale, palette | values to colours; a range with a colormap; colours of categories |
//!
//! # Reading order
//!
//! This page, then [`kinds::spiking`] (the kind), its `params.rs` and `cpu/`, then [`sim`],
//! `engine/worker.rs` and `app/session.rs`: about a thousand lines, and the rest is predictable from there.

pub mod app;
pub mod cli;
pub mod data;
pub mod engine;
pub mod export;
pub mod gpu;
pub mod kinds;
pub mod nn;
pub mod num;
pub mod params;
pub mod project;
pub mod query;
pub mod sim;
pub mod view3d;
