//! Initial values of matrices from elementary cellular automata (Wolfram 1983), as an alternative to random values.
//!
//! A matrix of `out` rows and `in` columns is the history of a ring of `in` cells: row t + 1 follows from row t by the
//! rule. Cells have the values +1 and -1, are centred, and are scaled to the variance `2 / (in + out)`.

use super::Layout;
use crate::{
    nn::parameters::{Parameters, ViewId},
    num::rng::{Draw, Purpose},
};

/// Maximum number of rows of matrices that are filled. Larger matrices are unchanged.
const MAX_ROWS: usize = 8192;

/// Computes `rows` generations of a ring, including the first. The next state of a cell is bit `4 left + 2 self + right` of
/// the rule.
pub fn cells(rule: u8, first: &[bool], rows: usize) -> Vec<bool> {
    let n = first.len();
    let mut all = first.to_vec();
    for row in 1..rows {
        for i in 0..n {
            let cell = |i: usize| u8::from(all[(row - 1) * n + i % n]);
            let neighbours = cell(i + n - 1) << 2 | cell(i) << 1 | cell(i + 1);
            all.push(rule >> neighbours & 1 == 1);
        }
    }
    all.truncate(rows * n);
    all
}

/// Computes the weights of a grid of cells; zeros if all cells are equal.
pub fn weights(cells: &[bool], rows: usize, columns: usize) -> Vec<f64> {
    let signs = || cells.iter().map(|cell| if *cell { 1.0 } else { -1.0 });
    let n = cells.len().max(1) as f64;
    let mean = signs().sum::<f64>() / n;
    let variance = signs().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let scale = if variance > 0.0 { (2.0 / (rows + columns) as f64 / variance).sqrt() } else { 0.0 };
    signs().map(|x| (x - mean) * scale).collect()
}

/// Fills the matrices of attention, router and experts. Embedding, logits, norms, biases and genomes are unchanged. The
/// first row of each matrix is drawn at (seed, synaptic weights, number of the parameter, matrix and cell).
pub fn fill(layout: &Layout, rule: u8, seed: u64, parameters: &mut Parameters<f32>) {
    for i in 0..layout.map.views().len() {
        let id = ViewId(i);
        let shape = layout.map.view(id).shape.clone();
        let &[.., rows, columns] = &shape[..] else { continue };
        if !layout.role(id).is_hidden_matrix() || rows > MAX_ROWS || rows * columns == 0 {
            continue;
        }
        for (matrix, values) in parameters.get_mut(id).chunks_mut(rows * columns).enumerate() {
            let step = (i as u64) << 32 | matrix as u64;
            let bit = |lane: u32| Draw { seed, purpose: Purpose::SynapticWeights, step, lane }.words()[0] & 1 == 1;
            let first: Vec<bool> = (0..columns as u32).map(bit).collect();
            let grid = weights(&cells(rule, &first, rows), rows, columns);
            values.iter_mut().zip(grid).for_each(|(value, weight)| *value = weight as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::synaptic::model::{Config, init};

    #[test]
    fn hidden_matrices_have_the_variance_of_their_sizes_and_others_stay() {
        let config = Config::nano(65);
        let layout = Layout::new(&config).expect("it fits");
        let before = init(&config, &layout, 7);
        let by_rule = |rule| init(&Config { automaton: Some(rule), ..config.clone() }, &layout, 7);
        let after = by_rule(30);
        assert_ne!(after, by_rule(110), "rules differ");
        let block = layout.blocks[1];
        let of_expert = &after.get(block.fc1)[3 * 128 * 64..4 * 128 * 64];
        let variance = of_expert.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / of_expert.len() as f64;
        assert!((variance * (128.0 + 64.0) / 2.0 - 1.0).abs() < 1e-5, "{variance}");
        assert_ne!(after.get(block.fc1)[..128 * 64], *of_expert, "experts differ");
        for id in [layout.wte, layout.lm_head, block.fc1_bias, block.genome] {
            assert_eq!(after.get(id), before.get(id));
        }
    }

    #[test]
    fn a_single_cell_grows_the_triangle_of_rule_90() {
        let first = [false, false, false, true, false, false, false];
        let rows: Vec<String> = cells(90, &first, 4)
            .chunks(7)
            .map(|row| row.iter().map(|cell| if *cell { '#' } else { '.' }).collect())
            .collect();
        assert_eq!(rows, ["...#...", "..#.#..", ".#...#.", "#.#.#.#"]);
    }
}
