//! The window.
pub mod commands;
pub mod fonts;
pub mod icons;
pub mod style;
pub mod theme;
pub mod views;
