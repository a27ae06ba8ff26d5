//! Plans which experts split, merge or are removed.

use super::{LifeCycle, LifeError, Move, ParentChoice, Removal};

/// Inputs of the rules: one entry per slot of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerStatus<'a> {
    /// Health, see [`health`](super::health()), `[E]`.
    pub health: &'a [f64],
    /// Alive flag per slot, `[E]`; 0 for empty slots.
    pub alive: &'a [u8],
    /// Whether each expert is frozen, `[E]`.
    pub frozen: &'a [bool],
    /// Number of steps since birth, `[E]`.
    pub ages: &'a [u64],
    /// Average share of tokens, `[E]`.
    pub fatigue: &'a [f32],
    /// Router embeddings, unit vectors, `[E, F]`.
    pub embeddings: &'a [f32],
    /// Mean square gradients, `[E]`, for [`ParentChoice::GradientUtility`]; empty otherwise.
    pub utility: &'a [f64],
    /// Number of experts per token, k.
    pub top_k: usize,
}

impl LayerStatus<'_> {
    fn slots(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        0..self.health.len()
    }

    fn is_alive(&self, slot: usize) -> bool {
        self.alive[slot] != 0
    }

    /// Whether the expert is alive and not frozen.
    fn is_free_to_change(&self, slot: usize) -> bool {
        self.is_alive(slot) && !self.frozen[slot]
    }

    fn n_alive(&self) -> usize {
        self.alive.iter().filter(|alive| **alive != 0).count()
    }

    fn cosine(&self, a: usize, b: usize) -> f64 {
        let n = self.embeddings.len() / self.health.len().max(1);
        let row = |slot: usize| &self.embeddings[slot * n..(slot + 1) * n];
        row(a).iter().zip(row(b)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Iterates over all pairs of the slots `among`, as (cosine, first, second).
    fn pairs(&self, among: &[usize]) -> impl Iterator<Item = (f64, usize, usize)> {
        let pairs = among.iter().enumerate().flat_map(|(i, a)| among[i + 1..].iter().map(move |b| (*a, *b)));
        pairs.map(|(a, b)| (self.cosine(a, b), a, b))
    }

    /// Finds the most similar pair of the slots `among`, as (cosine, first, second); `None` for fewer than two slots.
    fn most_similar(&self, among: &[usize]) -> Option<(f64, usize, usize)> {
        // Among equal pairs, the first is kept.
        self.pairs(among).fold(None, |best, pair| {
            if best.is_none_or(|best: (f64, _, _)| pair.0 > best.0) { Some(pair) } else { best }
        })
    }

    /// Returns the move that merges two experts, and the loser's slot. The healthier expert wins, and its weight is its
    /// share of their load.
    fn merge(&self, a: usize, b: usize) -> (Move, usize) {
        let (winner, loser) = if self.health[b] > self.health[a] { (b, a) } else { (a, b) };
        let [w, l] = [winner, loser].map(|slot| f64::from(self.fatigue[slot]));
        let alpha = if w + l > 1e-6 { w / (w + l) } else { 0.5 };
        (Move::Merge { winner: winner as u32, loser: loser as u32, alpha }, loser)
    }
}

/// Finds the slot with the largest value, or the lowest slot of several with this value; `None` without slots.
fn largest(slots: impl Iterator<Item = usize>, value: impl Fn(usize) -> f64) -> Option<usize> {
    slots.fold(None, |best, slot| match best {
        Some(best) if value(slot) <= value(best) => Some(best),
        _ => Some(slot),
    })
}

/// Plans the moves of one call in one layer, in order: at most one that frees a slot, then at most one split. `cost`
/// measures the rise of the loss without the expert of a slot, and is called only for experts that would end, if
/// [`LifeCycle::loss_limit`] is finite. Fails if `cost` fails.
pub fn plan<E>(
    op: &LifeCycle,
    layer: &LayerStatus<'_>,
    cost: impl FnMut(usize) -> Result<f64, E>,
) -> Result<Vec<Move>, E> {
    let is_judged = |slot: &usize| layer.is_free_to_change(*slot) && op.is_judged(layer.ages[*slot]);
    let judged = layer.slots().filter(is_judged).collect();
    let mut call = Call { op, layer, judged, costs: vec![None; layer.health.len()], cost };
    if let Some(empty) = layer.slots().find(|slot| !layer.is_alive(*slot)) {
        return Ok(call.split(&[], empty).into_iter().collect());
    }
    for stage in [Call::replace_dead, Call::merge, Call::replace_weakest] {
        let moves = stage(&mut call)?;
        if !moves.is_empty() {
            return Ok(moves);
        }
    }
    Ok(vec![])
}

/// State of a call.
struct Call<'a, F> {
    op: &'a LifeCycle,
    layer: &'a LayerStatus<'a>,
    /// Experts that may change and are past their grace period.
    judged: Vec<usize>,
    /// Measured costs by slot; `None` if they were not measured.
    costs: Vec<Option<f64>>,
    cost: F,
}

impl<E, F: FnMut(usize) -> Result<f64, E>> Call<'_, F> {
    /// Returns the split of the healthiest expert that the call has not changed into slot `child`; `None` if no such expert
    /// is healthy enough.
    fn split(&self, changed: &[usize], child: usize) -> Option<Move> {
        let (op, layer) = (self.op, self.layer);
        let candidates = self.judged.iter().copied();
        let candidates = candidates.filter(|slot| !changed.contains(slot) && layer.health[*slot] >= op.healthy);
        let parent = largest(candidates, |slot| match op.parent {
            ParentChoice::Healthiest => layer.health[slot],
            ParentChoice::GradientUtility => layer.utility.get(slot).copied().unwrap_or_default(),
        })?;
        Some(Move::Split { parent: parent as u32, child: child as u32 })
    }

    /// Whether the loss limit permits that an expert ends. Fails if the cost cannot be measured.
    fn may_end(&mut self, slot: usize) -> Result<bool, E> {
        let limit = self.op.loss_limit;
        if limit == f64::INFINITY {
            return Ok(true);
        }
        let cost = match self.costs[slot] {
            Some(cost) => cost,
            None => {
                let cost = (self.cost)(slot)?;
                *self.costs[slot].insert(cost)
            }
        };
        Ok(cost <= limit)
    }

    fn replace_dead(&mut self) -> Result<Vec<Move>, E> {
        self.replace(self.op.dead, Removal::Dead)
    }

    fn replace_weakest(&mut self) -> Result<Vec<Move>, E> {
        self.replace(self.op.weakest, Removal::Weakest)
    }

    /// Plans the replacement of the weakest expert that may end, with a health up to `limit`, by a child; empty if there is
    /// none. Fails if the measurement of a cost fails.
    fn replace(&mut self, limit: f64, cause: Removal) -> Result<Vec<Move>, E> {
        let health = self.layer.health;
        let mut weak: Vec<usize> = self.judged.iter().copied().filter(|slot| health[*slot] <= limit).collect();
        weak.sort_by(|a, b| health[*a].total_cmp(&health[*b]));
        for slot in weak {
            let Some(split) = self.split(&[slot], slot) else { break };
            if self.may_end(slot)? {
                return Ok(vec![Move::Remove { slot: slot as u32, cause }, split]);
            }
        }
        Ok(vec![])
    }

    /// Plans the merge of the two most similar weak experts that may end; empty if there are none. Fails if the measurement
    /// of a cost fails.
    fn merge(&mut self) -> Result<Vec<Move>, E> {
        let (op, layer) = (self.op, self.layer);
        let weak: Vec<usize> = self.judged.iter().copied().filter(|slot| layer.health[*slot] <= op.weak).collect();
        let mut pairs: Vec<_> = layer.pairs(&weak).filter(|(cosine, ..)| *cosine > op.similar).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, a, b) in pairs {
            if !self.may_end(a)? || !self.may_end(b)? {
                continue;
            }
            let (merge, loser) = layer.merge(a, b);
            let successor = self.split(&[a, b], loser);
            if successor.is_some() || layer.n_alive() > layer.top_k {
                return Ok(std::iter::once(merge).chain(successor).collect());
            }
        }
        Ok(vec![])
    }
}

/// A change that the user requests, by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Splits an expert into an empty slot, or into the slot of the weakest other expert.
    Split(u32),
    /// Merges two experts. The slot of the less healthy expert becomes free.
    Merge(u32, u32),
    /// Merges the two most similar experts of the less healthy half.
    MergeMostSimilar,
    /// Removes an expert on request.
    Kill(u32),
}

/// Plans the moves of a request, independent of the thresholds. Fails if the request names an unsuitable slot or leaves too
/// few experts.
pub fn plan_wish(layer: &LayerStatus<'_>, wish: Wish) -> Result<Vec<Move>, LifeError> {
    let check = |slot: u32| {
        let at = slot as usize;
        if at >= layer.health.len() || !layer.is_alive(at) {
            return Err(LifeError::Empty(slot));
        }
        if layer.frozen[at] { Err(LifeError::Frozen(slot)) } else { Ok(at) }
    };
    let (alive, top_k) = (layer.n_alive(), layer.top_k);
    let one_less = || if alive > top_k { Ok(()) } else { Err(LifeError::TooFew { top_k, alive }) };
    match wish {
        Wish::Split(slot) => {
            let parent = check(slot)?;
            if let Some(empty) = layer.slots().find(|s| !layer.is_alive(*s)) {
                return Ok(vec![Move::Split { parent: slot, child: empty as u32 }]);
            }
            let others = layer.slots().filter(|s| *s != parent && layer.is_free_to_change(*s));
            let weakest = largest(others, |s| -layer.health[s]).ok_or(LifeError::NoSlot)? as u32;
            let remove = Move::Remove { slot: weakest, cause: Removal::Weakest };
            Ok(vec![remove, Move::Split { parent: slot, child: weakest }])
        }
        Wish::Merge(a, b) => {
            let (first, second) = (check(a)?, check(b)?);
            if a == b {
                return Err(LifeError::SameSlot);
            }
            one_less()?;
            Ok(vec![layer.merge(first, second).0])
        }
        Wish::MergeMostSimilar => {
            let mut weak: Vec<usize> = layer.slots().filter(|slot| layer.is_free_to_change(*slot)).collect();
            weak.sort_by(|a, b| layer.health[*a].total_cmp(&layer.health[*b]));
            weak.truncate((weak.len() / 2).max(2));
            weak.sort_unstable();
            let (_, a, b) = layer.most_similar(&weak).ok_or(LifeError::NoPair)?;
            one_less()?;
            Ok(vec![layer.merge(a, b).0])
        }
        Wish::Kill(slot) => {
            check(slot)?;
            one_less()?;
            Ok(vec![Move::Remove { slot, cause: Removal::Killed }])
        }
    }
}

#[cfg(test)]
mod tests;
