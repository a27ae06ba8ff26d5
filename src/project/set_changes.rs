//! Follows changes of element sets in a run that is being written.

use super::{
    RunWriter, file,
    sets::{ElementTable, SetInfo, TABLE, bytes_of_ids, describe_set},
    writer::StreamFile,
};
use crate::{
    engine::SetChange,
    sim::{ElementSet, Shape, Tap},
};
use std::{io, sync::Arc};

impl RunWriter {
    /// Adds the new versions of the sets that changed after step `step`. The streams over these sets continue in further
    /// files. Fails if a file cannot be created.
    pub(super) fn follow_sets(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        let mut now = self.sets.clone();
        for set in sets {
            now.retain(|known| known.name != set.name);
            now.push(set.clone());
        }
        let changes = SetChange::between(&self.sets, &now);
        for set in sets {
            let number = 1 + self.manifest.sets.iter().filter(|s| s.name == set.name).count();
            let mut info =
                SetInfo { from_step: step.max(1), ..describe_set(set, &format!("{}-{number}.u64", set.name)) };
            if !info.ids.is_empty() {
                let file = self.create_file(&info.ids, &bytes_of_ids(set))?.info();
                self.written.push(file);
            }
            if let Some(table) = ElementTable::of(set) {
                let text = file::to_ron(&table).map_err(io::Error::other)?;
                info.table = format!("{}-{number}{TABLE}", set.name);
                let file = self.create_file(&info.table, text.as_bytes())?.info();
                self.written.push(file);
            }
            self.manifest.sets.push(info);
            match self.sets.iter_mut().find(|known| known.name == set.name) {
                Some(known) => *known = set.clone(),
                None => self.sets.push(set.clone()),
            }
        }
        let of_changed = |this: &Self, f: &StreamFile| {
            let shape = this.probes.get(usize::from(f.tap.probe)).map(|p| p.shape);
            let is_over = |over: &str| sets.iter().any(|set| set.name == over);
            matches!(shape, Some(Shape::Field { over, .. } | Shape::Series { of: over }) if is_over(over))
        };
        // The ended segments keep their former elements.
        let before: Vec<_> = self.files.iter().filter(|f| of_changed(self, f)).map(|f| f.tap.clone()).collect();
        let mut taps = before.clone();
        SetChange::follow_taps(&changes, self.probes, &mut taps);
        let now = |tap: &Tap| before.iter().position(|b| b == tap).map_or_else(|| tap.clone(), |i| taps[i].clone());
        self.begin_segments_of(step, &[], of_changed, now)
    }
}
