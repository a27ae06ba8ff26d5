//! The window, in five floors: each names only those below it.
//!
//! | floor | contents |
//! | --- | --- |
//! | [`kit`] | texts, controls, axes, colours: draws what it is given |
//! | [`host`] | the desktop and the machine |
//! | [`document`] | the open document; nothing here draws a panel |
//! | [`views`] | draw readings of probes by their shape; they name no [`host`] |
//! | [`shell`] | the window: frame, panels, dialogs, pages, actions |

pub mod document;
pub mod host;
pub mod kit;
pub mod shell;
pub mod views;

pub use shell::{App, app::create, native::open, start::Start};
