//! # A language model with presynaptic and postsynaptic dynamics, and experts that live, split and merge
//!
//! | folder | subject |
//! | --- | --- |
//! | [`presynaptic`] | release of vesicles along a sequence, as a bias of attention logits |
//! | [`experts`] | router, genomes, metabolism, mixture of experts |
//! | [`postsynaptic`] | memory written while a text is continued |
//! | [`life`] | life cycle of experts |
//! | [`model`] | sizes, names and first values of the parameters |
//! | [`backend`] | what a simulation asks of a device |
//! | [`cpu`] | the model on the CPU |

pub mod backend;
pub mod cpu;
pub mod experts;
pub mod life;
pub mod model;
pub mod postsynaptic;
pub mod presynaptic;
