//! Overhead of the events around a launch, measured on the device and subtracted from measured times.
//!
//! Two events enclose more than the kernel: the device ends the first event, fetches the launch, and waits for all blocks
//! before it writes the second event. An empty kernel between two events takes the same overhead, which is subtracted. The
//! difference is the time that a kernel takes beyond an empty one, and needs no constant per machine.

use super::{Gpu, GpuError, Pass, error::Doing as _, kernel::Size};
use crate::kernels;
use cudarc::driver::{CudaEvent, sys::CUevent_flags};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

kernels! {
    /// Launches of known work.
    pub struct Kernels in "common/launch_cost.cu" {
        /// An empty kernel: launch overhead.
        #[block(32)]
        fn do_nothing as DoNothing(unused: Size<u32>);

        /// Waits for `nanos` nanoseconds.
        #[block(32)]
        fn wait_nanos as WaitNanos(nanos: Size<u32>);
    }
}

/// Number of launches per round.
const LAUNCHES: usize = 64;
/// Maximum number of rounds: a device that was idle may still be raising its clock.
const ROUNDS: usize = 24;
/// Time that the device waits while a round is queued, nanoseconds: the first value tried, and the value after which the
/// measurement is abandoned.
const WAITS: (u32, u32) = (500_000, 8_000_000);

/// Measured overhead by device ordinal, nanoseconds. It is measured once per process, before any other work is issued to the
/// device.
static MEASURED: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());

/// Returns the time by which events lengthen a measured launch, nanoseconds. If the measurement fails, logs the reason and
/// returns 0.
pub(super) fn nanos_added_by_events(gpu: &Arc<Gpu>) -> u64 {
    let mut known = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(gpu.ordinal).or_insert_with(|| {
        let nanos = measure(gpu);
        match &nanos {
            Ok(Some(nanos)) => {
                tracing::debug!("events add {nanos} ns to a measured launch; times of kernels are without them");
            }
            Ok(None) => tracing::info!("times of kernels are with what events add: launches are not queued"),
            Err(why) => tracing::info!("times of kernels are with what events add: {why}"),
        }
        nanos.ok().flatten().unwrap_or(0)
    })
}

/// Measures the overhead, nanoseconds; `None` if no wait is long enough to queue a round.
fn measure(gpu: &Arc<Gpu>) -> Result<Option<u64>, GpuError> {
    let kernels = Kernels::load(gpu)?;
    let (mut wait, longest) = WAITS;
    let mut rounds = vec![];
    while wait <= longest && !is_settled(&rounds) {
        match round(gpu, &kernels, wait)? {
            Some(mut nanos) => rounds.push(typical(&mut nanos)),
            None => wait *= 2,
        }
    }
    Ok(rounds.into_iter().min())
}

/// Returns the times between neighbouring events around empty kernels, nanoseconds; `None` if the device did not wait until all
/// launches were queued.
fn round(gpu: &Arc<Gpu>, kernels: &Kernels, wait: u32) -> Result<Option<Vec<u64>>, GpuError> {
    let doing = || "measuring what events add to a launch".to_owned();
    let event = |_| gpu.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let events: Vec<CudaEvent> = (0..=LAUNCHES).map(event).collect::<Result<_, _>>().doing(doing)?;
    let mut pass = Pass::default();
    WaitNanos { nanos: wait }.launch(kernels, &mut pass, 1)?;
    for event in &events[..LAUNCHES] {
        event.record(&gpu.compute).doing(doing)?;
        DoNothing { unused: 0 }.launch(kernels, &mut pass, 32)?;
    }
    events[LAUNCHES].record(&gpu.compute).doing(doing)?;
    let is_full = !events[0].try_is_complete().doing(doing)?;
    gpu.compute.synchronize().doing(doing)?;
    let between = |pair: &[CudaEvent]| pair[0].elapsed_ms(&pair[1]).map(|ms| (f64::from(ms.max(0.0)) * 1e6) as u64);
    let nanos = events.windows(2).map(between).collect::<Result<_, _>>().doing(doing)?;
    Ok(is_full.then_some(nanos))
}

/// Returns the lower octile of times, because other work of the device makes times longer, never shorter; 0 without times.
fn typical(nanos: &mut [u64]) -> u64 {
    nanos.sort_unstable();
    nanos.get(nanos.len() / 8).copied().unwrap_or(0)
}

/// Whether the last two rounds were at most a thirty-second faster than the rounds before them, or [`ROUNDS`] rounds were
/// measured.
fn is_settled(rounds: &[u64]) -> bool {
    let Some((before, last)) = rounds.split_last_chunk::<2>() else { return false };
    let least = |rounds: &[u64]| rounds.iter().copied().min();
    let is_least = |before: u64| last.iter().all(|nanos| nanos + before / 32 >= before);
    rounds.len() >= ROUNDS || least(before).is_some_and(is_least)
}

/// Returns the time of one of `repeats` launches between two events, without the overhead `added`, nanoseconds.
pub(super) const fn without_events(nanos: u64, added: u64, repeats: u32) -> u64 {
    nanos.saturating_sub(added) / repeats as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_events_add_is_taken_off_once_and_never_more_than_there_is() {
        let of = [(37_700, 1), (3_500, 1), (3_400, 1), (103_500, 100), (0, 1)];
        assert_eq!(of.map(|(nanos, repeats)| without_events(nanos, 3_500, repeats)), [34_200, 0, 0, 1_000, 0]);
        assert_eq!(without_events(37_700, 0, 1), 37_700, "not measured");
    }

    #[test]
    fn a_round_that_is_disturbed_most_of_the_time_has_its_undisturbed_time() {
        let mut nanos: Vec<u64> = (0..64).map(|i| if i % 5 == 0 { 3_500 + i } else { 9_000 + 700 * i }).collect();
        assert!((3_500..3_564).contains(&typical(&mut nanos)));
        let mut one_short = vec![3_500; 64];
        one_short[17] = 200;
        assert_eq!(typical(&mut one_short), 3_500);
        assert_eq!(typical(&mut []), 0);
    }

    #[test]
    fn rounds_end_when_times_no_longer_fall() {
        let rounds_of = |nanos: fn(usize) -> u64| {
            let mut rounds = vec![];
            while !is_settled(&rounds) {
                rounds.push(nanos(rounds.len()));
            }
            (rounds.len(), rounds.into_iter().min().unwrap())
        };
        assert_eq!(rounds_of(|_| 3_500), (3, 3_500));
        assert_eq!(rounds_of(|i| 3_500 + i as u64 % 2 * 100), (3, 3_500));
        let raises_its_clock = |i: usize| if i < 5 { 9_000 - 1_000 * i as u64 } else { 3_500 };
        assert_eq!(rounds_of(raises_its_clock), (8, 3_500));
        assert_eq!(rounds_of(|i| 1 << (40 - i)), (ROUNDS, 1 << (41 - ROUNDS)), "an end in any case");
    }
}
