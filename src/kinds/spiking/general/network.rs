//! A network from rules: its plan, and its connections once they are made.

use super::{
    ConnectionRule,
    connections::{Connections, Rows, TARGET},
    edge_file::{self, EdgeFile},
    patterns::{
        PatternImages,
        images::{self, ImageSet},
        schedule::{PatternSchedule, check_pixels},
    },
    plan::{self, Plan},
    positions::positions,
    rows::{RowMaker, Synapse},
};
use crate::{
    kinds::spiking::params::Params,
    sim::{BuildContext, Column, Connection, ElementSet, Progress, SimError},
};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Plan of a network, with the positions and edge lists from which its connections are made.
pub struct RuleNetwork {
    /// The checked plan.
    pub plan: Plan,
    /// Seed of the connections and positions.
    pub seed: u64,
    /// Positions of all neurons, µm; empty if no population has any.
    pub positions: Vec<[f32; 3]>,
    /// Edge lists of the projections from files.
    edges: Vec<Option<EdgeFile>>,
    /// Images of the file of the presented patterns; `None` without a file.
    images: Option<Arc<ImageSet>>,
    /// Notices about the files, one sentence each.
    pub notices: Vec<String>,
    /// Connections, once they are made.
    made: OnceLock<Arc<Connections>>,
}

impl RuleNetwork {
    /// Checks the parameters, reads the edge lists and places the neurons. Fails if the network cannot be built, a file is
    /// invalid, or `progress` cancels.
    pub fn new(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        let planned = plan::plan(params)?;
        progress.report("neurons", 0.0)?;
        let (mut edges, mut notices) = (vec![], vec![]);
        for i in 0..planned.projections.len() {
            let read = file_of(&planned, i, context).map(|path| EdgeFile::read(&planned, i, &path, progress));
            let (file, said) = read.transpose()?.unzip();
            edges.push(file);
            notices.extend(said.into_iter().flatten());
        }
        let plan = with_files(params, planned, &edges, context, progress)?;
        let mut places: Vec<[f32; 3]> = vec![];
        for population in &plan.populations {
            let own = positions(population, context.seed);
            if !own.is_empty() {
                places.resize(population.first as usize, [0.0; 3]);
                places.extend(own);
            }
        }
        if !places.is_empty() {
            places.resize(plan.n as usize, [0.0; 3]);
        }
        let images = images(&plan, context, progress)?.map(Arc::new);
        Ok(Self { plan, seed: context.seed, positions: places, edges, images, notices, made: OnceLock::new() })
    }

    /// Returns the presented patterns of a seed; `None` if no input presents any.
    pub fn patterns(&self, seed: u64) -> Option<Arc<PatternSchedule>> {
        let plan = self.plan.patterns.clone()?;
        Some(Arc::new(PatternSchedule::new(plan, seed, self.images.clone())))
    }

    /// Returns the maker of the rows of a projection.
    pub fn maker(&self, projection: usize) -> RowMaker<'_> {
        RowMaker::new(&self.plan, self.seed, projection, &self.positions, self.edges[projection].as_ref())
    }

    /// Returns the connections, which the first call makes with `threads` threads. Fails if memory does not suffice or
    /// `progress` cancels.
    pub fn connections(&self, threads: usize, progress: &Progress) -> Result<Arc<Connections>, SimError> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let made = Arc::new(Connections::make(self, threads, progress)?);
        Ok(self.made.get_or_init(|| made).clone())
    }

    /// Returns the connections for views; `None` if they are not in memory and each row can be made alone. Makes all
    /// connections if the rows of a projection can only be made together.
    fn for_views(&self) -> Option<Arc<Connections>> {
        let is_whole = (0..self.plan.projections.len()).any(|i| self.maker(i).is_transposed());
        match self.made.get() {
            Some(made) => Some(made.clone()),
            None if is_whole => self.connections(1, &Progress::default()).ok(),
            None => None,
        }
    }

    /// Returns the number of connections: the expected one before they are made.
    pub fn n_connections(&self) -> u64 {
        self.made.get().map_or_else(|| self.plan.synapses(), |made| made.len())
    }

    /// Returns the unit of the weights; empty if projections have different units.
    pub fn weight_unit(&self) -> &'static str {
        let mut units = self.plan.projections.iter().map(|p| self.plan.populations[p.to].model.weight_unit());
        let first = units.next().unwrap_or("");
        if units.all(|unit| unit == first) { first } else { "" }
    }

    /// Returns the number of outgoing connections of a neuron.
    pub fn degree(&self, from: u32) -> u32 {
        let mut n = 0;
        self.each(from, |_, _, _, _| n += 1);
        n
    }

    /// Replaces `out` by the connections of a neuron, sorted by target. `present` returns the present weight of a synapse, given
    /// projection, presynaptic neuron in its population and number in the row; `None` for the weight at step 0. Weights have the
    /// unit of the postsynaptic model.
    pub fn read(&self, from: u32, present: impl Fn(usize, u32, usize) -> Option<f64>, out: &mut Vec<Connection>) {
        out.clear();
        let secs = |steps: u32| f64::from(steps) * self.plan.dt_ms * 1e-3;
        let source = from - self.plan.populations[self.plan.population_of(from)].first;
        let mut next = (0, 0); // projection, and number of the synapse in its row
        self.each(from, |i, to, weight, delay| {
            next = if next.0 == i { next } else { (i, 0) };
            let weight = present(i, source, next.1).unwrap_or(weight);
            out.push(Connection { to, weight, delay_secs: Some(secs(delay)) });
            next.1 += 1;
        });
        out.sort_by_key(|c| c.to);
    }

    /// Calls `found` with projection, target, weight and delay in steps of each connection of a neuron, by projection.
    pub fn each(&self, from: u32, mut found: impl FnMut(usize, u32, f64, u32)) {
        let made = self.for_views();
        let population = self.plan.population_of(from);
        let source = from - self.plan.populations[population].first;
        let mut row: Vec<Synapse> = vec![];
        for (i, projection) in self.plan.projections.iter().enumerate().filter(|(_, p)| p.from == population) {
            let first = self.plan.populations[projection.to].first;
            let found = |to: u32, weight: f64, delay: u32| found(i, first + to, weight, delay);
            match &made {
                Some(made) => self.each_of_rows(i, &made.rows[i], source, found),
                None => {
                    self.maker(i).row(source, None, &mut row);
                    self.each_of_row(i, &row, found);
                }
            }
        }
    }

    /// Calls `found` with target in its population, weight and delay in steps of each synapse of a row of projection `i`.
    pub fn each_of_row(&self, i: usize, row: &[Synapse], mut found: impl FnMut(u32, f64, u32)) {
        let projection = &self.plan.projections[i];
        let shift = if let plan::WeightFormat::Narrow(shift) = projection.format { shift as i32 } else { 0 };
        let unit = 2_f64.powi(self.weight_exponent(i) + shift);
        row.iter().for_each(|s| found(s.target, f64::from(s.weight) * unit, projection.delay_min + s.delay));
    }

    /// Calls `found` as [`RuleNetwork::each_of_row`] does, for the row of a presynaptic neuron in memory.
    pub fn each_of_rows(&self, i: usize, rows: &Rows, source: u32, mut found: impl FnMut(u32, f64, u32)) {
        let (unit, delay_min) = (2_f64.powi(self.weight_exponent(i)), self.plan.projections[i].delay_min);
        for at in rows.range(source) {
            let word = rows.words[at];
            found(word & TARGET, f64::from(rows.units(at)) * unit, delay_min + (word >> plan::TARGET_BITS));
        }
    }

    /// Returns the exponent of the unit of the weights of projection `i`.
    pub fn weight_exponent(&self, i: usize) -> i32 {
        let projection = &self.plan.projections[i];
        self.plan.populations[projection.to].exponents[projection.receptor]
    }

    /// Creates the element set of the neurons, with the columns `population` and `ei`.
    pub fn elements(&self) -> ElementSet {
        let plan = &self.plan;
        let codes = |of: &dyn Fn(usize) -> u16| {
            let one = |(i, p): (usize, &plan::PopulationPlan)| std::iter::repeat_n(of(i), p.n as usize);
            plan.populations.iter().enumerate().flat_map(one).collect::<Vec<u16>>()
        };
        let labels = plan.populations.iter().map(|p| p.name.clone()).collect();
        let sign = |population: usize| {
            let own = plan.projections.iter().filter(|p| p.from == population);
            let weights: f64 = own.map(|p| p.median_weight() * p.synapses as f64).sum();
            if weights > 0.0 { 1 } else { u16::from(weights < 0.0) * 2 }
        };
        let signs = ["", "excitatory", "inhibitory"].map(str::to_owned).to_vec();
        ElementSet {
            name: "neurons",
            len: plan.n,
            positions: self.positions.clone(),
            columns: vec![
                Column { name: "population".to_owned(), labels, codes: codes(&|i| i as u16) },
                Column { name: "ei".to_owned(), labels: signs, codes: codes(&sign) },
            ],
            ..ElementSet::default()
        }
    }
}

/// Reads the images that the presented patterns name; `None` without a file. Fails if the file is invalid, or its images do not fit.
fn images(plan: &Plan, context: &BuildContext, progress: &Progress) -> Result<Option<ImageSet>, SimError> {
    let Some(of) = &plan.patterns else { return Ok(None) };
    let PatternImages::File(file) = &of.images else { return Ok(None) };
    let refuse = |why: String| Err(SimError::Input(format!("external_inputs.{}: {why}", of.input)));
    if file.path.0.trim().is_empty() {
        return refuse("source.images.path is empty: name a table of images".to_owned());
    }
    let set = images::read(&context.resolve(file.path.0.trim()), progress)?;
    if let Err(why) = check_pixels(set.pixels, &of.neurons) {
        return refuse(why);
    }
    let (n, held_out) = (set.labels.len() as u64, of.numbers[2]);
    if n <= held_out {
        return refuse(format!(
            "source.held_out: {held_out} images are held out, the file has {n}. Lower the number, or name a file with more"
        ));
    }
    Ok(Some(set))
}

/// Returns the edge list that a projection names; `None` for other rules.
fn file_of(plan: &Plan, i: usize, context: &BuildContext) -> Option<PathBuf> {
    let ConnectionRule::FromFile(rule) = &plan.projections[i].rule else { return None };
    Some(context.resolve(rule.path.0.trim()))
}

/// Makes the plan again, with the edge lists that were read. Fails if their weights overflow; the error then names a row.
fn with_files(
    params: &Params,
    planned: Plan,
    edges: &[Option<EdgeFile>],
    context: &BuildContext,
    progress: &Progress,
) -> Result<Plan, SimError> {
    if edges.iter().all(Option::is_none) {
        return Ok(planned);
    }
    let facts: Vec<_> = (0..edges.len())
        .map(|i| {
            let projection = &planned.projections[i];
            edges[i].as_ref().map(|file| file.facts([projection.from, projection.to].map(|p| planned.populations[p].n)))
        })
        .collect();
    plan::with_files(params, &facts).map_err(|why| {
        // The plan succeeds without the files, so the one with the largest sums is the cause.
        let sum = |i: &usize| facts[*i].map_or(0.0, |facts| facts.largest_input);
        let cause = (0..edges.len()).max_by(|a, b| sum(a).total_cmp(&sum(b)));
        let cause = cause.and_then(|i| Some(((i, edges[i].as_ref()?), file_of(&planned, i, context)?)));
        match cause {
            Some((cause, path)) => edge_file::at_largest_weight(&planned, cause, &path, why, progress),
            None => why,
        }
    })
}
