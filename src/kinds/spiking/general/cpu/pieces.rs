//! Work on pieces, one thread per piece.

use crate::sim::SimError;

/// Calls `work` for each piece in a thread of its own, and returns the results in order. Fails if a piece fails or its
/// thread panics.
pub fn in_parallel<T: Send>(
    pieces: &[u32],
    work: impl Fn(u32) -> Result<T, SimError> + Sync,
) -> Result<Vec<T>, SimError> {
    let Some((mine, others)) = pieces.split_first() else { return Ok(vec![]) };
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = others.iter().map(|piece| scope.spawn(move || work(*piece))).collect();
        let stopped = |_| Err(SimError::Input("a thread stopped while it made connections".to_owned()));
        let first = work(*mine);
        let joined = others.into_iter().map(|thread| thread.join().unwrap_or_else(stopped));
        std::iter::once(first).chain(joined).collect()
    })
}
