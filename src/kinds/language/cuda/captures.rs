//! Passes captured as CUDA graphs.

use super::error::OpError;
use crate::gpu::{Gpu, Graph, Pass, nvtx};
use std::{collections::HashMap, fmt::Debug, hash::Hash};

/// Maximum number of passes kept. If it is exceeded, all passes are dropped.
const MOST: usize = 32;

/// Passes by key; the value is `None` after the first run and a graph after the capture. The launches of a pass must depend
/// only on its key and on device memory; otherwise the pass must be [dropped](Self::forget). The map must be dropped before
/// the buffers that the launches reference.
pub struct Captures<K>(HashMap<K, Option<Graph>>);

impl<K> Default for Captures<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Copy + Debug + Eq + Hash> Captures<K> {
    /// Runs a pass. The first time and while kernels are profiled, it is run launch by launch, otherwise as a graph. Fails
    /// if the pass fails.
    pub fn run(
        &mut self,
        gpu: &Gpu,
        what: K,
        pass: &mut Pass,
        mut launch: impl FnMut(&mut Pass) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        const DOING: &str = "capturing a step as a CUDA graph";
        let _range = nvtx::range_of(|| format!("{what:?}"));
        if !self.0.contains_key(&what) || pass.profiled {
            launch(pass)?;
            if self.0.len() >= MOST && !self.0.contains_key(&what) {
                self.0.clear();
            }
            self.0.entry(what).or_insert(None);
            return Ok(());
        }
        let Some(place) = self.0.get_mut(&what) else { return Ok(()) };
        if place.is_none() {
            let mut refused = None;
            let record = |pass: &mut Pass| launch(pass).map_err(|error| error.into_gpu(DOING, &mut refused));
            // SAFETY: the graph references buffers of this backend. They are replaced only after the graph was dropped, and
            // the graph is dropped before them.
            let graph = unsafe { Graph::capture(gpu, record) };
            if let Some(why) = refused {
                return Err(OpError::Refused(why));
            }
            match graph {
                Ok(graph) => *place = Some(graph),
                Err(error) if error.is_sticky() => return Err(error.into()),
                // Work of other threads on this device can invalidate a capture, or make library calls fail during the
                // capture. The next pass tries again.
                Err(error) => {
                    tracing::warn!("a pass is computed launch by launch: {error}");
                    return launch(pass);
                }
            }
        }
        Ok(place.as_mut().map_or(Ok(()), Graph::launch)?)
    }

    /// Drops the pass of one key, or with `None` all passes. The device must not be executing a dropped pass.
    pub fn forget(&mut self, what: Option<K>) {
        match what {
            Some(what) => drop(self.0.remove(&what)),
            None => self.0.clear(),
        }
    }
}
