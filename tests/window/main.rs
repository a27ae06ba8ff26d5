//! The window, driven without a screen through its accessibility tree.

mod actions;
mod compare_runs;
mod continue_run;
#[cfg(feature = "demo")]
mod demo;
mod experiments;
mod exports;
mod figures;
mod graph_editor;
mod groups;
mod hover;
mod inspector;
mod interaction;
mod interventions;
mod labels;
mod latency;
mod lineage;
mod loss_plot;
mod memory;
mod newcomer;
mod nuclei_window;
mod panel_states;
mod paths;
mod population_views;
mod profile;
mod rescue;
mod run_length;
mod run_table;
mod safety;
mod screenshots;
mod selection;
mod session;
mod session_files;
mod shaders;
mod shell;
mod shortcuts;
mod software_painter;
mod support;
mod time;
mod trials;
mod ui;
mod unrecorded;
mod vary;
mod views;
mod weights_shape;

#[global_allocator]
static ALLOCATOR: neuropil_test_support::allocator::Counting = neuropil_test_support::allocator::Counting;
