//! Exact coupling sums in O(N log N).
//!
//! e^{-|a - b|} factorises at any point c between a and b: e^{-|a - c|} e^{-|c - b|}. J is the product of two such factors, in x
//! = f/T and in H. In the binary tree over the nuclei sorted by x, any two nuclei belong to exactly one pair of neighbouring
//! blocks L and R. There the factor in x splits at the smallest x of R. When L and R are merged by H, the factor in H splits at
//! the smallest H of all into e^{H} and e^{-H}, once upwards and once downwards (divide and conquer after Langrené & Warin 2020).
//! Exponents in x are never positive, so the range of f is not limited. Exponents in H are at most ln D for entropies of D
//! weights; above [`MAX_H_RANGE`], the sums run over all pairs. Ties follow the sort order, so each pair counts once.
//!
//! Langrené & Warin attenuate running sums from element to element, which accumulates N roundings of factors just below 1.
//! Splitting at one point needs only a few roundings, and running sums are in double precision.
//!
//! The plan stores the quantities that depend only on f and H: the block that each element comes from, and its two factors.

use super::{Kernel, Sums, turned};
use crate::kinds::{nuclei::real::Real, shared::threads::Threads};
use std::mem::swap;

/// [cos, sin, 1, 0] of one nucleus, or sums over nuclei.
type Four<T> = [T; 4];

/// Maximum range of H; e^40 is well within single precision.
pub const MAX_H_RANGE: f64 = 40.0;

/// A nucleus during the merges.
#[derive(Clone, Copy, Debug, Default)]
struct Node<T> {
    x: T,
    h: T,
    /// Factor e^{min H - H}.
    falling: T,
    index: u32,
}

/// Factors of one element in one merge.
#[derive(Clone, Copy, Debug, Default)]
struct Link<T> {
    /// e^{-distance in x to the first element of the right block} times e^{H - min H}.
    rising: T,
    /// e^{-distance in x to the first element of the right block} times e^{min H - H}.
    falling: T,
}

/// The merge tree of a population, with its workspace.
#[derive(Default)]
pub struct Fast<T> {
    /// Number of levels merged within chunks, and the chunk length.
    local: (usize, usize),
    /// Number of merge levels.
    levels: usize,
    /// Indices sorted by x.
    order: Vec<(u64, u32)>,
    /// Values x in sorted order.
    xs: Vec<T>,
    nodes: [Vec<Node<T>>; 2],
    /// `[levels × N]` 1 if an element comes from the right block; local levels are stored chunk by chunk.
    from_right: Vec<u8>,
    links: Vec<Link<T>>,
    /// Indices sorted by H.
    last: Vec<u32>,
    w: [Vec<Four<T>>; 2],
    out: [Vec<Four<T>>; 2],
}

const fn levels_of(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

fn fit<X: Clone + Default>(array: &mut Vec<X>, len: usize) {
    array.clear();
    array.resize(len, X::default());
}

impl<T: Real> Fast<T> {
    /// Reserves memory for up to `most` nuclei.
    pub fn reserve(&mut self, most: usize) {
        let levels = levels_of(most);
        fit(&mut self.order, most);
        fit(&mut self.xs, most);
        self.nodes.iter_mut().for_each(|nodes| fit(nodes, most));
        fit(&mut self.from_right, levels * most);
        fit(&mut self.links, levels * most);
        fit(&mut self.last, most);
        self.w.iter_mut().chain(&mut self.out).for_each(|four| fit(four, most));
    }

    /// Sorts and merges the nuclei, and stores the factors.
    pub fn plan(&mut self, kernel: Kernel<'_, T>, threads: &Threads) {
        let n = kernel.x.len();
        self.choose_chunks(n, threads.number());
        for (i, (slot, x)) in self.order.iter_mut().zip(kernel.x).enumerate() {
            *slot = (x.ordered(), i as u32);
        }
        self.order[..n].sort_unstable();
        let least = kernel.h.iter().copied().reduce(|a, b| if b < a { b } else { a }).unwrap_or_default();
        let [nodes, spare] = &mut self.nodes;
        for ((node, at), (_, index)) in nodes.iter_mut().zip(&mut self.xs).zip(&self.order[..n]) {
            let (x, h) = (kernel.x[*index as usize], kernel.h[*index as usize]);
            *node = Node { x, h, falling: (least - h).exp_neg(), index: *index };
            *at = x;
        }
        let (local, piece) = self.local;
        let split = local * n;
        let (sides, high_sides) = self.from_right[..self.levels * n].split_at_mut(split);
        let (links, high_links) = self.links[..self.levels * n].split_at_mut(split);
        let pieces = nodes[..n].chunks_mut(piece).zip(spare[..n].chunks_mut(piece)).zip(self.xs[..n].chunks(piece));
        let pieces = pieces.zip(sides.chunks_mut(local.max(1) * piece).zip(links.chunks_mut(local.max(1) * piece)));
        threads.for_each(25 * split, pieces, |(((mut nodes, mut spare), xs), (sides, links))| {
            let of = nodes.len();
            for (level, (sides, links)) in sides.chunks_mut(of).zip(links.chunks_mut(of)).enumerate() {
                merge(1 << level, nodes, spare, xs, sides, links);
                swap(&mut nodes, &mut spare);
            }
        });
        for level in local..self.levels {
            let (from, to) = source_and_target(&mut self.nodes, level);
            let at = (level - local) * n..(level - local + 1) * n;
            let (sides, links) = (&mut high_sides[at.clone()], &mut high_links[at]);
            merge(1 << level, &from[..n], &mut to[..n], &self.xs[..n], sides, links);
        }
        let (sorted, _) = source_and_target(&mut self.nodes, self.levels);
        self.last[..n].iter_mut().zip(sorted).for_each(|(last, node)| *last = node.index);
    }

    /// Chooses the chunk length such that every thread has a chunk.
    fn choose_chunks(&mut self, n: usize, threads: usize) {
        self.levels = levels_of(n);
        let parts = threads.next_power_of_two().ilog2() as usize;
        let local = self.levels.saturating_sub(parts);
        self.local = (local, 1 << local);
    }

    /// Computes S and d from the stored factors.
    pub fn sums(&mut self, cos: &[T], sin: &[T], out: &mut Sums<T>, threads: &Threads) {
        let n = cos.len();
        let (local, piece) = self.local;
        for ((w, sum), (_, index)) in self.w[0].iter_mut().zip(&mut self.out[0]).zip(&self.order[..n]) {
            *w = [cos[*index as usize], sin[*index as usize], T::ONE, T::ZERO];
            *sum = *w; // every nucleus with itself
        }
        let split = local * n;
        let (sides, high_sides) = self.from_right[..self.levels * n].split_at(split);
        let (links, high_links) = self.links[..self.levels * n].split_at(split);
        let ([w, spare_w], [sum, spare_sum]) = (&mut self.w, &mut self.out);
        let pieces = w[..n].chunks_mut(piece).zip(spare_w[..n].chunks_mut(piece));
        let pieces = pieces.zip(sum[..n].chunks_mut(piece).zip(spare_sum[..n].chunks_mut(piece)));
        let pieces = pieces.zip(sides.chunks(local.max(1) * piece).zip(links.chunks(local.max(1) * piece)));
        threads.for_each(16 * split, pieces, |(((mut w, mut spare_w), (mut sum, mut spare_sum)), (sides, links))| {
            let of = w.len();
            for (level, (sides, links)) in sides.chunks(of).zip(links.chunks(of)).enumerate() {
                sum_level(1 << level, (w, sum), (spare_w, spare_sum), sides, links);
                swap(&mut w, &mut spare_w);
                swap(&mut sum, &mut spare_sum);
            }
        });
        for level in local..self.levels {
            let ((w, to_w), (sum, to_sum)) =
                (source_and_target(&mut self.w, level), source_and_target(&mut self.out, level));
            let at = (level - local) * n..(level - local + 1) * n;
            let (sides, links) = (&high_sides[at.clone()], &high_links[at]);
            sum_level(1 << level, (&w[..n], &sum[..n]), (&mut to_w[..n], &mut to_sum[..n]), sides, links);
        }
        let (sums, _) = source_and_target(&mut self.out, self.levels);
        for (i, [re, im, d, _]) in self.last[..n].iter().map(|i| *i as usize).zip(&*sums) {
            (out.re[i], out.im[i]) = turned(*re, *im, cos[i], sin[i]);
            out.d[i] = *d;
        }
    }

    pub fn n_bytes(&self) -> u64 {
        let per_level = self.from_right.capacity() + self.links.capacity() * size_of::<Link<T>>();
        let nodes = self.nodes.iter().map(|n| n.capacity() * size_of::<Node<T>>()).sum::<usize>();
        let four = self.w.iter().chain(&self.out).map(|f| f.capacity() * size_of::<Four<T>>()).sum::<usize>();
        let orders = self.order.capacity() * 16 + self.last.capacity() * 4 + self.xs.capacity() * T::BYTES;
        (per_level + nodes + four + orders) as u64
    }

    /// Returns the memory for at most `most` nuclei, bytes.
    pub const fn bytes_of(most: usize) -> u64 {
        let per_level = 1 + size_of::<Link<T>>();
        let fixed = 2 * size_of::<Node<T>>() + 4 * size_of::<Four<T>>() + 16 + 4 + T::BYTES;
        (most * (levels_of(most) * per_level + fixed)) as u64
    }
}

/// Returns the source and destination buffer of a level.
fn source_and_target<X>(pair: &mut [Vec<X>; 2], level: usize) -> (&mut [X], &mut [X]) {
    let [even, odd] = pair;
    if level.is_multiple_of(2) { (even, odd) } else { (odd, even) }
}

/// Merges neighbouring blocks of `half` elements by H; on ties the left element comes first.
fn merge<T: Real>(
    half: usize,
    from: &[Node<T>],
    to: &mut [Node<T>],
    xs: &[T],
    sides: &mut [u8],
    links: &mut [Link<T>],
) {
    let blocks = from.chunks(2 * half).zip(to.chunks_mut(2 * half)).zip(xs.chunks(2 * half));
    let blocks = blocks.zip(sides.chunks_mut(2 * half).zip(links.chunks_mut(2 * half)));
    for (((from, to), xs), (sides, links)) in blocks {
        if from.len() <= half {
            to.copy_from_slice(from); // no block on the right
            continue;
        }
        let (edge, right_end) = (xs[half], from.len());
        let (mut left, mut right) = (0, half);
        for ((to, side), link) in to.iter_mut().zip(sides).zip(&mut *links) {
            let takes_right = left == half || (right < right_end && from[right].h < from[left].h);
            let node = from[if takes_right { right } else { left }];
            left += usize::from(!takes_right);
            right += usize::from(takes_right);
            *side = takes_right.into();
            *link = Link { rising: node.x - edge, falling: node.falling };
            *to = node;
        }
        multiply_factors(links);
    }
}

/// Replaces distances in x and factors in H by their products.
fn multiply_factors<T: Real>(links: &mut [Link<T>]) {
    for link in links {
        let factor = (-link.rising.abs()).exp_neg();
        *link = Link { rising: factor / link.falling, falling: factor * link.falling };
    }
}

/// Computes one level of all sums: moves elements and sums into the merged order, and adds the sums between L and R.
fn sum_level<T: Real>(
    half: usize,
    (w, sum): (&[Four<T>], &[Four<T>]),
    (to_w, to_sum): (&mut [Four<T>], &mut [Four<T>]),
    sides: &[u8],
    links: &[Link<T>],
) {
    let blocks = w.chunks(2 * half).zip(sum.chunks(2 * half));
    let blocks = blocks.zip(to_w.chunks_mut(2 * half).zip(to_sum.chunks_mut(2 * half)));
    let blocks = blocks.zip(sides.chunks(2 * half).zip(links.chunks(2 * half)));
    for (((w, sum), (to_w, to_sum)), (sides, links)) in blocks {
        if w.len() <= half {
            to_w.copy_from_slice(w);
            to_sum.copy_from_slice(sum);
            continue;
        }
        sum_upwards(half, (w, sum), (to_w, to_sum), sides, links);
        sum_downwards(to_w, to_sum, sides, links);
    }
}

/// Running sums over the left block and over the right block.
type RunningSums = [[f64; 4]; 2];

/// Adds the running sum of the other block to an element's sum, and the element to the running sum of its own block.
#[inline(always)]
fn add_element<T: Real>(
    carry: &mut RunningSums,
    inward: T,
    outward: T,
    is_right: bool,
    w: &Four<T>,
    sum: &mut Four<T>,
) {
    let [left, right] = carry;
    // Products with 0 avoid an unpredictable branch.
    let (in_left, in_right) = if is_right { (T::ZERO, inward) } else { (inward, T::ZERO) };
    let (from_left, from_right) = if is_right { (outward, T::ZERO) } else { (T::ZERO, outward) };
    for i in 0..4 {
        sum[i] += from_left * T::of(left[i]) + from_right * T::of(right[i]);
        left[i] += (in_left * w[i]).wide();
        right[i] += (in_right * w[i]).wide();
    }
}

fn sum_upwards<T: Real>(
    half: usize,
    (w, sum): (&[Four<T>], &[Four<T>]),
    (to_w, to_sum): (&mut [Four<T>], &mut [Four<T>]),
    sides: &[u8],
    links: &[Link<T>],
) {
    let mut carry = RunningSums::default();
    let (mut left, mut right) = (0, half);
    for (((to_w, to_sum), side), link) in to_w.iter_mut().zip(to_sum).zip(sides).zip(links) {
        let is_right = *side != 0;
        let at = if is_right { right } else { left };
        left += usize::from(!is_right);
        right += usize::from(is_right);
        (*to_w, *to_sum) = (w[at], sum[at]);
        add_element(&mut carry, link.rising, link.falling, is_right, to_w, to_sum);
    }
}

fn sum_downwards<T: Real>(w: &[Four<T>], sum: &mut [Four<T>], sides: &[u8], links: &[Link<T>]) {
    let mut carry = RunningSums::default();
    for (((w, sum), side), link) in w.iter().zip(sum).zip(sides).zip(links).rev() {
        add_element(&mut carry, link.falling, link.rising, *side != 0, w, sum);
    }
}
