//! Bytes of saved states: little-endian numbers and lists.

use crate::sim::SimError;

/// Error about a state that cannot be loaded.
pub fn broken(why: &str) -> SimError {
    SimError::Input(format!("the saved state does not fit: {why}"))
}

/// Serialises numbers and lists.
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

/// Parses what a [`Writer`] wrote.
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

    /// A list of items of at least `size` bytes each: a wrong length is an error before memory is allocated.
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
