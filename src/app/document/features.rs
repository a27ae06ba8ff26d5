//! Properties of a simulation that views use: named groups, effects, actions, and probes by shape.

use super::session::Session;
use crate::{
    app::kit::text,
    engine::SimSchema,
    kinds,
    params::ChoiceSpec,
    query::Named,
    sim::{ActionSpec, ActionUndo, ElementSet, Individuals, Meaning, ProbeId, ProbeSpec, Shape, Tap},
};
use std::{collections::BTreeMap, sync::Arc};

/// Function that reads the elements listed in a file. Fails with a message.
pub type ElementListReader = Arc<dyn Fn(&str, &ElementSet) -> Result<Vec<u32>, String> + Send + Sync>;

/// Named groups, effects and actions that the kind offers.
#[derive(Clone)]
pub struct KindFeatures {
    /// Named groups of the project.
    pub named: Arc<[Named]>,
    /// Colours of named groups, as numbers of categorical colours counted from 1.
    pub colors: BTreeMap<String, u8>,
    /// Individuals in the slots of sets, as last reported.
    pub individuals: Vec<(&'static str, Arc<Individuals>)>,
    /// Effects of interventions.
    pub effects: &'static [ChoiceSpec],
    /// Actions on the running simulation.
    pub actions: &'static [ActionSpec],
    /// Seed of random draws in queries.
    pub seed: u64,
    /// Function that reads the elements listed in a file.
    pub listed: ElementListReader,
}

impl Default for KindFeatures {
    fn default() -> Self {
        let listed = Arc::new(|path: &str, _: &ElementSet| Err(format!("{path}: lists in files are not available")));
        Self {
            named: Arc::new([]),
            colors: BTreeMap::new(),
            individuals: vec![],
            effects: &[],
            actions: &[],
            seed: 0,
            listed,
        }
    }
}

impl KindFeatures {
    /// Returns the named selections over a set.
    pub fn named_over(&self, schema: &SimSchema, set: &str) -> Arc<[Named]> {
        let is_first = schema.sets.first().is_none_or(|first| first.name == set);
        self.named.iter().filter(|named| named.is_over(set, is_first)).cloned().collect()
    }

    /// Returns the set of a named selection; `None` if there is no such selection or set.
    pub fn set_named<'a>(&self, schema: &'a SimSchema, name: &str) -> Option<&'a Arc<ElementSet>> {
        let named = self.named.iter().find(|named| named.name == name)?;
        schema.sets.iter().enumerate().find(|(i, set)| named.is_over(set.name, *i == 0)).map(|(_, set)| set)
    }

    /// Returns the individuals in a set of slots; `None` if they are not known.
    pub fn individuals(&self, set: &str) -> Option<&Arc<Individuals>> {
        self.individuals.iter().find(|(name, _)| *name == set).map(|(_, now)| now)
    }
}

/// Returns the actions over a set that have an effect on elements. Of two actions that undo each other, only one is left if
/// all elements are in the state, or none.
pub fn offered_actions(
    actions: &'static [ActionSpec],
    schema: &SimSchema,
    over: &str,
    elements: &[u32],
) -> Vec<&'static ActionSpec> {
    let n_in_state = |action: &str| {
        let state = schema.states.iter().find(|state| state.action == action)?;
        Some(elements.iter().filter(|element| state.has(**element)).count())
    };
    let is_offered = |spec: &&ActionSpec| match spec.undo {
        _ if spec.over != over => false,
        ActionUndo::By(_) if !spec.state.is_empty() => {
            n_in_state(spec.name).is_none_or(|n| n < elements.len() || n == 0)
        }
        ActionUndo::By(undone) => n_in_state(undone).is_none_or(|n| n > 0),
        ActionUndo::Impossible | ActionUndo::Unneeded => true,
    };
    actions.iter().filter(is_offered).collect()
}

/// Returns the tooltip of an action: its description and whether it can be undone.
pub fn action_tooltip(spec: &ActionSpec) -> String {
    let docs = text::unwrap(spec.docs);
    if spec.undo_note().is_empty() { docs.to_string() } else { format!("{docs}\n\n{}", spec.undo_note()) }
}

/// Returns the reason why an action does not apply to this number of elements of its set; `None` if it applies.
pub fn why_not_on(spec: &ActionSpec, n: usize) -> Option<String> {
    if spec.takes(n) {
        return None;
    }
    let (least, most) = spec.n_elements;
    let at_least = if least == most { "" } else { "at least " };
    let noun = text::counted(least.into(), spec.over);
    Some(format!("Takes {at_least}{noun}; selected: {}", text::count(n as u64)))
}

impl Session {
    /// Collects the features of the open project's kind: named selections, interventions, actions.
    pub fn features(&self) -> KindFeatures {
        let session = self;
        let params = session.project.model.params();
        let context = session.project.build_context(&session.folder());
        let listed = move |typed: &str, set: &ElementSet| {
            kinds::shared::element_files::read_neurons(&context.resolve(typed), &set.ids, set.len)
                .map_err(|e| e.to_string())
        };
        KindFeatures {
            named: super::interventions::named(params).into(),
            colors: session.project.view.colors.clone(),
            individuals: session.live.individuals.clone(),
            effects: super::interventions::effects(params),
            actions: session.project.model.actions(),
            seed: session.project.seed,
            listed: Arc::new(listed),
        }
    }
}

/// Whether the model uses a probe of a matching shape.
pub(crate) fn has_probe(schema: &SimSchema, wanted: impl Fn(&Shape) -> bool) -> bool {
    probes_where(schema, wanted).next().is_some()
}

/// Iterates over the probes of a matching shape that the model uses, with their ids.
pub(crate) fn probes_where(
    schema: &SimSchema,
    wanted: impl Fn(&Shape) -> bool,
) -> impl Iterator<Item = (ProbeId, &'static crate::sim::ProbeSpec)> {
    let all = schema.probes.iter().enumerate().map(|(i, p)| (i as ProbeId, p));
    let chosen: Vec<_> = all.filter(|(i, p)| wanted(&p.shape) && !schema.unused.contains(i)).collect();
    chosen.into_iter()
}

/// Creates a tap of all elements of a probe.
pub(crate) fn tap(probe: ProbeId) -> Tap {
    Tap::of(probe)
}

/// Whether a field is a time since the last event, which can be shown as a glow.
pub fn is_time_since(probe: &ProbeSpec) -> bool {
    probe.shape.meaning() == Some(Meaning::TimeSince)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_says_how_many_elements_it_takes() {
        let model = kinds::Model::by_name("synaptic").expect("a kind");
        let why = |action: &str, n: usize| {
            why_not_on(model.actions().iter().find(|spec| spec.name == action).expect(action), n)
        };
        assert_eq!((why("split", 1), why("merge", 2), why("kill", 7)), (None, None, None));
        assert_eq!(why("split", 3).as_deref(), Some("Takes 1 expert; selected: 3"));
        assert_eq!(why("merge", 1).as_deref(), Some("Takes 2 experts; selected: 1"));
        assert_eq!(why("kill", 0).as_deref(), Some("Takes at least 1 expert; selected: 0"));
    }
}
