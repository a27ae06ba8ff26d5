//! What a simulation can show, as a list. Stands in until there are views for the shapes.

use super::{Selection, View, ViewCtx};
use crate::{
    engine::Exhibit,
    sim::{Frame, Tap},
};

/// The view.
#[derive(Default)]
pub struct Overview {
    spikes: usize,
}

impl View for Overview {
    fn name(&self) -> &'static str {
        "overview"
    }

    fn title(&self, _: &Exhibit) -> String {
        "Overview".into()
    }

    fn taps(&self, exhibit: &Exhibit, _: &Selection) -> Vec<Tap> {
        crate::project::spike_taps(exhibit.probes).collect()
    }

    fn reset(&mut self, _: &Exhibit) {
        self.spikes = 0;
    }

    fn absorb(&mut self, _: &Exhibit, frame: &Frame) {
        for (_, reading) in &frame.readings {
            if let crate::sim::Reading::Spikes(s) = reading {
                self.spikes += s.len();
            }
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>) {
        egui::Frame::new().fill(ctx.tokens.canvas).inner_margin(12).show(ui, |ui| {
            ui.set_min_size(ui.available_size());
            for set in &ctx.exhibit.sets {
                ui.label(format!("{} {}", set.len, set.name));
            }
            ui.label(format!("{} spikes", self.spikes));
        });
    }

    fn help(&self) -> &'static str {
        "What this simulation can show."
    }
}
