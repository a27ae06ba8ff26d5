//! The modules under test and those they stand on, without the window.
#![allow(dead_code, missing_docs)]

#[path = "../../../src/data/mod.rs"]
pub mod data;
#[path = "../../../src/engine/mod.rs"]
pub mod engine;
#[path = "../../../src/gpu/mod.rs"]
pub mod gpu;
#[path = "../../../src/kinds/mod.rs"]
pub mod kinds;
#[path = "../../../src/nn/mod.rs"]
pub mod nn;
#[path = "../../../src/num/mod.rs"]
pub mod num;
#[path = "../../../src/params/mod.rs"]
pub mod params;
#[path = "../../../src/project/mod.rs"]
pub mod project;
#[path = "../../../src/query/mod.rs"]
pub mod query;
#[path = "../../../src/sim/mod.rs"]
pub mod sim;
