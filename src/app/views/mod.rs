//! The views: one per shape of data. A view knows no kind; the shell knows no view but this list.

use crate::{
    engine::Exhibit,
    sim::{Frame, Tap},
};

mod overview;

/// What a view is given to draw with.
pub struct ViewCtx<'a> {
    /// Probes, lanes and sets of the running simulation.
    pub exhibit: &'a crate::engine::Exhibit,
    /// Where it is.
    pub clock: crate::sim::Clock,
    /// Whether it runs.
    pub running: bool,
    /// The only colours and spacings.
    pub tokens: &'a crate::app::theme::Tokens,
    /// The one selection, shared by all views.
    pub selection: &'a mut Selection,
    /// None in headless logic tests.
    pub render_state: Option<&'a egui_wgpu::RenderState>,
    /// What the view wants of the shell.
    pub requests: &'a mut Vec<ViewRequest>,
}

/// What a view can want of the shell.
pub enum ViewRequest {
    /// A command.
    Command(crate::app::commands::UiCommand),
    /// A stimulus on the selection.
    Stimulate,
    /// A lesion on the selection.
    Silence,
    /// A short message.
    Toast(String),
}

/// The one selection.
#[derive(Clone, Default, PartialEq)]
pub struct Selection {
    /// Of which set.
    pub set: &'static str,
    /// Sorted.
    pub elements: std::sync::Arc<Vec<u32>>,
    /// Under the pointer in some view.
    pub hovered: Option<u32>,
    /// Counts up with every change.
    pub generation: u64,
}

/// A view of a running simulation.
pub trait View {
    /// Stable: layout files.
    fn name(&self) -> &'static str;
    /// In the panel header.
    fn title(&self, exhibit: &Exhibit) -> String;
    /// What it needs while visible.
    fn taps(&self, exhibit: &Exhibit, selection: &Selection) -> Vec<Tap>;
    /// A new simulation or a new epoch.
    fn reset(&mut self, exhibit: &Exhibit);
    /// New data; called also when hidden tabs have no taps.
    fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame);
    /// Draws it.
    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>);
    /// Markdown for the ? button.
    fn help(&self) -> &'static str;
}

/// The only list of views: one default instance of each.
pub fn all() -> Vec<Box<dyn View>> {
    vec![Box::new(overview::Overview::default())]
}

/// Names of the views that fit the probes' shapes, in layout order.
pub fn suggest(_exhibit: &Exhibit) -> Vec<&'static str> {
    vec!["overview"]
}

/// A view by its name.
pub fn by_name(name: &str) -> Option<Box<dyn View>> {
    all().into_iter().find(|v| v.name() == name)
}
