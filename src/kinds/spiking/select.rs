//! Resolves targets, which are queries ([`query`](crate::query)) over the neurons of a project. Live values are excluded,
//! because a stimulus has the same targets at all times.

use super::setup::Setup;
use crate::{
    kinds::shared::element_files,
    params::Selection,
    query::{Known, Named},
    sim::{BuildContext, ConnectionSource, ElementSet, SimError},
};

/// Context of a query.
pub struct Selector<'a> {
    /// Neurons and connectivity.
    pub setup: &'a Setup,
    /// Base folder of files, and seed of random choices.
    pub context: &'a BuildContext,
    named: Vec<Named>,
}

impl<'a> Selector<'a> {
    /// Creates a selector over the neurons of a project with its named selections.
    pub fn new(setup: &'a Setup, selections: &[Selection], context: &'a BuildContext) -> Self {
        let named = selections.iter().cloned().map(Named::from);
        Self { setup, context, named: named.filter(|s| s.is_over(setup.neurons.name, true)).collect() }
    }

    /// Returns the element set of the neurons.
    pub fn set(&self) -> &ElementSet {
        &self.setup.neurons
    }

    /// Selects neurons by a query or by the name of a neuron group, ascending. Fails if the query is invalid or selects no
    /// neuron.
    pub fn select(&self, query: &str) -> Result<Vec<u32>, SimError> {
        let set = self.set();
        let listed = |typed: &str| {
            element_files::read_neurons(&self.context.resolve(typed), &set.ids, set.len).map_err(|e| e.to_string())
        };
        let links = Some(self.setup as &dyn ConnectionSource);
        let known = Known {
            set,
            individuals: &[],
            named: &self.named,
            fields: &[],
            links,
            seed: self.context.seed,
            listed: &listed,
        };
        let chosen = known.select(query).map_err(|wrong| SimError::Input(wrong.of(query)))?;
        if chosen.is_empty() {
            return Err(SimError::Input(format!("`{}` selects no neuron", query.trim())));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Category, Connectome, Csr, NeuronTable};

    fn ask(query: &str) -> Result<Vec<u32>, String> {
        let texts = ["gustatory", "gustatory", "optic", "optic"].map(str::to_owned).to_vec();
        let neurons = NeuronTable {
            len: 4,
            ids: (100..104).collect(),
            categories: vec![Category { name: "class".into(), texts }],
            ..NeuronTable::default()
        };
        let words = vec![Csr::pack(2, 2, 3), Csr::pack(2, 3, -1)];
        let synapses = Csr { rows: vec![0, 2, 2, 2, 2], words, target_bits: 2, overflow: vec![] };
        let setup = Setup::new(Connectome { neurons, synapses, ..Connectome::default() }).expect("a network");
        let named =
            |name: &str, query: &str| Selection { name: name.to_owned(), query: query.into(), ..Selection::default() };
        let context = BuildContext { seed: 5, ..BuildContext::default() };
        let selector = Selector::new(&setup, &[named("sugar", "class = gustatory")], &context);
        selector.select(query).map_err(|e| e.to_string())
    }

    #[test]
    fn targets() {
        assert_eq!(ask("in sugar and ei = excitatory").as_deref(), Ok(&[0][..]));
        assert_eq!(ask("downstream of sugar").as_deref(), Ok(&[2, 3][..]));
        assert_eq!(ask("downstream of sugar >= 2").as_deref(), Ok(&[2][..]));
        for (query, want) in [
            ("class = gustatory and idx = 3", "selects no neuron"),
            ("file = nowhere.csv", "nowhere.csv: "),
            ("rate > 20 Hz", "there is no column `rate`"),
        ] {
            let got = ask(query).unwrap_err();
            assert!(got.contains(want), "{query}: {got}");
        }
    }
}
