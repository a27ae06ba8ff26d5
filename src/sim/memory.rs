//! Memory of a simulation by buffer, with owner and kind of memory.

use crate::gpu::Place;
use std::ops::AddAssign;

/// Memory of one buffer, or of several buffers that are reported as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Part of the model that owns the buffer: `neurons`.
    pub owner: &'static str,
    /// Name within the owner: `anchors`.
    pub name: &'static str,
    /// Kind of memory.
    pub place: Place,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the simulation also runs, more slowly, if the buffer does not fit.
    pub is_optional: bool,
    /// Whether all simulations of one setup on a device use one copy of the buffer.
    pub is_shared: bool,
}

/// Memory in use or predicted, by buffer; empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport(Vec<Held>);

impl MemoryReport {
    /// Adds a buffer. Sizes of equal names are added.
    pub fn add(&mut self, owner: &'static str, name: &'static str, place: Place, bytes: u64) {
        self.add_held(Held { owner, name, place, bytes, is_optional: false, is_shared: false });
    }

    /// Adds a buffer without which the simulation also runs.
    pub fn add_optional(&mut self, owner: &'static str, name: &'static str, place: Place, bytes: u64) {
        self.add_held(Held { owner, name, place, bytes, is_optional: true, is_shared: false });
    }

    fn add_held(&mut self, new: Held) {
        let key = |held: &Held| (held.owner, held.name, held.place, held.is_optional, held.is_shared);
        match self.0.iter_mut().find(|held| key(held) == key(&new)) {
            Some(held) => held.bytes = held.bytes.saturating_add(new.bytes),
            None => self.0.push(new),
        }
    }

    /// Returns the report of the buffers that the simulation needs.
    pub fn required(&self) -> Self {
        Self(self.0.iter().filter(|held| !held.is_optional).copied().collect())
    }

    /// Adds host memory that is reported as a single entry.
    pub fn host(&mut self, owner: &'static str, bytes: u64) {
        self.add(owner, owner, Place::Host, bytes);
    }

    /// Returns the report with all buffers marked as shared.
    #[must_use]
    pub fn shared(self) -> Self {
        Self(self.0.into_iter().map(|held| Held { is_shared: true, ..held }).collect())
    }

    /// Returns the report of the buffers that another trial needs: without shared buffers, and without host buffers of owners that
    /// trials share.
    pub fn of_another_trial(&self, shared: &[&str]) -> Self {
        let is_own = |held: &&Held| !held.is_shared && (held.place != Place::Host || !shared.contains(&held.owner));
        Self(self.0.iter().filter(is_own).copied().collect())
    }

    /// Returns the report of `n` trials, which share the buffers marked so and the host memory of the given owners.
    pub fn of_trials(&self, n: u32, shared: &[&str]) -> Self {
        let mut all = self.clone();
        for held in self.of_another_trial(shared).0 {
            all.add_held(Held { bytes: held.bytes.saturating_mul(u64::from(n.saturating_sub(1))), ..held });
        }
        all
    }

    /// Iterates over the buffers in declaration order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Held> {
        self.0.iter()
    }

    /// Whether the report has no buffers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the total size, bytes.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, held| sum.saturating_add(held.bytes))
    }

    /// Returns the size in one kind of memory, bytes.
    pub fn on(&self, place: Place) -> u64 {
        self.0.iter().filter(|held| held.place == place).fold(0, |sum, held| sum.saturating_add(held.bytes))
    }

    /// Returns the report of the buffers on the device.
    pub fn of_device(&self) -> Self {
        Self(self.0.iter().filter(|held| held.place == Place::Device).copied().collect())
    }

    /// Returns the report of the buffers in host memory, pinned ones included.
    pub fn on_host(&self) -> Self {
        Self(self.0.iter().filter(|held| held.place != Place::Device).copied().collect())
    }

    /// Returns the bytes per owner, in declaration order.
    pub fn by_owner(&self) -> Vec<(&'static str, u64)> {
        let mut owners: Vec<(&'static str, u64)> = vec![];
        for held in &self.0 {
            match owners.iter_mut().find(|(owner, _)| *owner == held.owner) {
                Some((_, bytes)) => *bytes = bytes.saturating_add(held.bytes),
                None => owners.push((held.owner, held.bytes)),
            }
        }
        owners
    }

    /// Returns the owner with the most bytes; empty if the report has no buffers.
    pub fn largest(&self) -> &'static str {
        self.by_owner().into_iter().max_by_key(|(_, bytes)| *bytes).map_or("", |(owner, _)| owner)
    }

    /// Returns the buffers of an owner, largest first.
    pub fn of(&self, owner: &str) -> Vec<Held> {
        let mut all: Vec<Held> = self.0.iter().filter(|held| held.owner == owner).copied().collect();
        all.sort_by_key(|held| std::cmp::Reverse(held.bytes));
        all
    }
}

/// Creates a report of host memory by owner.
impl<const N: usize> From<[(&'static str, u64); N]> for MemoryReport {
    fn from(owners: [(&'static str, u64); N]) -> Self {
        let mut report = Self::default();
        owners.into_iter().for_each(|(owner, bytes)| report.host(owner, bytes));
        report
    }
}

impl AddAssign for MemoryReport {
    fn add_assign(&mut self, other: Self) {
        other.0.into_iter().for_each(|held| self.add_held(held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_summed_and_places_kept_apart() {
        let mut report = MemoryReport::from([("slots", 3), ("names", 0)]);
        report.add("slots", "ids", Place::Device, 5);
        report.add("ring", "spikes", Place::Pinned, u64::MAX);
        assert_eq!(report.by_owner(), [("slots", 8), ("names", 0), ("ring", u64::MAX)]);
        assert_eq!((report.total(), report.on(Place::Device), report.largest()), (u64::MAX, 5, "ring"));
        assert_eq!(report.of("slots").iter().map(|held| held.name).collect::<Vec<_>>(), ["ids", "slots"]);
        assert_eq!(report.of_device().largest(), "slots");
        let three = report.of_trials(3, &["slots"]);
        assert_eq!(three.by_owner(), [("slots", 3 + 3 * 5), ("names", 0), ("ring", u64::MAX)]);
        report.add_optional("slots", "ids", Place::Device, 7);
        assert_eq!((report.on(Place::Device), report.required().on(Place::Device)), (12, 5));
        let mut connections = MemoryReport::default();
        connections.add("connectivity", "words", Place::Device, 100);
        report += connections.shared();
        assert_eq!(report.of_trials(3, &[]).on(Place::Device), 100 + 3 * 12, "shared memory is counted once");
        assert_eq!(report.of_another_trial(&[]).on(Place::Device), 12);
    }
}
