//! Declaration of a view: its constant properties. [`registry`](super::registry) lists the declarations.

use super::View;
use crate::{app::document::layout::Page, engine::SimSchema};

/// Constant properties of a view.
pub struct ViewDeclaration {
    /// Stable name, stored in layout files.
    pub name: &'static str,
    /// Title, unless [`View::title`] names the displayed data.
    pub title: &'static str,
    /// Icon of the view, shown on its empty state.
    pub icon: &'static str,
    /// Markdown that the ? button of the panel shows.
    pub help: &'static str,
    /// Pointer gestures and their effects, shown in the status bar.
    pub gestures: &'static [(&'static str, &'static str)],
    /// Pages of the view; the first is its main page.
    pub pages: &'static [Page],
    /// Whether a simulation publishes what the view shows.
    pub fits: fn(&SimSchema) -> bool,
    /// Whether a second panel with this view is useful.
    pub can_repeat: bool,
    /// Whether the view shows [`ViewCtx::profile`](super::ViewCtx::profile), which is only filled while such a view is visible.
    pub profiles: bool,
    /// Entry in the context menu of elements.
    pub menu: Option<MenuEntry>,
    /// Creates a view in its initial state.
    pub create: fn() -> Box<dyn View>,
}

impl ViewDeclaration {
    /// Creates the declaration of a view type with the values of optional fields; the others are empty.
    pub const fn of<V: View + Default + 'static>() -> Self {
        Self {
            name: "",
            title: "",
            icon: "",
            help: "",
            gestures: &[],
            pages: &[],
            fits: |_| false,
            can_repeat: true,
            profiles: false,
            menu: None,
            create: || Box::<V>::default(),
        }
    }
}

/// Submenu of the context menu of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submenu {
    ShowIn,
    Plot,
}

/// Way in which a menu entry opens its view for the selected elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Brings the view to the front.
    Show,
    /// Brings the view to the front and frames the elements.
    Frame,
    /// Probes the elements, which also shows the view.
    Probe,
}

/// Entry of a view in the context menu of elements.
pub struct MenuEntry {
    pub submenu: Submenu,
    /// Position of the entry in its submenu.
    pub position: u8,
    pub label: &'static str,
    pub opening: Opening,
}

impl MenuEntry {
    /// Creates an entry of the submenu "Show in".
    pub const fn show_in(position: u8, label: &'static str) -> Self {
        Self { submenu: Submenu::ShowIn, position, label, opening: Opening::Show }
    }

    /// Creates an entry of the submenu "Plot".
    pub const fn plot(position: u8, label: &'static str) -> Self {
        Self { submenu: Submenu::Plot, position, label, opening: Opening::Show }
    }
}
