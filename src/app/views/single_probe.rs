//! Views that show the latest data of a single probe. The adapter [`SingleProbe`] chooses and taps the probe and draws the parts
//! that these panels share.

use super::{View, ViewCtx, ViewDeclaration, chosen::ChosenProbe, run_ui, unfit_ui};
use crate::{
    app::{
        document::{color_scales::ColorScales, selection::Selection},
        kit,
    },
    engine::{SchemaChanges, SimSchema},
    sim::{Frame, ProbeId, ProbeSpec, Reading, Shape, Tap},
};
use egui::{Rect, Ui};

/// Contents of a [`SingleProbe`] view: the data of the probe and their drawing.
pub trait ProbeContents: Default + 'static {
    const DECLARATION: ViewDeclaration;
    /// Label of the menu of probes.
    const MENU: &'static str;
    /// Title and explanation of the state without a probe.
    const NO_PROBE: [&'static str; 2];

    /// Whether a probe of this shape can be shown.
    fn is_shown(shape: &Shape) -> bool;
    /// Discards the data.
    fn clear(&mut self);
    /// Handles a change of the schema while the simulation runs. Keeps the data by default.
    fn schema_changed(&mut self, probe: &ProbeSpec, changes: &SchemaChanges) {
        let _ = (probe, changes);
    }
    /// Receives a reading of the chosen probe.
    fn take(&mut self, reading: &Reading);
    /// Returns the colour range of the data; `None` without one, and by default.
    fn range(&self) -> Option<(f32, f32)> {
        None
    }
    /// Returns the caption. Called first in each pass.
    fn caption(&mut self, probe: &ProbeSpec, ctx: &ViewCtx<'_>) -> String;
    /// Draws the controls of the toolbar before the menu of probes; none by default.
    fn mode_ui(&mut self, ui: &mut Ui) {
        let _ = ui;
    }
    /// Draws the controls of the toolbar after the menu of probes.
    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, probe: &ProbeSpec);
    /// Returns the notice that is shown instead of the contents; `None` if there are data.
    fn notice(&self, probe: &ProbeSpec, ctx: &ViewCtx<'_>) -> Option<Notice>;
    /// Draws the contents.
    fn contents_ui(&mut self, ui: &mut Ui, canvas: Rect, probe: &ProbeSpec, ctx: &mut ViewCtx<'_>);
}

/// Notice of a view without data: its title and how to get data.
pub enum Notice {
    /// The view needs a running simulation, see [`run_ui`].
    NeedsRun(&'static str, &'static str),
    /// There are data, but none to show.
    Empty(&'static str, &'static str),
}

/// View that shows a single probe.
#[derive(Default)]
pub struct SingleProbe<C> {
    chosen: ChosenProbe,
    contents: C,
}

impl<C: ProbeContents> SingleProbe<C> {
    fn probe(&self, schema: &SimSchema) -> Option<&'static ProbeSpec> {
        self.chosen.probe(schema, C::is_shown).map(|(_, probe)| probe)
    }
}

impl<C: ProbeContents> View for SingleProbe<C> {
    fn declaration(&self) -> &'static ViewDeclaration {
        &C::DECLARATION
    }

    fn title(&self, schema: &SimSchema) -> String {
        self.probe(schema).map_or_else(|| C::DECLARATION.title.to_owned(), |probe| probe.label().into_owned())
    }

    fn taps(&self, schema: &SimSchema, _: &Selection) -> Vec<Tap> {
        self.chosen.tap(schema, C::is_shown).into_iter().collect()
    }

    fn choice(&self) -> Option<String> {
        self.chosen.to_text()
    }

    fn choose(&mut self, schema: &SimSchema, text: &str) {
        self.chosen.choose(schema, text);
    }

    fn show_probe(&mut self, schema: &SimSchema, probe: ProbeId) {
        if let Some(spec) = schema.probes.get(usize::from(probe)) {
            self.chosen.choose(schema, spec.name);
        }
    }

    fn reset(&mut self, _: &SimSchema) {
        self.contents.clear();
    }

    fn schema_changed(&mut self, schema: &SimSchema, changes: &SchemaChanges) {
        if let Some(probe) = self.probe(schema) {
            self.contents.schema_changed(probe, changes);
        }
    }

    fn absorb(&mut self, schema: &SimSchema, frame: &Frame) {
        let tap = self.chosen.tap(schema, C::is_shown);
        if let Some(reading) = tap.and_then(|tap| frame.reading(tap.key())) {
            self.contents.take(reading);
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(probe) = self.probe(ctx.schema) else { return unfit_ui(ui, ctx, C::NO_PROBE) };
        let Self { chosen, contents } = self;
        let caption = contents.caption(probe, ctx);
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            contents.mode_ui(ui);
            if chosen.ui(ui, ctx, C::MENU, C::is_shown) {
                contents.clear();
            }
            contents.toolbar_ui(ui, ctx, probe);
        });
        match contents.notice(probe, ctx) {
            Some(Notice::NeedsRun(title, how)) => return run_ui(ui, canvas, ctx, title, how),
            Some(Notice::Empty(title, how)) => {
                kit::empty_ui(ui, canvas, ctx, title, how, None);
                return;
            }
            None => {}
        }
        if kit::fill_ui(ui, canvas, ctx.tokens) {
            contents.contents_ui(ui, canvas, probe, ctx);
        }
    }

    fn toggle_range(&mut self, schema: &SimSchema, color_scales: &mut ColorScales) -> Option<bool> {
        Some(color_scales.toggle(self.probe(schema)?.name, self.contents.range()?))
    }
}
