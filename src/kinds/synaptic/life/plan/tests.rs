//! Tests of the rules, their thresholds and requests.

use super::*;
use crate::kinds::synaptic::life::health;

/// Inputs of the rules with the given health. Other values trigger no rule.
struct Case {
    health: Vec<f64>,
    alive: Vec<u8>,
    frozen: Vec<bool>,
    ages: Vec<u64>,
    fatigue: Vec<f32>,
    embeddings: Vec<f32>,
    utility: Vec<f64>,
}

impl Case {
    fn new(health: [f64; 4]) -> Self {
        // The embeddings are orthogonal.
        let embeddings = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
        Self {
            health: health.to_vec(),
            alive: vec![1; 4],
            frozen: vec![false; 4],
            ages: vec![1000; 4],
            fatigue: vec![0.3, 0.1, 0.2, 0.4],
            embeddings,
            utility: vec![],
        }
    }

    fn status(&self) -> LayerStatus<'_> {
        LayerStatus {
            health: &self.health,
            alive: &self.alive,
            frozen: &self.frozen,
            ages: &self.ages,
            fatigue: &self.fatigue,
            embeddings: &self.embeddings,
            utility: &self.utility,
            top_k: 2,
        }
    }

    fn plan(&self) -> Vec<Move> {
        self.plan_by(&LifeCycle::default(), &[])
    }

    /// Plans with measured costs by slot.
    fn plan_by(&self, op: &LifeCycle, costs: &[f64]) -> Vec<Move> {
        plan(op, &self.status(), |slot| costs.get(slot).copied().ok_or(slot)).expect("no other cost is asked for")
    }

    fn twins(mut self, a: usize, b: usize) -> Self {
        self.embeddings.copy_within(a * 4..(a + 1) * 4, b * 4);
        self
    }
}

#[test]
fn the_rules_in_their_order() {
    let remove = |slot, cause| Move::Remove { slot, cause };
    let split = |parent, child| Move::Split { parent, child };
    let calm = Case::new([0.45, 0.4, 0.3, 0.5]);
    assert_eq!(calm.plan(), []);
    // A dead expert precedes a similar weak pair, which precedes the weakest.
    let dead = Case::new([0.2, 0.02, 0.2, 0.5]).twins(0, 2);
    assert_eq!(dead.plan(), [remove(1, Removal::Dead), split(3, 1)]);
    let pair = Case::new([0.2, 0.1, 0.25, 0.5]).twins(0, 2);
    let alpha = f64::from(0.2_f32) / (f64::from(0.2_f32) + f64::from(0.3_f32));
    assert_eq!(pair.plan(), [Move::Merge { winner: 2, loser: 0, alpha }, split(3, 0)]);
    let weakest = Case::new([0.2, 0.12, 0.26, 0.5]).twins(0, 2);
    assert_eq!(weakest.plan(), [remove(1, Removal::Weakest), split(3, 1)]);
    // Without a healthy expert, only a merge is planned; the slot stays empty until the next call.
    let merge_only = Case::new([0.2, 0.01, 0.25, 0.44]).twins(0, 2);
    assert_eq!(merge_only.plan(), [Move::Merge { winner: 2, loser: 0, alpha }]);
    let mut empty = Case::new([0.0, 0.01, 0.3, 0.44]);
    empty.alive[0] = 0;
    assert_eq!(empty.plan(), []);
    empty.health[3] = 0.9;
    assert_eq!(empty.plan(), [split(3, 0)]);
    // Newborn and frozen experts are not changed.
    let mut young = Case::new([0.3, 0.01, 0.3, 0.5]);
    young.ages[1] = 100;
    assert_eq!(young.plan(), []);
    young.ages[1] = 101;
    young.frozen[3] = true;
    assert_eq!(young.plan(), []);
    young.frozen[3] = false;
    assert_eq!(young.plan(), [remove(1, Removal::Dead), split(3, 1)]);
    // With `GradientUtility`, the healthy expert with the largest gradients splits.
    let mut utility = Case::new([0.6, 0.01, 0.3, 0.5]);
    utility.utility = vec![1.0, 9.0, 8.0, 2.0];
    assert_eq!(utility.plan()[1], split(0, 1));
    let by_utility = LifeCycle { parent: ParentChoice::GradientUtility, ..LifeCycle::default() };
    assert_eq!(utility.plan_by(&by_utility, &[])[1], split(3, 1));
}

#[test]
fn experts_that_the_loss_needs_do_not_end() {
    let limited = LifeCycle { loss_limit: 0.005, ..LifeCycle::default() };
    let ended = |case: &Case, costs: [f64; 4]| match case.plan_by(&limited, &costs)[..] {
        [Move::Remove { slot, .. } | Move::Merge { loser: slot, .. }, ..] => Some(slot),
        _ => None,
    };
    let weak = Case::new([0.1, 0.08, 0.12, 0.5]);
    assert_eq!(ended(&weak, [0.0, 0.0, 0.0, 0.0]), Some(1));
    assert_eq!(ended(&weak, [0.004, 0.006, 0.0, 0.0]), Some(0), "the next weakest");
    assert_eq!(ended(&weak, [0.006, 0.006, -0.01, 0.0]), Some(2));
    assert_eq!(ended(&weak, [0.006; 4]), None);
    // An expert above the loss limit does not merge, and another pair does. A dead expert can also be above the limit.
    let twins = Case::new([0.2, 0.24, 0.22, 0.5]).twins(0, 1).twins(0, 2);
    assert_eq!(ended(&twins, [0.0; 4]), Some(0));
    assert_eq!(ended(&twins, [0.01, 0.0, 0.0, 0.0]), Some(2));
    assert_eq!(ended(&twins, [0.01, 0.01, 0.0, 0.0]), None);
    assert_eq!(ended(&Case::new([0.3, 0.02, 0.3, 0.5]), [0.0, 0.2, 0.0, 0.0]), None);
    // If no expert can end, nothing is measured.
    let calm = Case::new([0.45, 0.4, 0.3, 0.5]);
    assert_eq!(plan(&limited, &calm.status(), Err::<f64, usize>), Ok(vec![]));
    let without_parent = Case::new([0.3, 0.01, 0.3, 0.44]);
    assert_eq!(plan(&limited, &without_parent.status(), Err::<f64, usize>), Ok(vec![]));
}

#[test]
fn health_is_that_of_the_thresholds() {
    // The loads are the fair load and 2, 0.53 and 0.04 times the fair load, each with the energy that it leads to.
    for (rho, energy, want) in [(1.0, 0.9, 0.45), (2.0, 0.8, 0.8), (0.53, 0.947, 0.25), (0.04, 0.996, 0.02)] {
        let fatigue = [rho * 0.5, 0.1, 0.1, 0.1];
        let got = health(&fatigue, &[energy; 4], &[1; 4], 2)[0];
        assert!((got - want).abs() < 0.002, "{rho}: {got}");
    }
    assert_eq!(health(&[9.0], &[0.7_f32], &[0], 1), [0.0]);
}

#[test]
fn calls_are_due_after_the_warm_up() {
    let op = LifeCycle { warm_up: 200, interval: 100, ..LifeCycle::default() };
    let due: Vec<u64> = (0..=450).filter(|step| op.is_due(*step)).collect();
    assert_eq!(due, [200, 300, 400]);
    assert!(!(0..300).any(|step| LifeCycle { interval: 0, ..op }.is_due(step)));
    assert!(!LifeCycle { warm_up: 0, ..op }.is_due(0));
}

#[test]
fn wishes_are_checked() {
    let mut case = Case::new([0.2, 0.3, 0.25, 0.5]).twins(0, 2);
    case.frozen[1] = true;
    let ask = |case: &Case, wish| plan_wish(&case.status(), wish);
    let alpha = f64::from(0.2_f32) / (f64::from(0.2_f32) + f64::from(0.3_f32));
    let merge = Move::Merge { winner: 2, loser: 0, alpha };
    assert_eq!(ask(&case, Wish::Merge(0, 2)), Ok(vec![merge]));
    assert_eq!(ask(&case, Wish::MergeMostSimilar), Ok(vec![merge]));
    assert_eq!(ask(&case, Wish::Merge(0, 0)), Err(LifeError::SameSlot));
    assert_eq!(ask(&case, Wish::Merge(0, 1)), Err(LifeError::Frozen(1)));
    assert_eq!(ask(&case, Wish::Kill(7)), Err(LifeError::Empty(7)));
    assert_eq!(ask(&case, Wish::Kill(3)), Ok(vec![Move::Remove { slot: 3, cause: Removal::Killed }]));
    let replaced = vec![Move::Remove { slot: 0, cause: Removal::Weakest }, Move::Split { parent: 2, child: 0 }];
    assert_eq!(ask(&case, Wish::Split(2)), Ok(replaced));
    case.alive = vec![1, 1, 0, 0];
    assert_eq!(ask(&case, Wish::Kill(0)), Err(LifeError::TooFew { top_k: 2, alive: 2 }));
    assert_eq!(ask(&case, Wish::Split(0)), Ok(vec![Move::Split { parent: 0, child: 2 }]));
    assert_eq!(ask(&case, Wish::Split(2)), Err(LifeError::Empty(2)));
}
