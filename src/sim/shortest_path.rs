//! Shortest paths of connections from one element to another.

use super::{Connection, ConnectionSource, Progress, SimError};

/// Connection of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathStep {
    /// Source (presynaptic) element.
    pub from: u32,
    /// Target (postsynaptic) element.
    pub to: u32,
    /// Weight; negative for an inhibitory connection.
    pub weight: f64,
}

/// Ends of a path and filter of its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathQuery {
    /// Source of the path.
    pub from: u32,
    /// Target of the path.
    pub to: u32,
    /// Minimum absolute weight of a connection.
    pub at_least: f64,
    /// Maximum number of connections.
    pub longest: usize,
}

impl PathQuery {
    /// Finds a shortest path by breadth-first search. Returns an empty path if no path satisfies the query or `from` equals
    /// `to`.
    ///
    /// # Errors
    /// Fails if the request is cancelled.
    pub fn answer(&self, links: &dyn ConnectionSource, progress: &Progress) -> Result<Vec<PathStep>, SimError> {
        let Self { from, to, at_least, longest } = *self;
        let mut reached: Vec<Option<PathStep>> = vec![None; links.n() as usize];
        let (mut front, mut out) = (vec![from], Vec::<Connection>::new());
        for length in 0..longest {
            progress.report("path", length as f32 / longest as f32)?;
            let mut next = vec![];
            for element in front.drain(..) {
                links.read(element, &mut out);
                for c in out.iter().filter(|c| c.weight.abs() >= at_least && c.to != from) {
                    let Some(step @ None) = reached.get_mut(c.to as usize) else { continue };
                    *step = Some(PathStep { from: element, to: c.to, weight: c.weight });
                    next.push(c.to);
                }
            }
            if let Some(last) = reached.get(to as usize).copied().flatten() {
                let before = |step: &PathStep| if step.from == from { None } else { reached[step.from as usize] };
                let mut path: Vec<PathStep> = std::iter::successors(Some(last), before).collect();
                path.reverse();
                return Ok(path);
            }
            front = next;
        }
        Ok(vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four elements with the connections 0 → 1 → 2 → 3 of weights 9, −6, 5, a direct 0 → 3 of weight 2, and 3 → 0 of
    /// weight 7.
    struct Few;

    impl ConnectionSource for Few {
        fn n(&self) -> u32 {
            4
        }
        fn n_connections(&self) -> u64 {
            5
        }
        fn degree(&self, from: u32) -> u32 {
            [2, 1, 1, 1][from as usize]
        }
        fn read(&self, from: u32, out: &mut Vec<Connection>) {
            let links = [&[(1, 9.0), (3, 2.0)][..], &[(2, -6.0)], &[(3, 5.0)], &[(0, 7.0)]];
            out.clear();
            out.extend(links[from as usize].iter().map(|(to, weight)| Connection::new(*to, *weight)));
        }
    }

    #[test]
    fn a_path_leads_from_its_first_to_its_last_element() {
        let path = |from, to, at_least, longest| {
            let query = PathQuery { from, to, at_least, longest };
            let steps = query.answer(&Few, &Progress::default()).unwrap();
            steps.iter().map(|s| (s.from, s.to, s.weight)).collect::<Vec<_>>()
        };
        assert_eq!(path(0, 3, 1.0, 8), [(0, 3, 2.0)]);
        assert_eq!(path(0, 3, 3.0, 8), [(0, 1, 9.0), (1, 2, -6.0), (2, 3, 5.0)]);
        assert_eq!(path(3, 0, 3.0, 8), [(3, 0, 7.0)], "the other direction is another path");
        assert_eq!((path(0, 3, 3.0, 2), path(0, 3, 6.0, 8), path(0, 9, 1.0, 8)), (vec![], vec![], vec![]));
        let cancelled = Progress::default();
        cancelled.cancel();
        let query = PathQuery { from: 0, to: 3, at_least: 1.0, longest: 8 };
        assert!(matches!(query.answer(&Few, &cancelled), Err(SimError::Cancelled)));
    }
}
