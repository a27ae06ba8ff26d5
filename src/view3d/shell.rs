//! The surface around a point cloud, as a mesh drawn transparently.
//!
//! Points are counted in a grid and blurred; cells not reachable from outside are inside; the surface is extracted with
//! naive surface nets (Gibson 1998).

use glam::{IVec3, Vec3};

/// Maximum and minimum number of cells along the longest side.
const RESOLUTION: (f32, f32) = (56.0, 14.0);
/// Number of cells per point along a side. With few points cells are larger, so that sampling noise does not wrinkle the
/// surface.
const PER_POINT: f32 = 1.15;
/// Number of empty cells around the points.
const MARGIN: i32 = 5;
/// Radius of one blur in cells, and the number of blurs.
const BLUR: (i32, usize) = (1, 3);
/// Fraction of the mean density at the points above which a cell is inside.
const SHARE: f32 = 0.12;
/// Number of smoothing passes over the vertices.
const SMOOTHING: usize = 4;
/// Minimum number of points for a surface.
const FEWEST: usize = 200;

/// A triangle mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertices: position and normal.
    pub corners: Vec<[[f32; 3]; 2]>,
    /// Triangles: three vertex indices each.
    pub triangles: Vec<[u32; 3]>,
}

/// Returns the surface around points; empty if there are fewer than `FEWEST` points, or all are in one plane.
pub fn shell(points: &[[f32; 3]]) -> Mesh {
    let finite: Vec<Vec3> = points.iter().map(|p| Vec3::from(*p)).filter(|p| p.is_finite()).collect();
    if finite.len() < FEWEST {
        return Mesh::default();
    }
    let low = finite.iter().copied().fold(Vec3::INFINITY, Vec3::min);
    let high = finite.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
    let extent = high - low;
    if extent.min_element() <= extent.max_element() * 1e-3 {
        return Mesh::default();
    }
    let resolution = (PER_POINT * (finite.len() as f32).cbrt()).clamp(RESOLUTION.1, RESOLUTION.0);
    let mut grid = Grid::new(low, extent.max_element() / resolution, extent);
    finite.iter().for_each(|p| grid.count(*p));
    (0..BLUR.1).for_each(|_| grid.blur(BLUR.0));
    let (sum, n) = finite.iter().map(|p| grid.at(grid.cell(*p))).fold((0.0, 0), |(sum, n), d| (sum + d, n + 1));
    grid.settle(SHARE * sum / n as f32);
    grid.surface()
}

/// Densities at the corners of cubes.
struct Grid {
    low: Vec3,
    cell: f32,
    size: IVec3,
    values: Vec<f32>,
}

impl Grid {
    fn new(low: Vec3, cell: f32, extent: Vec3) -> Self {
        let size = (extent / cell).ceil().as_ivec3() + IVec3::splat(1 + 2 * MARGIN);
        let n = (size.x * size.y * size.z) as usize;
        Self { low: low - Vec3::splat(MARGIN as f32 * cell), cell, size, values: vec![0.0; n] }
    }

    fn index(&self, at: IVec3) -> usize {
        ((at.z * self.size.y + at.y) * self.size.x + at.x) as usize
    }

    fn at(&self, at: IVec3) -> f32 {
        self.values[self.index(at)]
    }

    fn cell(&self, p: Vec3) -> IVec3 {
        ((p - self.low) / self.cell).round().as_ivec3().clamp(IVec3::ZERO, self.size - 1)
    }

    fn count(&mut self, p: Vec3) {
        let index = self.index(self.cell(p));
        self.values[index] += 1.0;
    }

    /// Replaces each value by the mean over its neighbours, along one axis after the other.
    fn blur(&mut self, radius: i32) {
        for axis in [IVec3::X, IVec3::Y, IVec3::Z] {
            let last = (self.size - 1).dot(axis);
            let before = self.values.clone();
            for (at, index) in self.all() {
                let here = at.dot(axis);
                let reach = |d: i32| (here + d).clamp(0, last) - here;
                let sum: f32 = (-radius..=radius).map(|d| before[self.index(at + axis * reach(d))]).sum();
                self.values[index] = sum / (2 * radius + 1) as f32;
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = (IVec3, usize)> + use<> {
        let size = self.size;
        let place = move |i: i32| IVec3::new(i % size.x, i / size.x % size.y, i / size.x / size.y);
        (0..size.x * size.y * size.z).map(move |i| (place(i), i as usize))
    }

    /// Subtracts `level` from the densities, so that they are negative outside, and fills cavities that are not reachable from
    /// outside.
    fn settle(&mut self, level: f32) {
        self.values.iter_mut().for_each(|v| *v -= level);
        let mut is_outside = vec![false; self.values.len()];
        let mut open = vec![IVec3::ZERO];
        is_outside[0] = true;
        while let Some(at) = open.pop() {
            for step in [IVec3::X, IVec3::Y, IVec3::Z, IVec3::NEG_X, IVec3::NEG_Y, IVec3::NEG_Z] {
                let next = at + step;
                if next.min_element() < 0 || (self.size - next).min_element() <= 0 {
                    continue;
                }
                let index = self.index(next);
                if !is_outside[index] && self.values[index] < 0.0 {
                    is_outside[index] = true;
                    open.push(next);
                }
            }
        }
        for (value, is_outside) in self.values.iter_mut().zip(is_outside) {
            if *value < 0.0 && !is_outside {
                *value = level;
            }
        }
    }

    /// Extracts the surface: a vertex in every cube crossed by the surface, and a quad across every crossed edge.
    fn surface(&self) -> Mesh {
        let mut corner_of = vec![u32::MAX; self.values.len()];
        let mut places: Vec<Vec3> = vec![];
        for (at, index) in self.all() {
            if (self.size - 1 - at).min_element() > 0
                && let Some(place) = self.crossing(at)
            {
                corner_of[index] = places.len() as u32;
                places.push(self.low + place * self.cell);
            }
        }
        let mut triangles = vec![];
        for (at, _) in self.all().filter(|(at, _)| at.min_element() > 0 && (self.size - 1 - *at).min_element() > 0) {
            for (axis, u, v) in
                [(IVec3::X, IVec3::Y, IVec3::Z), (IVec3::Y, IVec3::Z, IVec3::X), (IVec3::Z, IVec3::X, IVec3::Y)]
            {
                let (a, b) = (self.at(at) >= 0.0, self.at(at + axis) >= 0.0);
                if a == b {
                    continue;
                }
                let [p, q, r, s] = [at - u - v, at - v, at, at - u].map(|cube| corner_of[self.index(cube)]);
                let square = if a { [p, q, r, s] } else { [p, s, r, q] };
                triangles.extend([[square[0], square[1], square[2]], [square[0], square[2], square[3]]]);
            }
        }
        triangles.retain(|t| !t.contains(&u32::MAX));
        smooth(&mut places, &triangles);
        let normals = normals(&places, &triangles);
        let corners = places.iter().zip(normals).map(|(p, n)| [p.to_array(), n.to_array()]).collect();
        Mesh { corners, triangles }
    }

    /// Returns the mean of the crossings of a cube's edges, in cells; `None` if the surface does not cross the cube.
    fn crossing(&self, at: IVec3) -> Option<Vec3> {
        let corner = |i: i32| IVec3::new(i & 1, i >> 1 & 1, i >> 2);
        let (mut sum, mut n) = (Vec3::ZERO, 0);
        for i in 0..8 {
            for axis in [1, 2, 4].into_iter().filter(|axis| i & axis == 0) {
                let (from, to) = (corner(i), corner(i | axis));
                let (a, b) = (self.at(at + from), self.at(at + to));
                if (a >= 0.0) != (b >= 0.0) {
                    sum += from.as_vec3().lerp(to.as_vec3(), a / (a - b));
                    n += 1;
                }
            }
        }
        (n > 0).then(|| at.as_vec3() + sum / n as f32)
    }
}

fn smooth(places: &mut Vec<Vec3>, triangles: &[[u32; 3]]) {
    for _ in 0..SMOOTHING {
        let mut sums = vec![(Vec3::ZERO, 0.0_f32); places.len()];
        for [a, b, c] in triangles.iter().map(|t| t.map(|i| i as usize)) {
            for (of, x, y) in [(a, b, c), (b, c, a), (c, a, b)] {
                sums[of] = (sums[of].0 + places[x] + places[y], sums[of].1 + 2.0);
            }
        }
        let drawn = |(p, (sum, n)): (&Vec3, &(Vec3, f32))| if *n > 0.0 { p.lerp(*sum / *n, 0.5) } else { *p };
        *places = places.iter().zip(&sums).map(drawn).collect();
    }
}

fn normals(places: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; places.len()];
    for t in triangles {
        let [a, b, c] = t.map(|i| places[i as usize]);
        let normal = (b - a).cross(c - a);
        t.iter().for_each(|i| normals[*i as usize] += normal);
    }
    normals.into_iter().map(Vec3::normalize_or_zero).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on a sphere give one closed surface with outward normals, although the sphere is hollow.
    #[test]
    fn a_ball_has_one_closed_surface() {
        let golden = |i: usize| {
            let (y, turn) = (1.0 - 2.0 * (i as f32 + 0.5) / 20_000.0, i as f32 * 2.399_963);
            let r = (1.0 - y * y).sqrt();
            [10.0 + 3.0 * r * turn.cos(), 3.0 * y, 3.0 * r * turn.sin()]
        };
        let points: Vec<[f32; 3]> = (0..20_000).map(golden).collect();
        let mesh = shell(&points);
        assert!(mesh.triangles.len() > 2_000);
        let centre = Vec3::new(10.0, 0.0, 0.0);
        for [place, normal] in &mesh.corners {
            let out = Vec3::from(*place) - centre;
            assert!((2.8..3.6).contains(&out.length()), "{}", out.length());
            assert!(out.normalize().dot(Vec3::from(*normal)) > 0.8);
        }
        let mut edges = std::collections::HashMap::new();
        for [a, b, c] in &mesh.triangles {
            for (x, y) in [(a, b), (b, c), (c, a)] {
                *edges.entry((*x.min(y), *x.max(y))).or_insert(0) += if x < y { 1 } else { -1 };
            }
        }
        assert!(edges.values().all(|n| *n == 0), "every edge is passed once in each direction");
        let (corners, edges, faces) = (mesh.corners.len() as i64, edges.len() as i64, mesh.triangles.len() as i64);
        assert_eq!(corners - edges + faces, 2, "one surface without holes (Euler)");
    }

    #[test]
    fn few_points_and_flat_ones_have_none() {
        assert_eq!(shell(&[[0.0; 3]; 10]), Mesh::default());
        let flat: Vec<[f32; 3]> = (0..1000).map(|i| [(i % 40) as f32, (i / 40) as f32, 0.0]).collect();
        assert_eq!(shell(&flat), Mesh::default());
        assert_eq!(shell(&[[f32::NAN; 3]; 1000]), Mesh::default());
    }
}
