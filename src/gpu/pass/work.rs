//! Work counts of launches: items, bytes and operations, set by the launcher after the launch.

use super::Pass;

impl Pass {
    /// Sets the number of items of the last measured launch.
    pub fn last_items(&mut self, items: u64) {
        if let Some(launch) = self.pending.last_mut() {
            launch.flight.span.items = items;
        }
    }

    /// Marks the last measured span as `repeats` repetitions of one launch.
    pub fn last_repeats(&mut self, repeats: u32) {
        if let Some(launch) = self.pending.last_mut() {
            launch.repeats = repeats.max(1);
        }
    }

    /// Sets the number of items of unfinished launches by kernel name, if it is 0.
    pub fn items_of(&mut self, items: impl Fn(&'static str) -> u64) {
        for span in self.pending.iter_mut().map(|p| &mut p.flight.span).filter(|span| span.items == 0) {
            span.items = items(span.name);
        }
    }

    /// Sets the number of bytes that the last measured launch moved.
    pub fn last_bytes(&mut self, bytes: u64) {
        if let Some(launch) = self.pending.last_mut() {
            launch.flight.span.bytes = bytes;
        }
    }

    /// Sets items, bytes moved and floating-point operations of the last launch, if it is measured.
    pub fn last_work(&mut self, items: u64, bytes: u64, ops: u64) {
        if self.profiled
            && let Some(launch) = self.pending.last_mut()
        {
            let span = &mut launch.flight.span;
            (span.items, span.bytes, span.ops) = (items, bytes, ops);
        }
    }
}
