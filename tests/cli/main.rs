//! The program from outside.

mod checks;
mod program;
