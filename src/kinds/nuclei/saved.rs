//! Saved states. A saved state and the parameters suffice to continue bit for bit. The state does not depend on the number of
//! threads, nor, in the same precision, on the backend.

use super::{
    host_state::HostState,
    ledger::Ledger,
    lineage::SavedIds,
    real::Real,
    state::{FOUNDER, State},
};
use crate::{
    num::hash::StreamHash,
    sim::{Buffers as _, SimError, Snapshot, snapshot::misfit},
};

const MODEL: &str = "nuclei";

/// Contents of a saved state.
pub struct Saved<T> {
    /// Number of generations simulated.
    pub step: u64,
    pub state: State<T>,
    ledger: Ledger,
    sampled: Ledger,
    hash: StreamHash,
    ids: Option<SavedIds>,
}

/// Creates a snapshot from a copy of the state, reusing its memory. Weights of free slots are omitted. Fails if a
/// buffer of the state cannot be read.
pub fn write<T: Real>(host: &HostState, mut state: State<T>) -> Result<Snapshot, SimError> {
    let mut out = Snapshot::new(MODEL);
    out.number("step", host.step);
    out.number("hash", host.sampler.hash.0);
    for (name, ledger) in [("totals", &host.ledger), ("sampled_totals", &host.sampler.sampled)] {
        out.list(name, ledger.entries().map(|(_, n)| n).to_vec());
    }
    let (n, dim, stride) = (state.n(), state.dim, state.stride);
    // Rows only move forward, so that they can be packed in place.
    for (row, slot) in state.idx.iter().enumerate() {
        let from = *slot as usize * stride;
        state.w.copy_within(from..from + dim, row * dim);
    }
    state.w.truncate(n * dim);
    out.array("w", &[n, dim], std::mem::take(&mut state.w));
    let of = |values: &[u32]| state.idx.iter().map(|slot| values[*slot as usize]).collect();
    out.list("birth", of(&state.birth));
    out.list("parent", state.idx.iter().map(|slot| state.parent[*slot as usize]).collect());
    out.list("frozen", state.idx.iter().map(|slot| state.frozen[*slot as usize]).collect());
    let ids = host.sampler.lineage.save(&state.idx);
    out.number("lineage.next", ids.next);
    out.list("lineage.ids", ids.ids);
    out.list("lineage.births", ids.births);
    out.list("slots", std::mem::take(&mut state.idx));
    state.save(&state.sizes(), &mut out)?;
    Ok(out)
}

/// Reads a state for a table with the sizes of `like`. Fails if model or sizes differ, or the contents are inconsistent.
pub fn parse<T: Real>(like: &State<T>, from: &Snapshot) -> Result<Saved<T>, SimError> {
    from.expect_model(MODEL)?;
    let inconsistent = || misfit("it is inconsistent");
    let (step, hash) = (from.read_number("step")?, StreamHash(from.read_number("hash")?));
    let ledger = |name| {
        let values: [u64; 7] = from.read(name, &[7])?.try_into().unwrap_or_default();
        Ok::<_, SimError>(Ledger::from_values(values))
    };
    let (ledger, sampled) = (ledger("totals")?, ledger("sampled_totals")?);
    let mut state = State::with_fields(like.capacity, like.dim, like.fields)?;
    state.load(&like.sizes(), from)?;
    let living: Vec<u32> = from.read_list("slots")?;
    if !living.is_sorted_by(|a, b| a < b) || living.last().is_some_and(|slot| *slot as usize >= like.capacity) {
        return Err(inconsistent());
    }
    let n = living.len();
    let (birth, parent) = (from.read::<u32>("birth", &[n])?, from.read::<i32>("parent", &[n])?);
    let frozen = from.read::<u8>("frozen", &[n])?;
    // Packed rows move back to their slots, last row first.
    from.copy("w", &[n, like.dim], &mut state.w[..n * like.dim])?;
    for (row, slot) in living.iter().enumerate().rev() {
        let (from, to) = (row * like.dim, *slot as usize * like.stride);
        state.w.copy_within(from..from + like.dim, to);
        let i = *slot as usize;
        (state.alive[i], state.birth[i], state.parent[i]) = (1, birth[row], parent[row]);
        state.frozen[i] = u8::from(frozen[row] != 0);
    }
    for slot in (0..like.capacity).filter(|slot| state.alive[*slot] == 0) {
        state.w[slot * like.stride..][..like.stride].fill(T::ZERO);
    }
    for slot in &living {
        state.w[*slot as usize * like.stride..][like.dim..like.stride].fill(T::ZERO);
    }
    state.compact();
    let ids = match from.get("lineage.next") {
        None => None,
        Some(_) => Some(SavedIds {
            next: from.read_number("lineage.next")?,
            ids: from.read("lineage.ids", &[n])?,
            births: from.read("lineage.births", &[n])?,
        }),
    };
    let parents_fit = state.parent.iter().all(|p| (FOUNDER..like.capacity as i32).contains(p));
    let ids_fit = ids.as_ref().is_none_or(|saved| saved.ids.iter().all(|id| *id < saved.next));
    if !parents_fit || !ids_fit || ledger.checked_n() != Some(state.n() as u64) || !sampled.precedes(&ledger) {
        return Err(inconsistent());
    }
    Ok(Saved { step, state, ledger, sampled, hash, ids })
}

impl<T: Real> Saved<T> {
    /// Restores the host state. Returns the population for the backend.
    pub fn restore(self, host: &mut HostState) -> State<T> {
        host.begin(self.step, &self.state.idx);
        host.ledger = self.ledger;
        host.sampler.resume(self.hash, self.sampled, self.step, &self.state.idx, self.ids);
        self.state
    }
}
