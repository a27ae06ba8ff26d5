//! The program from outside.

mod checkpoints;
mod checks;
mod program;
