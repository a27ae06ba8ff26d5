//! A lineage as lines over time: births, splits, merges and deaths of any probe of that shape.

mod draw;
mod forest;
mod lanes;
mod picture;
mod pointer;

use super::{
    Selection, View, ViewCtx, colors,
    fields::{self, Fields},
    kit, probes_where, run_ui, tap,
    tints::Tints,
};
use crate::{
    engine::SimSchema,
    sim::{ElementSet, Frame, Meaning, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Rect, TextureHandle, Ui, Vec2};
use forest::Forest;
use picture::{Admitted, SINGLES, Studio, Wish};
use std::sync::Arc;

/// While it runs, lines get their lanes anew no more often than this, seconds.
const EVERY_SECS: f64 = 0.4;
/// More lines than this begin with only those that left somebody behind.
const MANY: usize = 3_000;

/// Who is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Show {
    /// Everybody.
    #[default]
    All,
    /// The living, and all they came out of.
    Survivors,
    /// The marked and their relatives.
    Relatives,
}

/// Who stands out with the marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relatives {
    /// All they came out of.
    pub ancestors: bool,
    /// All who came out of them.
    pub descendants: bool,
}

/// What is in view.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// First step.
    pub t0: f64,
    /// Last step.
    pub t1: f64,
    /// First lane.
    pub l0: f64,
    /// Last lane.
    pub l1: f64,
}

impl Window {
    /// Everything.
    fn all(forest: &Forest, n_lanes: u32, now: u64) -> Self {
        let first = forest.lines.first().map_or(0, |l| l.born) as f64;
        let span = (now as f64 - first).max(10.0);
        let l1 = f64::from(n_lanes).max(1.0);
        // A little room for the names of those who live.
        Self { t0: first, t1: first + span * 1.02, l0: -0.5, l1: l1 + 0.5 }
    }
}

/// The lineage view.
pub struct Lineage {
    forest: Arc<Forest>,
    generation: u64,
    now: u64,
    show: Option<Show>,
    relatives: Relatives,
    /// The line that was clicked; with it stand the lines of the selected elements.
    focus: Option<u32>,
    tint: Option<ProbeId>,
    fields: Fields,
    /// By line: the last value seen of the field that colours.
    worth: Vec<f32>,
    studio: Studio,
    /// None: everything.
    window: Option<Window>,
    texture: Option<(TextureHandle, u64)>,
    hovered: Option<u32>,
    /// The line the context menu was opened on.
    menu_line: Option<u32>,
    last_made: f64,
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            forest: Arc::default(),
            generation: 0,
            now: 0,
            show: None,
            relatives: Relatives { ancestors: true, descendants: true },
            focus: None,
            tint: None,
            fields: Fields::default(),
            worth: vec![],
            studio: Studio::default(),
            window: None,
            texture: None,
            hovered: None,
            menu_line: None,
            last_made: 0.0,
        }
    }
}

fn is_lineage(shape: &Shape) -> bool {
    matches!(shape, Shape::Lineage { .. })
}

impl Lineage {
    fn probe(schema: &SimSchema) -> Option<(ProbeId, &'static str)> {
        let (id, probe) = probes_where(schema, is_lineage).next()?;
        if let Shape::Lineage { over } = probe.shape { Some((id, over)) } else { None }
    }

    fn tints(schema: &SimSchema, over: &str) -> Vec<(ProbeId, &'static ProbeSpec)> {
        fields::over(schema, over, |m| m != Meaning::Mask)
    }

    /// Who is drawn: as chosen, else those that left somebody behind as soon as there are many.
    fn show(&self) -> Show {
        self.show.unwrap_or(if self.forest.lines.len() > MANY { Show::Survivors } else { Show::All })
    }

    /// The lines that stand out by themselves.
    fn marked(&self, selected: &[u32]) -> Vec<u32> {
        let mut all: Vec<u32> = selected.iter().filter_map(|e| self.forest.at_place(*e)).chain(self.focus).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Keeps the last value seen of every line that lives.
    fn note_worth(&mut self) {
        let Some(values) = self.tint.and_then(|t| self.fields.get(t)) else { return };
        self.worth.resize(self.forest.lines.len(), f32::NAN);
        let living = self.forest.lines.iter().zip(&mut self.worth).filter(|(l, _)| l.gone == forest::ALIVE);
        for (line, worth) in living {
            if let Some(value) = line.place.and_then(|p| values.get(p as usize)).filter(|v| v.is_finite()) {
                *worth = *value;
            }
        }
    }

    fn caption(&self, is_filtered: bool) -> String {
        let (totals, picture) = (self.forest.totals, &self.studio.picture);
        let drawn = kit::thousands(picture.n_drawn as u64);
        let mut text = format!("{drawn} of {} lines", kit::thousands(totals.lines));
        text += &format!("  |  {} alive", kit::thousands(self.forest.n_alive as u64));
        let counted = [("•", totals.splits, "splits"), ("◆", totals.merges, "merges"), ("×", totals.deaths, "deaths")];
        for (mark, n, what) in counted {
            text += &format!("  |  {mark} {} {what}", kit::thousands(n));
        }
        if picture.n_drawn > SINGLES {
            text += "  |  density, log";
        }
        // Nobody listens before the view is first on screen, or its probe is recorded.
        if let Some(first) = self.forest.lines.first().filter(|l| l.born > 0 && totals.forgotten == 0) {
            text += &format!("  |  followed from step {} on", kit::thousands(first.born));
        }
        if is_filtered {
            text += "  |  those the filter shows, and what they came out of";
        }
        if totals.forgotten > 0 {
            text += &format!("  |  {} extinct lines no longer in memory", kit::thousands(totals.forgotten));
        }
        text
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, over: &str) {
        let mut show = self.show();
        let options = [(Show::All, "all"), (Show::Survivors, "survivors"), (Show::Relatives, "relatives")];
        let options = options.map(|(show, text)| (show, text.to_owned()));
        if kit::choice_ui(ui, ctx.tokens, "Show", &mut show, &options) {
            self.show = Some(show);
            self.window = None;
        }
        let mut tints = vec![(None, "founder".to_owned())];
        tints.extend(Self::tints(ctx.schema, over).into_iter().map(|(id, p)| (Some(id), fields::label(p))));
        if kit::choice_ui(ui, ctx.tokens, "Colour", &mut self.tint, &tints) {
            self.worth.clear();
        }
        self.fields.range_ui(ui, ctx, self.tint);
        ui.separator();
        ui.toggle_value(&mut self.relatives.ancestors, "Ancestors").on_hover_text("With a line, all it came out of");
        let hint = "With a line, all who came out of it";
        ui.toggle_value(&mut self.relatives.descendants, "Descendants").on_hover_text(hint);
        if ui.button("Fit").on_hover_text("Show everything (double-click)").clicked() {
            self.window = None;
        }
    }

    fn wish(&self, canvas: Rect, ctx: &ViewCtx<'_>, over: &str) -> Wish {
        let filter = ctx.filter.shown();
        Wish {
            generation: self.generation,
            show: self.show(),
            admitted: Admitted { generation: filter.generation, mask: filter.shared(over) },
            relatives: self.relatives,
            marked: self.marked(ctx.selection.of(over)),
            cells: [canvas.width(), canvas.height()].map(|side| (side as usize).clamp(8, 4096)),
            window: self.window,
            now: self.now,
            dark: ctx.tokens.dark,
        }
    }

    /// Brings lanes and relatives up to date.
    fn update(&mut self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>, over: &str) {
        let time = ui.input(|i| i.time);
        let is_due = !ctx.running || time - self.last_made > EVERY_SECS;
        let wish = self.wish(canvas, ctx, over);
        let before = self.studio.is_busy();
        self.studio.update(ui.ctx(), &self.forest, wish, is_due);
        if self.studio.is_busy() && !before {
            self.last_made = time;
        }
    }
}

impl View for Lineage {
    fn name(&self) -> &'static str {
        "lineage"
    }

    fn title(&self, _: &SimSchema) -> String {
        "Lineage".into()
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        let Some((id, _)) = Self::probe(schema) else { return vec![] };
        self.tint.into_iter().chain([id]).map(tap).collect()
    }

    fn reset(&mut self, _: &SimSchema) {
        let (show, relatives, tint) = (self.show, self.relatives, self.tint);
        let generation = self.generation + 1;
        *self = Self { show, relatives, tint, generation, ..Self::default() };
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let Some((id, _)) = Self::probe(schema) else { return };
        self.now = frame.clock.step;
        if let Some(Reading::Lineage(events)) =
            frame.reading(id).filter(|r| !matches!(r, Reading::Lineage(e) if e.is_empty()))
        {
            let forgotten = self.forest.totals.forgotten;
            Arc::make_mut(&mut self.forest).absorb(events);
            self.generation += 1;
            if self.forest.totals.forgotten != forgotten {
                (self.focus, self.hovered, self.menu_line, self.studio) = (None, None, None, Studio::default());
                self.worth.clear();
            }
        }
        let wanted: Vec<ProbeId> = self.tint.into_iter().collect();
        if self.fields.absorb(frame, &wanted) {
            self.note_worth();
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some((_, over)) = Self::probe(ctx.schema) else {
            let canvas = ui.available_rect_before_wrap();
            let how = "This view shows who came out of whom";
            kit::empty_ui(ui, canvas, ctx, "Nobody is born here", how, None);
            return;
        };
        let set = ctx.schema.set(over).cloned();
        let is_filtered = ctx.filter.shown().mask(over).is_some();
        let caption = self.caption(is_filtered);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx, over));
        if self.forest.lines.is_empty() {
            return run_ui(ui, canvas, ctx, "No births yet", "This run has no splits, merges or deaths so far");
        }
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let plot = Rect::from_min_max(canvas.min + Vec2::new(10.0, 6.0), canvas.max - Vec2::new(12.0, 22.0));
        self.update(ui, plot, ctx, over);
        if !self.studio.has_picture() {
            kit::empty_ui(ui, canvas, ctx, "Laying out the lines…", "This takes a moment", None);
            return;
        }
        if self.studio.picture.n_drawn == 0 && is_filtered {
            kit::empty_ui(ui, canvas, ctx, "Nobody is shown", "The filter hides all who live", None);
            return;
        }
        self.pointer_ui(ui, plot, set.as_deref(), ctx);
        self.paint(ui, canvas, plot, ctx);
    }

    fn toggle_range(&mut self, schema: &SimSchema, tints: &mut Tints) -> Option<bool> {
        self.fields.toggle_range(schema, self.tint?, tints)
    }

    fn gestures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("click", "mark"),
            ("drag", "move"),
            ("wheel", "zoom"),
            ("double-click", "everything"),
            ("right click", "menu"),
        ]
    }

    fn help(&self) -> &'static str {
        "# Lineage\n\nOne line per individual, from its birth to its death; time runs to the right. A dot is a split, a \
         diamond a merge, a cross a death that left nobody behind. Families stay together. *Survivors* are those who \
         live and all they came out of. Above 12,000 lines the picture is a density on a logarithmic scale.\n\n\
         - click: mark a line; one that lives is selected everywhere · Ctrl+click: add\n\
         - right click: what can be done with it, and with those who live of its descendants\n\
         - drag: move · wheel: zoom both ways · Ctrl+wheel: time · Shift+wheel: lanes\n\
         - double-click: show everything"
    }
}

fn label(forest: &Forest, set: Option<&ElementSet>, line: u32) -> String {
    let line = &forest.lines[line as usize];
    let place = line.place.map(|p| set.map_or_else(|| format!("#{p}"), |s| s.label(p)));
    match place {
        Some(place) if line.name.is_empty() => format!("{} at {place}", line.label()),
        _ => line.label(),
    }
}
