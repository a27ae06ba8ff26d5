//! The synaptic language model: its parts against references and themselves.

mod cuda;
mod cuda_decoding;
mod cuda_golden;
mod cuda_golden_life;
mod cuda_golden_model;
mod cuda_life;
mod cuda_muon;
mod cuda_training;
mod earlier;
mod golden_attention;
mod golden_experts;
mod golden_files;
mod golden_life;
mod golden_model;
mod golden_optimizers;
mod golden_postsynaptic;
mod golden_presynaptic;
mod simulation;
