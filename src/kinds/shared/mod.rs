//! # What all kinds share
//!
//! | file | subject |
//! | --- | --- |
//! | [`prepared`] | a model whose setup exists: checks, starts simulations |
//! | `scheduled` | interventions that set a parameter, around the simulation of any kind |
//! | [`edit`] | parameter changes, checked against their declaration |
//! | `field_readback` | fields copied from a GPU while the next steps run |
//! | [`host_sim`] | the simulation of kinds whose backends share the state on the host |
//! | [`element_files`] | CSV files that list elements, or elements and steps |
//! | [`query_files`] | the files that a query names |
//! | [`weights`] | initial weights from a file |
//! | [`real`] | scalars and precisions of a state |
//! | [`threads`] | the threads of a CPU backend, which start with the first work |

pub mod edit;
pub mod element_files;
pub(super) mod field_readback;
pub mod host_sim;
pub mod prepared;
pub mod query_files;
pub mod real;
mod scheduled;
pub mod threads;
pub mod weights;
