//! Outlines around the row blocks of a large selection, so that the spikes stay visible.

use super::rows::Rows;
use egui::{Color32, Painter, Rect, StrokeKind, pos2};

/// Maximum number of selected elements with individual marks.
pub const MAX_MARKED: usize = 2_000;
/// Blocks with a smaller distance, points, are joined.
const GAP: f32 = 2.0;

/// Blocks of consecutive selected rows.
#[derive(Default)]
pub struct Outline {
    of: Option<(u64, u64)>,
    blocks: Vec<(u32, u32)>,
}

impl Outline {
    /// Finds the blocks if the selection or the rows have changed.
    pub fn update(&mut self, (selected, selection): (&[u32], u64), (rows, generation): (&Rows, u64)) {
        if self.of == Some((selection, generation)) {
            return;
        }
        self.of = Some((selection, generation));
        self.blocks = if selected.len() > MAX_MARKED { blocks(selected, rows) } else { vec![] };
    }

    /// Draws an outline around each block.
    pub fn paint(&self, painter: &Painter, plot: Rect, y: impl Fn(u32) -> f32, color: Color32) {
        let mut joined: Vec<(f32, f32)> = vec![];
        for (first, end) in &self.blocks {
            let (bottom, top) = (y(*first).min(plot.bottom() + 9.0), y(*end).max(plot.top() - 9.0));
            match joined.last_mut().filter(|(_, above)| *above - bottom < GAP) {
                Some((_, above)) => *above = top.min(*above),
                None if bottom > plot.top() && top < plot.bottom() => joined.push((bottom, top)),
                None => {}
            }
        }
        for (bottom, top) in joined {
            let block = Rect::from_min_max(pos2(plot.left(), top), pos2(plot.right(), bottom.max(top + 1.0)));
            painter.rect_stroke(block, 0.0, (1.5, color), StrokeKind::Inside);
        }
    }
}

/// Returns the first row, and the row after the last one, of each block of selected rows, from the bottom.
fn blocks(selected: &[u32], rows: &Rows) -> Vec<(u32, u32)> {
    let mut is_selected = vec![false; rows.len() as usize];
    for row in selected.iter().filter_map(|e| rows.row(*e)) {
        if let Some(found) = is_selected.get_mut(row as usize) {
            *found = true;
        }
    }
    let mut blocks: Vec<(u32, u32)> = vec![];
    for row in (0..rows.len()).filter(|row| is_selected[*row as usize]) {
        match blocks.last_mut().filter(|(_, end)| *end == row) {
            Some((_, end)) => *end = row + 1,
            None => blocks.push((row, row + 1)),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::raster::rows::Order;
    use crate::sim::ElementSet;

    #[test]
    fn a_large_selection_is_a_few_blocks() {
        let rows = Rows::new(&ElementSet { len: 10_000, ..ElementSet::default() }, &Order::default(), &[], |_| true);
        let selected: Vec<u32> = (100..3_000).chain(5_000..9_000).collect();
        let mut outline = Outline::default();
        outline.update((&selected, 1), (&rows, 1));
        assert_eq!(outline.blocks, [(100, 3_000), (5_000, 9_000)]);
        outline.update((&selected[..10], 2), (&rows, 1));
        assert!(outline.blocks.is_empty(), "few elements have marks");
    }
}
