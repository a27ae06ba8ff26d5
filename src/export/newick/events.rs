//! Converts the individuals of trees to births and deaths sorted by step.

use super::Trees;
use crate::{
    data::{DataError, ProgressFn},
    sim::{Birth, Death, EndCause, LifeEvent},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
    path::Path,
};

/// Number of individuals between two progress reports.
const REPORT_EVERY: usize = 4096;
/// Number of steps per unit of length if lengths are not whole.
const FINE: f64 = 1000.0;
/// Largest step that f64 represents exactly.
const MOST_STEPS: f64 = 9e15;

/// Individual during reading. Times are in units of branch length.
#[derive(Debug)]
pub(super) struct NewickIndividual {
    pub name: String,
    /// Time of birth; `None` if only references to the individual's label have been read.
    pub born: Option<f64>,
    pub end: f64,
    /// Whether the individual ends when its offspring are born.
    pub splits: bool,
    /// Whether the individual ends even if its end is the last step.
    pub ended: bool,
    /// Parents; the parent in the tree of the individual's node comes first.
    pub parents: Vec<usize>,
}

/// Converts individuals to births and deaths by step. Fails if branches are too long, an individual is its own ancestor, or
/// the job is cancelled.
pub(super) fn events(mut all: Vec<NewickIndividual>, path: &Path, watch: &ProgressFn) -> Result<Trees, DataError> {
    let times = all.iter().flat_map(|one| [one.born.unwrap_or(0.0), one.end]);
    let (mut is_whole, mut most) = (true, 0.0_f64);
    times.for_each(|time| (is_whole, most) = (is_whole && (time - time.round()).abs() < 1e-6, most.max(time)));
    let scale = if is_whole { 1.0 } else { FINE };
    if most * scale > MOST_STEPS {
        return Err(DataError::format(path, "branches are too long"));
    }
    let step = |time: f64| (time * scale).round() as u64;
    // An individual whose label occurs only in references begins where its last parent ends.
    for i in 0..all.len() {
        if all[i].born.is_none() {
            let begins = all[i].parents.iter().map(|p| all[*p].end).fold(0.0, f64::max);
            (all[i].born, all[i].end) = (Some(begins), begins);
        }
        if all[i].parents.len() > 1 {
            let mut known = HashSet::new();
            all[i].parents.retain(|parent| known.insert(*parent));
        }
    }
    let last = all.iter().map(|one| step(one.end)).max().unwrap_or(0);
    let born = |one: &NewickIndividual| step(one.born.unwrap_or(0.0));
    let children = Children::of(&all);
    let mut missing: Vec<u32> = all.iter().map(|one| one.parents.len() as u32).collect();
    // The queue sorts individuals by time of birth, parents first.
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> =
        (0..all.len()).filter(|i| missing[*i] == 0).map(|i| Reverse((born(&all[i]), i))).collect();
    let (mut ids, mut events, mut next) = (vec![0_u64; all.len()], vec![], 0);
    let mut now = 0;
    while let Some(Reverse((at, i))) = ready.pop() {
        if (next as usize).is_multiple_of(REPORT_EVERY) && !watch("ordering births", next as f32 / all.len() as f32) {
            return Err(DataError::Cancelled);
        }
        // Rounding may place a child one step before its parent.
        now = at.max(now);
        ids[i] = next;
        next += 1;
        let parents = all[i].parents.iter().map(|parent| ids[*parent]).collect();
        let name = std::mem::take(&mut all[i].name);
        events.push(LifeEvent::Birth(Birth { step: now, child: ids[i], parents, name, ..Birth::default() }));
        let end = step(all[i].end).max(now);
        let merges = children
            .of_parent(i)
            .iter()
            .map(|child| *child as usize)
            .any(|c| all[c].parents.len() > 1 && born(&all[c]) == end);
        if end < last || merges || all[i].splits || all[i].ended {
            let cause = match (merges, all[i].splits) {
                (true, _) => EndCause::Merged,
                (_, true) => EndCause::Split,
                _ => EndCause::Died,
            };
            let death = Death { step: end, gone: ids[i], end: cause, health: None, attributes: Default::default() };
            events.push(LifeEvent::Death(death));
        }
        for child in children.of_parent(i).iter().map(|child| *child as usize) {
            missing[child] -= 1;
            if missing[child] == 0 {
                ready.push(Reverse((born(&all[child]), child)));
            }
        }
    }
    if next < all.len() as u64 {
        return Err(DataError::format(path, "an individual is its own ancestor"));
    }
    // Deaths follow all births of their step.
    events.sort_unstable_by_key(|event| match event {
        LifeEvent::Birth(birth) => (birth.step, false, birth.child),
        LifeEvent::Death(death) => (death.step, true, death.gone),
    });
    Ok(Trees { events, last, scale })
}

/// Children of each individual, in one list.
struct Children {
    /// End of each individual's children in `all`; the children begin at the previous end.
    ends: Vec<u32>,
    all: Vec<u32>,
}

impl Children {
    fn of(individuals: &[NewickIndividual]) -> Self {
        let mut ends = vec![0_u32; individuals.len()];
        individuals.iter().flat_map(|one| &one.parents).for_each(|parent| ends[*parent] += 1);
        let mut n = 0;
        // The loop turns the counts into the position of each individual's next child.
        for count in &mut ends {
            n += std::mem::replace(count, n);
        }
        let mut all = vec![0; n as usize];
        for (child, one) in individuals.iter().enumerate() {
            for parent in &one.parents {
                all[ends[*parent] as usize] = child as u32;
                ends[*parent] += 1;
            }
        }
        Self { ends, all }
    }

    fn of_parent(&self, parent: usize) -> &[u32] {
        let start = if parent == 0 { 0 } else { self.ends[parent - 1] };
        &self.all[start as usize..self.ends[parent] as usize]
    }
}
