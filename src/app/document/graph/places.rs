//! Positions of the nodes of a graph in its view.

use std::collections::BTreeMap;

/// Position as fractions of the width and the height of the view.
pub type Place = [f32; 2];

/// Margin that nodes keep from the edge of the view, as a fraction of its size.
const MARGIN: f32 = 0.08;
/// Distance from a node below which a position is not free.
const CLOSE: f32 = 0.24;
/// Positions of nodes that are added one by one, as long as they are free.
const SEATS: [Place; 8] =
    [[0.3, 0.5], [0.7, 0.5], [0.5, 0.2], [0.5, 0.8], [0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8]];

/// Positions of nodes by name. Positions of names that no longer exist are kept, so that undo finds them again.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Places(BTreeMap<String, Place>);

impl Places {
    /// Whether no position is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the position of a node; the centre if it is unknown.
    pub fn of(&self, name: &str) -> Place {
        self.0.get(name).copied().unwrap_or([0.5, 0.5])
    }

    /// Moves a node. The position is kept inside the view.
    pub fn set(&mut self, name: &str, place: Place) {
        self.0.insert(name.to_owned(), place.map(|x| x.clamp(MARGIN, 1.0 - MARGIN)));
    }

    /// Gives a node the position of another one, because it was renamed.
    pub fn follow(&mut self, old: &str, new: &str) {
        if let Some(place) = self.0.get(old).copied() {
            self.0.insert(new.to_owned(), place);
        }
    }

    /// Places every node without a position: on a circle if there are more than two nodes and none has a position,
    /// otherwise each at a free position.
    pub fn arrange<'a>(&mut self, names: impl Iterator<Item = &'a str> + Clone) {
        let n = names.clone().count();
        if n > SEATS.len().min(2) && names.clone().all(|name| !self.0.contains_key(name)) {
            names.enumerate().for_each(|(i, name)| self.set(name, on_circle(i, n)));
            return;
        }
        for name in names.clone().filter(|name| !name.is_empty()) {
            if !self.0.contains_key(name) {
                let others: Vec<Place> = names.clone().filter_map(|other| self.0.get(other).copied()).collect();
                self.set(name, free_place(&others));
            }
        }
    }

    /// Returns the positions of the nodes with the given names.
    pub fn only<'a>(&self, names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.filter_map(|name| Some((name.to_owned(), *self.0.get(name)?))).collect())
    }
}

/// Returns the position of node `i` of `n` on a circle; the first is at the upper left, and the order is clockwise.
fn on_circle(i: usize, n: usize) -> Place {
    let angle = std::f32::consts::TAU * (i as f32 - 0.5) / n as f32;
    [0.5 + 0.33 * angle.sin(), 0.5 - 0.33 * angle.cos()]
}

/// Returns the first free position of [`SEATS`]; if none is free, the point of a grid with the largest distance from
/// all nodes.
fn free_place(others: &[Place]) -> Place {
    let gap = |place: &Place| {
        let distance = |other: &Place| (place[0] - other[0]).hypot(place[1] - other[1]);
        others.iter().map(distance).fold(f32::INFINITY, f32::min)
    };
    let grid = (0..9).flat_map(|x| (0..7).map(move |y| [0.1 + 0.1 * x as f32, 0.14 + 0.12 * y as f32]));
    let seat = SEATS.into_iter().find(|seat| gap(seat) >= CLOSE);
    seat.or_else(|| grid.max_by(|a, b| gap(a).total_cmp(&gap(b)))).unwrap_or([0.5, 0.5])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_nodes_lie_beside_those_that_are_there() {
        let names: Vec<String> = (0..24).map(|i| format!("n{i}")).collect();
        let mut places = Places::default();
        for n in 1..=names.len() {
            let before = places.clone();
            places.arrange(names[..n].iter().map(String::as_str));
            let kept = names[..n - 1].iter().all(|name| before.of(name) == places.of(name));
            assert!(kept, "node {n} moves no other");
            let at: Vec<Place> = names[..n].iter().map(|name| places.of(name)).collect();
            for (i, a) in at.iter().enumerate() {
                let nearest = at[..i].iter().map(|b| (a[0] - b[0]).hypot(a[1] - b[1])).fold(9.0, f32::min);
                assert!(nearest > 0.09, "{n} nodes: {nearest}");
            }
        }
    }

    #[test]
    fn a_graph_without_positions_is_a_circle() {
        let mut places = Places::default();
        places.arrange(["a", "b", "c", "d"].into_iter());
        for name in ["a", "b", "c", "d"] {
            let [x, y] = places.of(name);
            assert!(((x - 0.5).hypot(y - 0.5) - 0.33).abs() < 1e-5);
        }
        places.set("a", [2.0, -1.0]);
        assert_eq!(places.of("a"), [1.0 - MARGIN, MARGIN], "inside the view");
        places.follow("a", "z");
        assert_eq!((places.of("z"), places.of("a")), (places.of("a"), [1.0 - MARGIN, MARGIN]), "undo finds it again");
    }
}
