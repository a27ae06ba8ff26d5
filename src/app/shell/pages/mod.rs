//! Pages that replace views, and help.

pub mod examples;
pub mod help;
pub mod home;
pub mod opening;
pub mod system;
pub mod welcome;
