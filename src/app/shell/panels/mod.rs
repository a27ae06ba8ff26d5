//! The panels around the views.

pub mod inspector;
pub mod problems;
pub mod runbar;
pub mod sets;
pub mod side;
pub mod state;
pub mod status;
pub mod time_panel;
pub mod toasts;
pub mod topbar;
pub mod tree;
