//! Little-endian bytes of saved states, and the part of them that is the meter's.

use super::measure::{Bin, Meter, Running};
use crate::sim::SimError;

/// A state that cannot be taken up, and why.
pub fn broken(why: &str) -> SimError {
    SimError::Input(format!("the saved state does not fit: {why}"))
}

/// Appends numbers and lists.
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Four bytes.
    pub fn u32(&mut self, x: u32) {
        self.0.extend(x.to_le_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, x: u64) {
        self.0.extend(x.to_le_bytes());
    }

    /// A length, then the items.
    pub fn list<X: Copy>(&mut self, items: &[X], mut put: impl FnMut(&mut Self, X)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|x| put(self, *x));
    }
}

/// Takes back what a [`Writer`] wrote.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], SimError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or_else(|| broken("it ends too early"))?;
        self.0 = tail;
        Ok(*head)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, SimError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, SimError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A list whose items take at least `size` bytes each: a broken length is noticed before memory is asked for.
    pub fn list<X>(
        &mut self,
        size: usize,
        mut take: impl FnMut(&mut Self) -> Result<X, SimError>,
    ) -> Result<Vec<X>, SimError> {
        let len = self.u32()? as usize;
        if self.0.len() < len.saturating_mul(size) {
            return Err(broken("it ends too early"));
        }
        (0..len).map(|_| take(self)).collect()
    }
}

/// What a meter has counted.
pub struct Counted {
    totals: [u64; 4],
    bin: Bin,
    running: Vec<Running>,
}

impl Counted {
    /// Takes it back; `step` is the step of the state.
    pub fn read(r: &mut Reader<'_>, step: u64) -> Result<Self, SimError> {
        let totals = [r.u64()?, r.u64()?, r.u64()?, r.u64()?];
        let mut bin = Bin { since: r.u64()?, spikes: r.u64()?, events: r.u64()?, active: r.u64()?, classes: vec![] };
        bin.classes = r.list(8, Reader::u64)?;
        let running = r.list(8, |r| Ok(Running { hz: f32::from_bits(r.u32()?), step: r.u32()? }))?;
        if bin.since > step {
            return Err(broken("it contradicts itself"));
        }
        Ok(Self { totals, bin, running })
    }
}

impl Meter {
    /// Writes what it has counted.
    pub fn write(&self, out: &mut Writer) {
        [self.hash.0, self.spikes, self.events, self.active].into_iter().for_each(|x| out.u64(x));
        let bin = &self.bin;
        [bin.since, bin.spikes, bin.events, bin.active].into_iter().for_each(|x| out.u64(x));
        out.list(&bin.classes, Writer::u64);
        out.list(&self.running, |out, r| {
            out.u32(r.hz.to_bits());
            out.u32(r.step);
        });
    }

    /// Goes on from what was counted up to `step`. A bin of other categories, or averages of other neurons, start over.
    pub fn resume(&mut self, counted: Counted, step: u64) {
        [self.hash.0, self.spikes, self.events, self.active] = counted.totals;
        self.drop_unread();
        let classes = self.bin.classes.len();
        self.bin = if counted.bin.classes.len() == classes {
            counted.bin
        } else {
            Bin { since: step, classes: vec![0; classes], ..Bin::default() }
        };
        if counted.running.len() == self.running.len() {
            self.running = counted.running;
        } else {
            self.running.fill(Running::default());
        }
    }
}
