//! Drawing of the tiles: tabs with buttons, separators and a mark on the focused panel.

use super::{Pane, Workspace, view_of};
use crate::app::{
    document::{interventions, selection::Selection},
    kit::{focus, icons, theme::Tokens, widgets},
    shell::pages::help,
    views::{View, ViewCtx, is_offered},
};
use egui::{Align, Color32, Layout, Popup, Response, RichText, Sense, Stroke, Ui, UiBuilder, WidgetText, vec2};
use egui_tiles::{Behavior, EditAction, SimplificationOptions, TabState, TileId, Tiles, Tree, UiResponse};
use std::collections::BTreeMap;

/// Width of help popups, points.
const HELP_WIDTH: f32 = 360.0;
/// Opacity of the header buttons of panels without pointer or focus.
const IDLE: f32 = 0.0;
/// Height of a panel header, points.
const HEADER: f32 = 26.0;

/// Requests that were made while the tiles were drawn.
#[derive(Default)]
pub struct TileRequests {
    /// Panel to close.
    pub close: Option<TileId>,
    /// Panel to maximise or restore.
    pub maximise: Option<TileId>,
    /// Panel to focus.
    pub focus: Option<TileId>,
    /// View to add in a new panel.
    pub another: Option<String>,
    /// Area of the focused panel.
    pub focused_area: Option<egui::Rect>,
    /// Whether the user has changed the layout.
    pub edited: bool,
}

/// Contents of the panels.
pub struct Panels<'a> {
    /// The views, by panel.
    pub views: &'a mut BTreeMap<Pane, Box<dyn View>>,
    /// One instance of each view, for its title without data.
    pub samples: &'a [Box<dyn View>],
    pub pins: &'a mut BTreeMap<Pane, Selection>,
}

struct TileBehavior<'a> {
    views: &'a mut BTreeMap<Pane, Box<dyn View>>,
    samples: &'a [Box<dyn View>],
    pins: &'a mut BTreeMap<Pane, Selection>,
    ctx: ViewCtx<'a>,
    requests: &'a mut TileRequests,
    maximised: bool,
    focused: Option<TileId>,
}

/// Draws a workspace.
pub fn ui(ui: &mut Ui, workspace: &mut Workspace, panels: Panels<'_>, ctx: ViewCtx<'_>, requests: &mut TileRequests) {
    let Panels { views, samples, pins } = panels;
    let maximised = workspace.maximised_tile();
    let focused = workspace.focused_tile();
    let mut behavior = TileBehavior { views, samples, pins, ctx, requests, maximised: maximised.is_some(), focused };
    match maximised {
        Some(tile) => maximised_ui(ui, &workspace.now.tree, &mut behavior, tile),
        None => workspace.now.tree.ui(&mut behavior, ui),
    }
}

/// Draws the maximised panel with its header.
fn maximised_ui(ui: &mut Ui, tree: &Tree<Pane>, behavior: &mut TileBehavior<'_>, tile: TileId) {
    let Some(pane) = tree.tiles.get_pane(&tile) else { return };
    let (bar, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEADER), Sense::click());
    ui.painter().rect_filled(bar, 0, behavior.ctx.tokens.panel);
    let title = behavior.title(pane);
    if response.double_clicked() {
        behavior.requests.maximise = Some(tile);
    }
    ui.scope_builder(UiBuilder::new().max_rect(bar.shrink2(vec2(8.0, 0.0))), |ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            behavior.buttons_ui(ui, tile, pane, bar);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| ui.heading(title));
        });
    });
    widgets::hairline_below(ui, bar);
    behavior.view_ui(ui, tile, pane);
}

impl TileBehavior<'_> {
    fn title(&self, pane: &Pane) -> String {
        let title = self.views.get(pane).map_or_else(|| pane.clone(), |v| v.title(self.ctx.schema));
        let title = match pane.split_once('#') {
            Some((_, number)) => format!("{title} {number}"),
            None => title,
        };
        match self.pins.get(pane) {
            Some(pinned) if pinned.elements.is_empty() => format!("{title} · pinned"),
            Some(pinned) => format!("{title} · {}", interventions::label(self.ctx.schema, pinned)),
            None => title,
        }
    }

    fn view_ui(&mut self, ui: &mut Ui, tile: TileId, pane: &Pane) {
        let rect = ui.available_rect_before_wrap();
        if self.focused == Some(tile) || self.maximised {
            self.requests.focused_area = Some(rect);
        }
        focus::area(ui, pane, &self.title(pane), rect);
        let pressed_here = ui.input(|i| i.pointer.any_pressed()) && ui.rect_contains_pointer(rect);
        if pressed_here || focus::has(ui.ctx(), pane) {
            self.requests.focus = Some(tile);
        }
        if ui.rect_contains_pointer(rect)
            && let Some(view) = self.views.get(pane)
        {
            crate::app::shell::panels::gestures::hint(ui.ctx(), view.declaration().gestures);
        }
        match self.views.get_mut(pane) {
            Some(view) => {
                // The selection of a pinned panel replaces the shared one while it is drawn.
                let mut pinned = self.pins.get_mut(pane);
                if let Some(pinned) = &mut pinned {
                    std::mem::swap(self.ctx.selection, *pinned);
                }
                self.ctx.enter(&**view);
                // The clip rectangle is restored for the focus ring.
                let clip = ui.clip_rect();
                view.ui(ui, &mut self.ctx);
                ui.set_clip_rect(clip);
                end_hover(ui, pane, rect, self.ctx.selection);
                if let Some(pinned) = pinned {
                    std::mem::swap(self.ctx.selection, pinned);
                }
            }
            None => widgets::empty_state(
                ui,
                icons::GRID,
                &format!("Unknown view `{pane}`"),
                "The layout was made by another version. Close this panel",
            ),
        }
        focus::ring(ui, pane, rect);
    }

    /// Draws the button that pins or unpins the panel's selection.
    fn pin_ui(&mut self, ui: &mut Ui, pane: &Pane, title: &str) {
        let is_pinned = self.pins.contains_key(pane);
        let verb = if is_pinned { "Unpin selection of" } else { "Pin selection of" };
        if widgets::icon_toggle(ui, icons::PIN, &format!("{verb} {title}"), is_pinned).clicked()
            && self.pins.remove(pane).is_none()
        {
            self.pins.insert(pane.clone(), self.ctx.selection.clone());
        }
    }

    /// Draws the buttons to close, maximise, show help, pin and add, from right to left. They are visible while the pointer is
    /// over the panel or it has the focus.
    fn buttons_ui(&mut self, ui: &mut Ui, tile: TileId, pane: &Pane, area: egui::Rect) {
        let title = self.title(pane);
        ui.spacing_mut().item_spacing.x = 0.0;
        let area = ui.max_rect().union(area);
        let is_near = ui.ctx().pointer_hover_pos().is_some_and(|at| area.contains(at));
        // A pinned panel always shows its buttons. Invisible buttons can still be reached by keyboard and screen reader.
        if !is_near && self.focused != Some(tile) && !self.maximised && !self.pins.contains_key(pane) {
            ui.set_opacity(IDLE);
        }
        if widgets::icon_button(ui, icons::CLOSE, &format!("Close {title}")).clicked() {
            self.requests.close = Some(tile);
        }
        let (glyph, verb) = if self.maximised { (icons::RESTORE, "Restore") } else { (icons::MAXIMISE, "Maximise") };
        if widgets::icon_button(ui, glyph, &format!("{verb} {title}")).clicked() {
            self.requests.maximise = Some(tile);
        }
        let button = widgets::icon_button(ui, icons::HELP, &format!("Help on {title}"));
        if let Some(view) = self.views.get(pane) {
            Popup::menu(&button).show(|ui| {
                ui.set_width(HELP_WIDTH);
                let text = help::in_words(view.declaration().help, &self.ctx.schema.sets);
                help::markdown_ui(ui, &text);
            });
        }
        self.pin_ui(ui, pane, &title);
        let more = widgets::icon_button(ui, icons::PLUS, &format!("Add a panel next to {title}"));
        Popup::menu(&more).show(|ui| self.more_ui(ui, pane));
    }

    /// Draws the menu of views to add; this panel's view is first.
    fn more_ui(&mut self, ui: &mut Ui, pane: &Pane) {
        ui.set_min_width(170.0);
        let here = view_of(pane);
        let samples = self.samples;
        let (same, others): (Vec<_>, Vec<_>) = samples
            .iter()
            .map(|view| (view.declaration(), view))
            .filter(|(declared, _)| declared.name == here || is_offered(declared, self.ctx.schema))
            .partition(|(declared, _)| declared.name == here);
        for (declared, view) in same.into_iter().filter(|(declared, _)| declared.can_repeat).chain(others) {
            let is_there = self.views.keys().any(|p| view_of(p) == declared.name);
            let verb = if is_there && declared.can_repeat { "Another" } else { "Add" };
            if ui.button(format!("{verb} {}", lower(&view.title(self.ctx.schema)))).clicked() {
                self.requests.another = Some(declared.name.to_owned());
                ui.close();
            }
        }
    }
}

/// Ends the hover of a panel when the pointer leaves it, because views update the hover only where they draw elements.
fn end_hover(ui: &Ui, pane: &Pane, rect: egui::Rect, selection: &mut Selection) {
    let id = egui::Id::unique(("hovered in panel", pane));
    let before: Option<u32> = ui.data(|d| d.get_temp(id)).flatten();
    let now = if ui.rect_contains_pointer(rect) { selection.hovered } else { None };
    if before.is_some() && now.is_none() && selection.hovered == before {
        selection.hovered = None;
    }
    if before != now {
        ui.data_mut(|d| d.insert_temp(id, now));
    }
}

/// Returns a title for use inside a sentence, in lower case; abbreviations keep their capitals.
pub(super) fn lower(title: &str) -> String {
    let mut letters = title.chars();
    let (first, second) = (letters.next(), letters.next());
    match (first, second.is_some_and(|c| c.is_lowercase())) {
        (Some(first), true) => first.to_lowercase().chain(title.chars().skip(1)).collect(),
        _ => title.to_owned(),
    }
}

impl Behavior<Pane> for TileBehavior<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, tile: TileId, pane: &mut Pane) -> UiResponse {
        self.view_ui(ui, tile, &pane.clone());
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        RichText::new(self.title(pane)).family(widgets::semibold()).into()
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<Pane>,
        ui: &mut Ui,
        _tile: TileId,
        tabs: &egui_tiles::Tabs,
        _scroll: &mut f32,
    ) {
        let Some((tile, pane)) = tabs.active.and_then(|id| Some((id, tiles.get_pane(&id)?.clone()))) else { return };
        ui.add_space(4.0);
        let area = tiles.rect(tile).unwrap_or(egui::Rect::NOTHING);
        // The tabs are drawn afterwards by the same `Ui`, so the opacity is restored.
        let opacity = ui.opacity();
        self.buttons_ui(ui, tile, &pane, area);
        ui.set_opacity(opacity);
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<Pane>, tile: TileId, response: Response) -> Response {
        if response.double_clicked() {
            self.requests.maximise = Some(tile);
        }
        if response.clicked() || response.drag_started() {
            self.requests.focus = Some(tile);
        }
        if response.middle_clicked() {
            self.requests.close = Some(tile);
        }
        if tiles.get_pane(&tile).is_some() {
            response.on_hover_text("Drag to dock elsewhere · double-click to maximise · middle-click to close")
        } else {
            response
        }
    }

    fn on_edit(&mut self, action: EditAction) {
        if matches!(action, EditAction::TileDropped | EditAction::TileResized) {
            self.requests.edited = true;
        }
    }

    fn tab_bar_height(&self, _: &egui::Style) -> f32 {
        HEADER
    }

    fn tab_bar_color(&self, _: &egui::Visuals) -> Color32 {
        self.ctx.tokens.panel
    }

    fn tab_bg_color(&self, _: &egui::Visuals, _: &Tiles<Pane>, _: TileId, _: &TabState) -> Color32 {
        Color32::TRANSPARENT
    }

    fn tab_outline_stroke(&self, _: &egui::Visuals, _: &Tiles<Pane>, _: TileId, _: &TabState) -> Stroke {
        Stroke::NONE
    }

    fn tab_bar_hline_stroke(&self, _: &egui::Visuals) -> Stroke {
        Stroke::new(1.0, self.ctx.tokens.line)
    }

    /// Returns the strong colour for the focused panel, the normal one for other active tabs, and the weak one for inactive tabs.
    fn tab_text_color(&self, _: &egui::Visuals, _: &Tiles<Pane>, tile: TileId, state: &TabState) -> Color32 {
        match (state.active, self.focused == Some(tile)) {
            (true, true) => self.ctx.tokens.text_strong,
            (true, false) => self.ctx.tokens.text,
            _ => self.ctx.tokens.text_sub,
        }
    }

    fn tab_title_spacing(&self, _: &egui::Visuals) -> f32 {
        10.0
    }

    fn gap_width(&self, _: &egui::Style) -> f32 {
        1.0
    }

    fn resize_stroke(&self, _: &egui::Style, state: egui_tiles::ResizeState) -> Stroke {
        match state {
            egui_tiles::ResizeState::Idle => Stroke::new(1.0, self.ctx.tokens.line),
            _ => Stroke::new(2.0, self.ctx.tokens.accent),
        }
    }

    fn drag_preview_stroke(&self, _: &egui::Visuals) -> Stroke {
        Stroke::new(1.0, self.ctx.tokens.accent)
    }

    fn drag_preview_color(&self, _: &egui::Visuals) -> Color32 {
        Tokens::fade(self.ctx.tokens.accent, 0.1)
    }

    fn min_size(&self) -> f32 {
        80.0
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..SimplificationOptions::default() }
    }
}
