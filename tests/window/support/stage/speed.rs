//! A view beside a fast simulation and in playback, and the texts that it draws.

use super::Stage;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use neuropil::{
    app::document::time::Time,
    sim::{Clock, Frame},
};

impl Stage {
    /// Indexes spikes on a thread, as the window does, and shows this many steps.
    pub fn indexed(mut self, steps: u64) -> Self {
        let mut time = Time::with_indexer(self.harness().ctx.clone());
        time.expect(Some(steps), Clock::seconds(0, 1e-4).base);
        self.harness().state_mut().time = time;
        self
    }

    /// Shows the steps of a finished run, with the cursor at its end.
    pub fn show_recorded(&mut self, first: u64, last: u64) {
        let axis = &mut self.harness().state_mut().time.axis;
        axis.is_recorded = true;
        axis.set_cursor(last as f64);
        axis.line.show(first as f64, last as f64);
        self.run(12);
    }

    /// Gives an indexed view a frame as a window that is slower than the simulation receives it: the spikes of the frames
    /// before have arrived, those of this one have not. Then draws.
    pub fn absorb_ahead(&mut self, frame: Frame) {
        let ctx = self.harness().ctx.clone();
        let time = &mut self.harness().state_mut().time;
        while !time.past.is_indexed() || neuropil::app::kit::pool::is_busy(&ctx) {
            std::thread::yield_now();
        }
        time.past.update();
        self.absorb(frame);
        self.run(1);
    }

    /// All texts of the last frame.
    pub fn painted_texts(&mut self) -> Vec<String> {
        let mut texts = self.painted_below(-1e6);
        texts.extend(self.labels());
        texts
    }

    /// The values of all labels.
    fn labels(&mut self) -> Vec<String> {
        let nodes = self.harness().get_all_by_role(egui::Role::Label);
        nodes.filter_map(|n| n.accesskit_node().value()).collect()
    }
}
