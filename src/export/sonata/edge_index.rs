//! Index groups of a population of edges, by which readers find the edges from a source and to a target.
//!
//! Row i of `node_id_to_ranges` holds the first row of node i in `range_to_edge_id` and the row after its last; each of those rows
//! holds the first edge of a range and the edge after its last. The datasets have a second name for bmtk, `node_id_to_range`.
//!
//! Edges are in the order of their sources, so the edges from a source are one range. The edges to a target are found by a counting
//! sort of the column of targets, which is read back from the file once per [`PLACES`] edges. The required memory is 8 bytes for each
//! of these places, 128 MiB, and 16 bytes per target.

use super::{Links, Object, Writer, hdf5::Dataset};
use std::io;

/// Number of edges that a pass over the column of targets places.
pub(super) const PLACES: usize = 1 << 24;
/// Number of written edges between two reports of progress.
const REPORT_EVERY: u64 = 1 << 16;

/// Index by one end of the edges, which is written node by node.
pub(super) struct EdgeIndex {
    nodes: Dataset<u64>,
    ranges: Dataset<u64>,
    n_nodes: u64,
    /// Number of complete ranges.
    n_ranges: u64,
    /// First range of the current node.
    first: u64,
    /// First edge of the last range, and the edge after it.
    open: Option<[u64; 2]>,
}

impl EdgeIndex {
    pub fn new() -> Self {
        let [nodes, ranges] = [2, 1].map(|n_links| Dataset::new(&[2]).linked(n_links));
        Self { nodes, ranges, n_nodes: 0, n_ranges: 0, first: 0, open: None }
    }

    /// Adds an edge of a node. Nodes, and the edges of a node, are in ascending order. Fails if the file cannot be written.
    pub fn push(&mut self, file: &mut Writer, node: u64, edge: u64) -> io::Result<()> {
        self.fill(file, node)?;
        match &mut self.open {
            Some([_, end]) if *end == edge => *end += 1,
            _ => {
                self.end_range(file)?;
                self.open = Some([edge, edge + 1]);
            }
        }
        Ok(())
    }

    fn end_range(&mut self, file: &mut Writer) -> io::Result<()> {
        let Some(range) = self.open.take() else { return Ok(()) };
        self.n_ranges += 1;
        file.push(&mut self.ranges, &range)
    }

    /// Ends all nodes before `node`.
    fn fill(&mut self, file: &mut Writer, node: u64) -> io::Result<()> {
        while self.n_nodes < node {
            self.end_range(file)?;
            file.push(&mut self.nodes, &[self.first, self.n_ranges])?;
            (self.first, self.n_nodes) = (self.n_ranges, self.n_nodes + 1);
        }
        Ok(())
    }

    /// Ends the index of `n` nodes and returns its group. Fails if the file cannot be written.
    pub fn close(mut self, file: &mut Writer, n: u64) -> io::Result<Object> {
        self.fill(file, n)?;
        let (nodes, ranges) = (file.close(self.nodes, &[])?, file.close(self.ranges, &[])?);
        let link = |name: &str, to| (name.to_owned(), to);
        let links: Links = vec![
            link("node_id_to_ranges", nodes),
            // The name that bmtk reads and writes.
            link("node_id_to_range", nodes),
            link("range_to_edge_id", ranges),
        ];
        file.group(&links, &[])
    }
}

/// Writes the index by target. `targets` is the column of targets so far, `degrees` the number of edges to each target, and `places` the
/// number of edges that a pass over the column places. `report` receives the completed fraction. Fails if the file cannot be read or
/// written, or with the error of `report`.
pub(super) fn by_target(
    file: &mut Writer,
    (targets, degrees): (&Dataset<u64>, &[u64]),
    places: usize,
    report: &dyn Fn(f32) -> io::Result<()>,
) -> io::Result<Object> {
    let n: u64 = degrees.iter().sum();
    let n_passes = n.div_ceil(places as u64);
    // A pass counts twice: each edge is read, and each place is written.
    let done = |read: u64, written: u64| report((read / n_passes.max(1) + written) as f32 / (2 * n).max(1) as f32);
    let (mut index, mut edges, mut next) = (EdgeIndex::new(), vec![], vec![]);
    let (mut target, mut target_end) = (0, degrees.first().copied().unwrap_or(0));
    for pass in 0..n_passes {
        let first = pass * places as u64;
        let end = (first + places as u64).min(n);
        edges.resize((end - first) as usize, 0);
        first_places(degrees, &mut next);
        let mut edge = 0;
        file.read_back(targets, |targets| {
            for target in targets {
                let place = &mut next[*target as usize];
                if (first..end).contains(place) {
                    edges[(*place - first) as usize] = edge;
                }
                (*place, edge) = (*place + 1, edge + 1);
            }
            done(pass * n + edge, first)
        })?;
        for (place, edge) in (first..end).zip(&edges) {
            while target_end <= place {
                target += 1;
                target_end += degrees[target];
            }
            index.push(file, target as u64, *edge)?;
            if place % REPORT_EVERY == 0 {
                done((pass + 1) * n, place)?;
            }
        }
    }
    index.close(file, degrees.len() as u64)
}

/// Replaces `next` by the place of each target's first edge in the order of the targets.
fn first_places(degrees: &[u64], next: &mut Vec<u64>) {
    next.clear();
    next.extend(degrees.iter().scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_pure::File as Hdf5;
    use neuropil_test_support::temp::TempFolder;
    use std::{collections::BTreeMap, fs::File};

    const N: u64 = 150_000;
    const N_TARGETS: u64 = 700;

    /// Returns the rows of both datasets of an index that is written with some number of places per pass.
    fn written(targets: &[u64], places: usize) -> [Vec<u64>; 2] {
        let temp = TempFolder::new("edge-index");
        let path = temp.join("index.h5");
        let mut file = Writer::new(File::create_new(&path).expect("a file")).expect("begun");
        let (mut column, mut degrees) = (Dataset::new(&[]), vec![0; N_TARGETS as usize]);
        for target in targets {
            file.push(&mut column, &[*target]).expect("written");
            degrees[*target as usize] += 1;
        }
        let report = |part: f32| if (0.0..=1.0).contains(&part) { Ok(()) } else { Err(io::Error::other("outside")) };
        let index = by_target(&mut file, (&column, &degrees), places, &report).expect("written");
        let root = file.group(&[("index".to_owned(), index)], &[]).expect("written");
        file.finish(root).expect("finished");
        let file = Hdf5::open(&path).expect("readable");
        let rows = |name: &str| file.dataset(&format!("index/{name}")).and_then(|of| of.read_u64()).expect("rows");
        assert_eq!(rows("node_id_to_ranges"), rows("node_id_to_range"));
        ["node_id_to_ranges", "range_to_edge_id"].map(rows)
    }

    /// Edges of several chunks, of which neighbours often have one target; some targets have no edges.
    #[test]
    fn an_index_by_target_has_every_edge_once_for_any_number_of_places() {
        let targets: Vec<u64> = (0..N).map(|i| ((i / 3).wrapping_mul(2_654_435_761) >> 7) % (N_TARGETS - 3)).collect();
        let mut of_target = BTreeMap::<u64, Vec<u64>>::new();
        (0..).zip(&targets).for_each(|(edge, target)| of_target.entry(*target).or_default().push(edge));
        let [nodes, ranges] = written(&targets, PLACES);
        assert_eq!(nodes.len() as u64, 2 * N_TARGETS);
        for (target, rows) in (0..).zip(nodes.as_chunks::<2>().0) {
            let of_node = &ranges.as_chunks::<2>().0[rows[0] as usize..rows[1] as usize];
            let edges: Vec<u64> = of_node.iter().flat_map(|range| range[0]..range[1]).collect();
            assert_eq!(edges, of_target.remove(&target).unwrap_or_default(), "target {target}");
        }
        assert!((ranges.len() as u64) < N, "neighbours are one range");
        for places in [1 << 16, 40_001] {
            assert!(written(&targets, places) == [nodes.clone(), ranges.clone()], "{places} places");
        }
        assert_eq!(written(&[], PLACES), [vec![0; 2 * N_TARGETS as usize], vec![]]);
    }
}
