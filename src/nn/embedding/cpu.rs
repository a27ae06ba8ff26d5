//! The definition of [`Embedding`], for f32 and f64.
//!
//! # Order of summation of the backward pass
//!
//! The occurrences of a token are taken in ascending order, in chunks of [`CHUNK`]. The sum of a chunk starts at 0 and takes its
//! rows in that order; the sums of the chunks are added to each other in order, starting at 0, and their total is added to the
//! gradient. The result is therefore the same for any number of threads, and on a GPU.

use super::{Embedding, EmbeddingError};
use crate::nn::real::Real;
use rayon::prelude::*;

/// Number of occurrences of a token whose gradients form one partial sum. The number is part of the definition, because it
/// decides the bits of the result.
pub const CHUNK: usize = 64;

/// Computes `y = table[tokens] + positions`. Fails without writing anything if a length is wrong, or a token or position is
/// outside its table.
pub fn forward<R: Real>(
    op: &Embedding,
    tokens: &[u32],
    table: &[R],
    positions: Option<&[R]>,
    position_ids: Option<&[u32]>,
    y: &mut [R],
) -> Result<(), EmbeddingError> {
    op.check((table.len(), tokens.len(), y.len()), positions.map(<[R]>::len), position_ids.map(<[u32]>::len))?;
    check_tokens(op, tokens)?;
    let features = op.features;
    if features == 0 || tokens.is_empty() {
        return Ok(());
    }
    let positions = positions.map(|p| (p, p.len() / features));
    if let (Some((_, context)), Some(ids)) = (positions, position_ids) {
        check_positions(ids, context)?;
    }
    y.par_chunks_mut(features).with_min_len(rows_per_task(features)).enumerate().for_each(|(i, y)| {
        y.copy_from_slice(&table[tokens[i] as usize * features..][..features]);
        if let Some((positions, _)) = positions {
            let row = &positions[position(op, position_ids, i) * features..][..features];
            y.iter_mut().zip(row).for_each(|(y, p)| *y += *p);
        }
    });
    Ok(())
}

/// Computes `dtable += scattered dy`, `dpositions += dy summed over sequences`. Fails without writing anything if a length is
/// wrong, or a token or position is outside its table.
pub fn backward<R: Real>(
    op: &Embedding,
    tokens: &[u32],
    dy: &[R],
    dtable: &mut [R],
    dpositions: Option<&mut [R]>,
    position_ids: Option<&[u32]>,
) -> Result<(), EmbeddingError> {
    let n_positions = dpositions.as_ref().map(|p| p.len());
    op.check((dtable.len(), tokens.len(), dy.len()), n_positions, position_ids.map(<[u32]>::len))?;
    check_tokens(op, tokens)?;
    if op.features == 0 {
        return Ok(());
    }
    if let (Some(n), Some(ids)) = (n_positions, position_ids) {
        check_positions(ids, n / op.features)?;
    }
    scatter_add(op.features, |i| tokens[i] as usize, dy, dtable);
    if let Some(dpositions) = dpositions {
        scatter_add(op.features, |i| position(op, position_ids, i), dy, dpositions);
    }
    Ok(())
}

fn position(op: &Embedding, position_ids: Option<&[u32]>, i: usize) -> usize {
    position_ids.map_or_else(|| op.offset + i % op.seq_len, |ids| ids[i] as usize)
}

fn check_tokens(op: &Embedding, tokens: &[u32]) -> Result<(), EmbeddingError> {
    match tokens.iter().position(|token| *token as usize >= op.vocab) {
        Some(place) => Err(EmbeddingError::Token { token: tokens[place], place, vocab: op.vocab }),
        None => Ok(()),
    }
}

fn check_positions(ids: &[u32], context: usize) -> Result<(), EmbeddingError> {
    match ids.iter().find(|id| **id as usize >= context) {
        Some(id) => Err(EmbeddingError::Position { position: *id as usize, context }),
        None => Ok(()),
    }
}

/// Returns the number of rows per parallel task, large enough to outweigh its overhead.
fn rows_per_task(features: usize) -> usize {
    (1 << 15) / features + 1
}

/// Computes `to[row(i)] += rows[i]`, in the order of summation that the module states.
fn scatter_add<R: Real>(features: usize, row: impl Fn(usize) -> usize, rows: &[R], to: &mut [R]) {
    let n = rows.len() / features;
    // Occurrences by row of the result, each list in ascending order: a counting sort.
    let mut starts = vec![0_usize; to.len() / features + 1];
    (0..n).for_each(|i| starts[row(i) + 1] += 1);
    (1..starts.len()).for_each(|v| starts[v] += starts[v - 1]);
    let (mut next, mut places) = (starts.clone(), vec![0_usize; n]);
    for i in 0..n {
        let v = row(i);
        places[next[v]] = i;
        next[v] += 1;
    }
    to.par_chunks_mut(features).with_min_len(16).enumerate().for_each(|(v, to)| {
        let places = &places[starts[v]..starts[v + 1]];
        if places.is_empty() {
            return;
        }
        let (mut total, mut sum) = (vec![R::zero(); features], vec![R::zero(); features]);
        for chunk in places.chunks(CHUNK) {
            sum.fill(R::zero());
            for i in chunk {
                add(&mut sum, &rows[i * features..][..features]);
            }
            add(&mut total, &sum);
        }
        add(to, &total);
    });
}

fn add<R: Real>(to: &mut [R], x: &[R]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += *x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_finite_differences() {
        // The loss is Σ w y; it is linear, so one difference per parameter is exact up to rounding.
        let op = Embedding::new(7, 5, 3, 4).offset(1);
        let tokens = [4_u32, 0, 4, 2, 4, 4, 1];
        let table: Vec<f64> = (0..15).map(|i| f64::from(i) * 0.3 - 1.0).collect();
        let positions: Vec<f64> = (0..18).map(|i| f64::from(i) * 0.7 + 0.1).collect();
        let w: Vec<f64> = (0..21).map(|i| f64::from(i * i % 11) - 4.5).collect();
        let loss = |table: &[f64], positions: &[f64]| -> f64 {
            let mut y = vec![0.0; 21];
            forward(&op, &tokens, table, Some(positions), None, &mut y).expect("it fits");
            y.iter().zip(&w).map(|(y, w)| y * w).sum()
        };
        let (mut dtable, mut dpositions) = (vec![0.5; 15], vec![0.25; 18]);
        backward(&op, &tokens, &w, &mut dtable, Some(&mut dpositions), None).expect("it fits");
        let h = 1e-3;
        for i in 0..15 {
            let at = |d: f64| {
                let mut table = table.clone();
                table[i] += d;
                loss(&table, &positions)
            };
            let want = (at(h) - at(-h)) / (2.0 * h) + 0.5;
            assert!((dtable[i] - want).abs() < 1e-9, "{i}: {} {want}", dtable[i]);
        }
        for i in 0..18 {
            let at = |d: f64| {
                let mut positions = positions.clone();
                positions[i] += d;
                loss(&table, &positions)
            };
            let want = (at(h) - at(-h)) / (2.0 * h) + 0.25;
            assert!((dpositions[i] - want).abs() < 1e-9, "{i}: {} {want}", dpositions[i]);
        }
    }

    #[test]
    fn errors_name_the_token_or_the_position() {
        let op = Embedding::new(3, 5, 2, 3);
        let (table, positions, mut y) = ([0.0_f32; 10], [0.0_f32; 4], [0.0_f32; 6]);
        let error = forward(&op, &[0, 5, 1], &table, None, None, &mut y).unwrap_err();
        assert_eq!(error.to_string(), "token 5 at place 1 is not among the 5 of the vocabulary");
        let error = forward(&op, &[0, 1, 2], &table, Some(&positions), None, &mut y).unwrap_err();
        assert_eq!(error, EmbeddingError::Position { position: 2, context: 2 });
        forward(&op, &[0, 1, 2], &table, Some(&positions), Some(&[1, 0, 1]), &mut y).expect("ids are inside");
        let error = forward(&op, &[0, 1, 2], &table, Some(&positions), Some(&[1, 0, 9]), &mut y).unwrap_err();
        assert_eq!(error, EmbeddingError::Position { position: 9, context: 2 });
        assert!(matches!(
            forward(&op, &[0, 1], &table, None, None, &mut y),
            Err(EmbeddingError::Length { what: "the tokens", needed: 3, given: 2 })
        ));
        forward(&Embedding::new(0, 5, 2, 3), &[], &table, Some(&positions), None, &mut []).expect("no tokens");
    }

    #[test]
    fn threads_do_not_change_the_sums() {
        let (n, features) = (3000, 19);
        let op = Embedding::new(n, 3, features, n);
        let tokens: Vec<u32> = (0..n as u32).map(|i| (i * i + 7) % 3).collect();
        let dy: Vec<f32> = (0..n * features).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let mut dtable = vec![0.125_f32; 3 * features];
            pool.install(|| backward(&op, &tokens, &dy, &mut dtable, None, None)).expect("it fits");
            dtable
        };
        assert_eq!(run(1), run(5));
    }
}
