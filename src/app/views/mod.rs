//! The views. Each has its own folder or file, and [`registry`] lists them.

pub mod api;
pub mod declaration;
pub mod registry;

pub mod bands;
pub mod chosen;
pub mod circle;
pub mod cloud;
pub mod compare;
pub mod connectivity;
pub mod distribution;
pub mod element;
pub mod fields;
pub mod filter_panel;
pub mod hist;
pub mod lanes;
pub mod lineage;
pub mod links;
pub mod matrix;
pub mod menu;
pub mod phases;
mod pin_and_focus;
pub mod placeholder;
pub mod plot;
pub mod profile;
pub mod raster;
pub mod rate;
pub mod runs;
pub mod scatter;
pub mod statistics;
mod stop_reason;
mod suggest;
pub mod sweep;
pub mod table;
pub mod texts;
pub mod token_text;
pub mod view_3d;
pub mod weights;

pub use api::{View, ViewCtx, ViewRequest};
pub use declaration::{MenuEntry, Opening, ViewDeclaration};
pub use menu::MenuTarget;
pub use pin_and_focus::ask_pin;
pub(crate) use pin_and_focus::{ask_focus, is_focus_asked, take_pin};
pub use registry::{ALL, by_name, find, is_offered, needs_simulation, page_of};
pub(crate) use stop_reason::{no_events_ui, run_ui};
pub use suggest::{suggest, suggest_for};
