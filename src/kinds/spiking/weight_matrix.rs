//! Mean weights of plastic synapses between categories of neurons: a matrix of the present weights. Sums over weights are integers,
//! so that they depend neither on the order of the synapses nor on the backend.

use super::{
    general::{homeostasis::plan::units_per_weight, plan::Plan},
    params::{Params, Source},
    probes::WEIGHT_MATRIX,
    select::Selector,
    setup::Setup,
    weight_readings::learning_projections,
};
use crate::sim::{Axis, BuildContext, Column, Matrix, Reading, ReadingCost, SimError, Tap, TapKey};
use std::sync::Arc;

/// Choice of the argument `projection` that includes all projections with changing weights.
const ALL: &str = "all";
/// Choice of the argument `by` that takes the neuron groups of the project as categories.
const GROUPS: &str = "neuron groups";

/// Returns the values of the arguments of [`WEIGHT_MATRIX`]: projections, and columns or the neuron groups.
pub fn choices(params: &Params, setup: &Setup) -> Vec<Vec<String>> {
    let projections = learning_projections(params).into_iter().map(|(_, name)| name);
    let columns = setup.neurons.columns.iter().map(|column| column.name.clone());
    let groups = (!params.selections.is_empty()).then(|| GROUPS.to_owned());
    vec![std::iter::once(ALL.to_owned()).chain(projections).collect(), columns.chain(groups).collect()]
}

/// Categories of the neurons, which may overlap.
#[derive(Clone, Debug, Default, PartialEq)]
struct Categories {
    names: Arc<Vec<String>>,
    /// Start of the categories of each neuron in `list`; one more entry than neurons.
    starts: Vec<u32>,
    /// Indices of categories.
    list: Vec<u16>,
}

impl Categories {
    fn of_column(column: &Column) -> Self {
        let name = |label: &String| if label.is_empty() { "unknown".to_owned() } else { label.clone() };
        let names = Arc::new(column.labels.iter().map(name).collect());
        Self { names, starts: (0..=column.codes.len() as u32).collect(), list: column.codes.clone() }
    }

    /// Creates the categories of neuron groups, given by ascending neurons.
    fn of_groups(names: Vec<String>, groups: &[Vec<u32>], n: u32) -> Self {
        let (mut starts, mut list) = (vec![0], vec![]);
        for neuron in 0..n {
            let own = (0_u16..).zip(groups).filter(|(_, group)| group.binary_search(&neuron).is_ok());
            list.extend(own.map(|(i, _)| i));
            starts.push(list.len() as u32);
        }
        Self { names: Arc::new(names), starts, list }
    }

    fn of(&self, neuron: u32) -> &[u16] {
        let at = neuron as usize;
        &self.list[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Tap of [`WEIGHT_MATRIX`].
#[derive(Clone, Debug)]
struct MatrixTap {
    key: TapKey,
    /// Index among the projections of the network; `None`: all with changing weights.
    projection: Option<usize>,
    categories: Arc<Categories>,
    /// Newest reading with its step and cost.
    newest: Option<(u64, Reading, ReadingCost)>,
}

impl MatrixTap {
    fn new(tap: &Tap, params: &Params, setup: &Setup, context: &BuildContext) -> Result<Self, SimError> {
        let refuse = |name: &str, value: &str, known: &[String]| {
            let known = known.join(", ");
            Err(SimError::Input(format!("weight_matrix: there is no {name} `{value}`; there are: {known}")))
        };
        let value = |name: &str| tap.args.get(name).map(|value| value.into_owned()).filter(|value| !value.is_empty());
        let known = choices(params, setup);
        let projection = match value("projection").filter(|name| name != ALL) {
            None => None,
            Some(name) => match learning_projections(params).into_iter().find(|(_, known)| *known == name) {
                Some((i, _)) => Some(i),
                None => return refuse("projection", &name, &known[0]),
            },
        };
        let by = value("by").or_else(|| known[1].first().cloned()).unwrap_or_default();
        let categories = match setup.neurons.column(&by) {
            Some(column) => Categories::of_column(column),
            None if by == GROUPS => groups(params, setup, context)?,
            None => return refuse("category", &by, &known[1]),
        };
        Ok(Self { key: tap.key(), projection, categories: Arc::new(categories), newest: None })
    }
}

/// Returns the neuron groups of a project as categories. Fails if a query is invalid or selects no neuron.
fn groups(params: &Params, setup: &Setup, context: &BuildContext) -> Result<Categories, SimError> {
    let selector = Selector::new(setup, &params.selections, context);
    let lists = params.selections.iter().map(|group| selector.select(&String::from(group.query.clone())));
    let names = params.selections.iter().map(|group| group.name.clone()).collect();
    Ok(Categories::of_groups(names, &lists.collect::<Result<Vec<_>, _>>()?, setup.n()))
}

/// Taps of [`WEIGHT_MATRIX`] with their newest readings.
#[derive(Debug, Default)]
pub struct MatrixReadings {
    taps: Vec<MatrixTap>,
}

impl MatrixReadings {
    /// Creates readings of the taps among `taps`. Networks that are not from rules have none. Fails if there is no projection or
    /// category with a name.
    pub fn new(taps: &[Tap], params: &Params, setup: &Setup, context: &BuildContext) -> Result<Self, SimError> {
        if params.network.source != Source::Rules || learning_projections(params).is_empty() {
            return Ok(Self::default());
        }
        let own = taps.iter().filter(|tap| tap.probe == WEIGHT_MATRIX);
        Ok(Self { taps: own.map(|tap| MatrixTap::new(tap, params, setup, context)).collect::<Result<_, _>>()? })
    }

    /// Updates the categories of neuron groups. Fails as [`MatrixReadings::new`] does; the categories are then unchanged.
    pub fn update_groups(&mut self, params: &Params, setup: &Setup, context: &BuildContext) -> Result<(), SimError> {
        let is_of_groups = |tap: &&mut MatrixTap| tap.key.args.get("by").is_some_and(|by| by == GROUPS);
        let mut taps = self.taps.iter_mut().filter(is_of_groups).peekable();
        if taps.peek().is_some() {
            let categories = Arc::new(groups(params, setup, context)?);
            taps.for_each(|tap| tap.categories = categories.clone());
        }
        Ok(())
    }

    /// Returns the keys of the taps.
    pub fn keys(&self) -> Vec<TapKey> {
        self.taps.iter().map(|tap| tap.key.clone()).collect()
    }

    /// Returns the newest reading of a tap if a reading for the screen at `step` is too costly now.
    pub fn recent(&self, key: &TapKey, step: u64) -> Option<Reading> {
        let (at, reading, cost) = self.taps.iter().find(|tap| tap.key == *key)?.newest.as_ref()?;
        let costs = self.taps.iter().filter_map(|tap| Some(tap.newest.as_ref()?.2));
        (*at < step && cost.is_early(costs)).then(|| reading.clone())
    }

    /// Reads a tap; `fill` adds the present weights to the sums. Returns `None` if there is no such tap. Fails as `fill` does.
    pub fn read(
        &mut self,
        key: &TapKey,
        step: u64,
        plan: &Plan,
        fill: impl FnOnce(&mut CategorySums) -> Result<(), SimError>,
    ) -> Result<Option<Reading>, SimError> {
        let Some(tap) = self.taps.iter_mut().find(|tap| tap.key == *key) else { return Ok(None) };
        let (sums, cost) = ReadingCost::of(|| {
            let mut sums = CategorySums::new(tap, plan);
            fill(&mut sums).map(|()| sums)
        });
        let reading = Reading::Matrix(sums?.means());
        tap.newest = Some((step, reading.clone(), cost));
        Ok(Some(reading))
    }

    /// Drops readings, because they precede a load or rewind.
    pub fn drop_unread(&mut self) {
        self.taps.iter_mut().for_each(|tap| tap.newest = None);
    }
}

/// Sums over weights by presynaptic and postsynaptic category.
#[derive(Clone, Debug, PartialEq)]
pub struct CategorySums {
    categories: Arc<Categories>,
    projection: Option<usize>,
    /// Units per weight, a power of two.
    scale: f64,
    /// Number of synapses and sum of their weights in units, by presynaptic, then postsynaptic category.
    sums: Vec<(u64, i128)>,
}

impl CategorySums {
    fn new(tap: &MatrixTap, plan: &Plan) -> Self {
        let w_max = |index: usize| plan.projections[index].plasticity.as_ref().and_then(|of| of.rule.w_max());
        let own = (0..plan.projections.len()).filter(|i| tap.projection.is_none_or(|chosen| chosen == *i));
        let smallest = own.filter_map(w_max).fold(f64::INFINITY, f64::min);
        let n = tap.categories.names.len();
        let sums = vec![(0, 0); n * n];
        let scale = units_per_weight(smallest as f32);
        Self { categories: tap.categories.clone(), projection: tap.projection, scale, sums }
    }

    /// Whether the weights of a projection are summed.
    pub fn includes(&self, projection: usize) -> bool {
        self.projection.is_none_or(|chosen| chosen == projection)
    }

    /// Adds the weight of a synapse between two neurons.
    pub fn add(&mut self, from: u32, to: u32, weight: f32) {
        let units = i128::from((f64::from(weight) * self.scale).round() as i64);
        let n = self.categories.names.len();
        for source in self.categories.of(from) {
            for target in self.categories.of(to) {
                let (count, sum) = &mut self.sums[usize::from(*source) * n + usize::from(*target)];
                *count += 1;
                *sum += units;
            }
        }
    }

    /// Returns the mean weights; NaN for categories without synapses.
    fn means(&self) -> Matrix {
        let mean = |(n, sum): &(u64, i128)| match n {
            0 => f32::NAN,
            _ => (*sum as f64 / *n as f64 / self.scale) as f32,
        };
        let names = &self.categories.names;
        let axis = || Axis { len: names.len() as u32, labels: names.clone() };
        Matrix { rows: axis(), columns: axis(), values: Arc::new(self.sums.iter().map(mean).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(categories: Categories) -> CategorySums {
        let n = categories.names.len();
        let scale = units_per_weight(10.0);
        CategorySums { categories: Arc::new(categories), projection: None, scale, sums: vec![(0, 0); n * n] }
    }

    #[test]
    fn a_mean_is_that_of_the_synapses_between_two_categories() {
        let column =
            Column { name: String::new(), labels: ["", "a", "b"].map(str::to_owned).to_vec(), codes: vec![1, 1, 2, 0] };
        let mut sums = sums(Categories::of_column(&column));
        [(0, 2, 1.5), (1, 2, 2.5), (2, 2, -4.0), (3, 0, 0.25)]
            .into_iter()
            .for_each(|(from, to, w)| sums.add(from, to, w));
        let found = sums.means();
        assert_eq!(*found.rows.labels, ["unknown", "a", "b"]);
        let shown: Vec<Option<f32>> = found.values.iter().map(|v| v.is_finite().then_some(*v)).collect();
        assert_eq!(shown, [None, Some(0.25), None, None, None, Some(2.0), None, None, Some(-4.0)]);
    }

    #[test]
    fn a_synapse_counts_in_every_group_of_its_neurons() {
        let names = ["some", "all"].map(str::to_owned).to_vec();
        let mut sums = sums(Categories::of_groups(names, &[vec![1], vec![0, 1, 2]], 4));
        [(1, 2, 1.0), (0, 1, 3.0), (3, 1, 100.0)].into_iter().for_each(|(from, to, w)| sums.add(from, to, w));
        let values = sums.means().values;
        assert!(values[0].is_nan(), "no synapse within the group");
        assert_eq!(values[1..], [1.0, 3.0, 2.0]);
    }
}
