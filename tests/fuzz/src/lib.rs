//! The modules under test, without the rest of the program.
#![allow(dead_code, missing_docs)]

#[path = "../../../src/data/mod.rs"]
pub mod data;
#[path = "../../../src/num/mod.rs"]
pub mod num;
