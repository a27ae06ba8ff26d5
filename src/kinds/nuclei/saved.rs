//! Saved states: with the parameters, sufficient to continue bit for bit. Independent of the number of threads, and of the
//! backend in the same precision.

use super::{
    host_state::HostState,
    ledger::Ledger,
    real::Real,
    state::{FOUNDER, State},
};
use crate::{
    kinds::saved::{Reader, Writer, broken},
    num::hash::StreamHash,
    sim::SimError,
};

const MAGIC: &[u8; 8] = b"npnucle\x01";

/// A saved state.
pub struct Saved<T> {
    /// Generations simulated.
    pub step: u64,
    /// The population.
    pub state: State<T>,
    ledger: Ledger,
    sampled: Ledger,
    hash: StreamHash,
}

/// Floating-point arrays of a state, in the order in which they are saved.
fn arrays<T>(state: &mut State<T>) -> [&mut Vec<T>; 10] {
    let State { phi, amp, omega, spike, f, h, s_re, s_im, d, r_local, .. } = state;
    [phi, amp, omega, spike, f, h, s_re, s_im, d, r_local]
}

/// Writes a state.
pub fn write<T: Real>(host: &HostState, state: &State<T>) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    [T::BYTES, state.capacity, state.dim].into_iter().for_each(|x| out.u32(x as u32));
    out.u64(host.step);
    out.u64(host.sampler.hash.0);
    for ledger in [&host.ledger, &host.sampler.sampled] {
        ledger.entries().into_iter().for_each(|(_, x)| out.u64(x));
    }
    out.list(&state.idx, Writer::u32);
    for slot in &state.idx {
        let i = *slot as usize;
        out.u32(state.birth[i]);
        out.u32(state.parent[i] as u32);
        out.u32(state.frozen[i].into());
        state.row(*slot).iter().for_each(|w| real(&mut out, *w));
    }
    let mut copy = State { w: vec![], ..state.clone() };
    for array in arrays(&mut copy) {
        array.iter().for_each(|x| real(&mut out, *x));
    }
    state.more.iter().for_each(|x| real(&mut out, *x)); // empty with one phase field
    out.0
}

fn real<T: Real>(out: &mut Writer, x: T) {
    if T::BYTES == 4 { out.u32(x.to_bits() as u32) } else { out.u64(x.to_bits()) }
}

fn take<T: Real>(r: &mut Reader<'_>) -> Result<T, SimError> {
    Ok(T::from_bits(if T::BYTES == 4 { r.u32()?.into() } else { r.u64()? }))
}

/// Reads a state for a table of the size of `like`, which is not changed.
pub fn parse<T: Real>(like: &State<T>, bytes: &[u8]) -> Result<Saved<T>, SimError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(broken("it is not a state of the nuclei kind, or it has an unsupported version"));
    };
    let mut r = Reader(body);
    let sizes = [(T::BYTES, "precision"), (like.capacity, "capacity"), (like.dim, "number of weights")];
    for (size, what) in sizes {
        if r.u32()? as usize != size {
            return Err(broken(&format!("it was saved with a different {what}")));
        }
    }
    let (step, hash) = (r.u64()?, StreamHash(r.u64()?));
    let mut ledger = || {
        let values: Result<Vec<u64>, SimError> = (0..7).map(|_| r.u64()).collect();
        let values: [u64; 7] = values?.try_into().unwrap_or_default();
        Ok::<_, SimError>(Ledger::from_values(values))
    };
    let (ledger, sampled) = (ledger()?, ledger()?);
    let mut state = State::with_fields(like.capacity, like.dim, like.fields);
    let living = r.list(4, Reader::u32)?;
    if !living.is_sorted_by(|a, b| a < b) || living.last().is_some_and(|slot| *slot as usize >= like.capacity) {
        return Err(broken("it is inconsistent"));
    }
    for slot in living {
        let i = slot as usize;
        state.alive[i] = 1;
        (state.birth[i], state.parent[i]) = (r.u32()?, r.u32()? as i32);
        state.frozen[i] = u8::from(r.u32()? != 0);
        for d in 0..like.dim {
            state.row_mut(slot)[d] = take(&mut r)?;
        }
    }
    for array in arrays(&mut state) {
        for x in array {
            *x = take(&mut r)?;
        }
    }
    for x in &mut state.more {
        *x = take(&mut r)?;
    }
    state.compact();
    let parents_fit = state.parent.iter().all(|p| (FOUNDER..like.capacity as i32).contains(p));
    if !r.0.is_empty() || !parents_fit || ledger.checked_n() != Some(state.n() as u64) || !sampled.precedes(&ledger) {
        return Err(broken("it is inconsistent"));
    }
    Ok(Saved { step, state, ledger, sampled, hash })
}

impl<T: Real> Saved<T> {
    /// Restores the host state, and returns the population for the backend.
    pub fn restore(self, host: &mut HostState) -> State<T> {
        host.begin(self.step, &self.state.idx);
        host.ledger = self.ledger;
        host.sampler.resume(self.hash, self.sampled, self.step, &self.state.idx);
        self.state
    }
}
