//! Thread that indexes spikes. The window's thread only sends batches and takes finished snapshots.

use super::Train;
use crate::sim::{ProbeId, Spike};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// Maximum number of spikes that wait for the indexer (256 MB). Further spikes are dropped and counted as not recorded.
const MAX_PENDING: usize = 32_000_000;
/// Maximum number of batches in the queue.
const QUEUE: usize = 4096;
/// Maximum number of used batches that are kept for reuse.
const SPARES: usize = 8;

/// A batch of spikes of one probe.
pub struct Batch {
    pub probe: ProbeId,
    /// Number of elements of the probe's set.
    pub n_elements: usize,
    /// Steps modulo 2³², ascending.
    pub spikes: Vec<Spike>,
    /// Step of the frame.
    pub now: u64,
    /// Number of spikes dropped before the batch.
    pub skipped: u64,
}

/// Spikes of all probes.
pub type Trains = BTreeMap<ProbeId, Train>;

/// Adds the spikes of a batch.
pub fn index(trains: &mut Trains, batch: &Batch) {
    let train = trains.entry(batch.probe).or_insert_with(|| Train::new(batch.n_elements));
    train.grow(batch.n_elements);
    train.push(&batch.spikes, batch.now);
    train.skipped += batch.skipped;
}

#[derive(Default)]
struct Shared {
    /// Newest snapshot, until the window takes it.
    ready: Mutex<Option<Trains>>,
    /// Number of spikes in the queue.
    pending: AtomicUsize,
    n_done: AtomicU64,
}

/// Handle of the thread, which ends when the handle is dropped.
pub struct Indexer {
    batches: Sender<Batch>,
    used: Receiver<Vec<Spike>>,
    shared: Arc<Shared>,
    n_sent: u64,
    max_pending: usize,
}

impl Indexer {
    /// Starts the thread. `wake` is called with every snapshot. Fails if the thread cannot be started.
    pub fn spawn(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::with_limit(MAX_PENDING, wake)
    }

    /// Starts an indexer with at most `max_pending` waiting spikes. Fails if the thread cannot be started.
    pub fn with_limit(max_pending: usize, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (batches, queue) = bounded::<Batch>(QUEUE);
        let (give_back, used) = bounded(SPARES);
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        std::thread::Builder::new().name("spike index".into()).spawn(move || {
            let mut trains = Trains::new();
            while let Ok(batch) = queue.recv() {
                index(&mut trains, &batch);
                theirs.pending.fetch_sub(batch.spikes.len(), Ordering::AcqRel);
                let mut spikes = batch.spikes;
                spikes.clear();
                give_back.try_send(spikes).ok(); // The send fails if enough batches are kept or the window is closed.
                let mut ready = theirs.ready.lock().unwrap_or_else(PoisonError::into_inner);
                // A snapshot costs copies, so there is one per frame of the window, or one when the queue is empty.
                if ready.is_none() || queue.is_empty() {
                    let old = ready.replace(trains.clone());
                    drop(ready);
                    drop(old);
                    theirs.n_done.fetch_add(1, Ordering::AcqRel);
                    wake();
                } else {
                    theirs.n_done.fetch_add(1, Ordering::AcqRel);
                }
            }
        })?;
        Ok(Self { batches, used, shared, n_sent: 0, max_pending })
    }

    /// Queues a batch. Fails with the batch if too many spikes or batches are waiting.
    pub fn send(&mut self, batch: Batch) -> Result<(), Batch> {
        let n = batch.spikes.len();
        if self.shared.pending.load(Ordering::Acquire) + n > self.max_pending {
            return Err(batch);
        }
        self.shared.pending.fetch_add(n, Ordering::AcqRel);
        self.n_sent += 1;
        self.batches.try_send(batch).map_err(|error| {
            self.shared.pending.fetch_sub(n, Ordering::AcqRel);
            self.n_sent -= 1;
            error.into_inner()
        })
    }

    /// Takes the newest snapshot; `None` if there is no new snapshot.
    pub fn take(&self) -> Option<Trains> {
        self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the memory of an indexed batch for reuse; `None` if no such memory is left.
    pub fn used(&self) -> Option<Vec<Spike>> {
        self.used.try_recv().ok()
    }

    /// Whether all batches are indexed.
    pub fn is_idle(&self) -> bool {
        self.shared.n_done.load(Ordering::Acquire) == self.n_sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_indexes_every_batch_and_returns_its_memory() {
        let mut indexer = Indexer::spawn(|| {}).expect("a thread");
        let mut direct = Trains::new();
        for block in 0..40_u32 {
            let spikes: Vec<Spike> = (0..5_000).map(|i| Spike { step: block * 100 + i / 50, lane: i % 97 }).collect();
            let batch = || Batch {
                probe: 3,
                n_elements: 97,
                spikes: spikes.clone(),
                now: u64::from(block) * 100 + 100,
                skipped: 0,
            };
            index(&mut direct, &batch());
            assert!(indexer.send(batch()).is_ok());
        }
        while !indexer.is_idle() {
            std::thread::yield_now();
        }
        let indexed = indexer.take().expect("a snapshot");
        let (a, b) = (&indexed[&3], &direct[&3]);
        assert_eq!((a.history.sequence(), &a.counts), (200_000, &b.counts));
        assert_eq!(a.history.after(0).flatten().count(), 200_000);
        assert!(indexer.used().is_some_and(|v| v.is_empty() && v.capacity() >= 5_000));
        assert!(indexer.take().is_none());
    }
}
