//! Panels around the views.

pub mod gestures;
pub mod inspector;
pub mod problems;
pub mod runbar;
pub mod sets;
pub mod side;
pub mod state;
pub mod status;
pub mod tabs;
pub mod time_panel;
pub mod toasts;
pub mod topbar;
pub mod tree;
