//! # Code shared by all kinds
//!
//! | file | subject |
//! | --- | --- |
//! | [`prepared`] | a model whose setup exists: checks, start of simulations |
//! | `scheduled` | interventions that set a parameter, around the simulation of any kind |
//! | [`device_cache`] | data of a setup on devices, one copy for all simulations |
//! | [`edit`] | parameter changes, checked against their declaration |
//! | `field_readback` | fields copied from a GPU while the next steps run |
//! | [`host_sim`] | simulation of kinds whose backends share the state on the host |
//! | [`element_files`] | CSV files that list elements, or elements and steps |
//! | [`query_files`] | files named in a query |
//! | [`weights`] | initial weights from a file |
//! | [`real`] | scalar types and precisions of a state |
//! | [`threads`] | threads of a CPU backend, which start with the first work |
//! | `trials` | several trials of any kind as one simulation |

pub mod device_cache;
pub mod edit;
pub mod element_files;
pub(super) mod field_readback;
pub mod host_sim;
pub mod prepared;
pub mod query_files;
pub mod real;
mod scheduled;
pub mod threads;
pub mod trials;
pub mod weights;
