//! Members of named groups in recorded runs: the groups' queries are evaluated on the elements of each run, on a job.
//!
//! A run folder stores sizes and ids of its element sets. For categories, names and connections the model of the run is built
//! again; runs whose models are built alike share one.

use crate::{
    kinds::shared::element_files::read_neurons,
    params::{Apply, path},
    project::{OutsidePath, Project, RunFolder, outside_paths_of_run},
    query::{self, Known, Named, Query},
    sim::{BuildContext, Connectivity, Device, ElementSet, ProbeSpec, Progress, Shape},
};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// Maximum number of built models whose elements are kept.
const KEPT: usize = 4;

/// Decides whether a run may read files outside its folder.
pub type RunConsent = Arc<dyn Fn(&Path, &[OutsidePath]) -> bool + Send + Sync>;

/// Elements of a built model.
struct Table {
    sets: Vec<Arc<ElementSet>>,
    links: Option<Connectivity>,
}

/// Tables of built models, by a hash of the inputs of the build; the newest is last.
type Tables = Arc<Mutex<Vec<(u64, Arc<Table>)>>>;

/// Named groups of the project, with the element tables of runs that were built for them.
#[derive(Clone, Default)]
pub struct RunGroups {
    named: Arc<[Named]>,
    consent: Option<RunConsent>,
    tables: Tables,
}

/// Members of a group in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMembers {
    /// Name of the set of the elements.
    pub set: &'static str,
    pub n: u32,
    /// Membership by element.
    pub is_in: Vec<bool>,
}

impl RunGroups {
    /// Sets which runs may read files outside their folders; without consent, none.
    pub fn set_consent(&mut self, consent: RunConsent) {
        self.consent = Some(consent);
    }

    /// Returns these named groups of the project, with the tables that are already built.
    pub fn of(&self, named: &Arc<[Named]>) -> Self {
        Self { named: named.clone(), ..self.clone() }
    }

    /// Returns the names of the groups over a set of the model of a run.
    pub fn names_over(&self, run: &RunFolder, set: &str) -> Vec<String> {
        self.over(run, set).iter().map(|group| group.name.clone()).filter(|name| !name.is_empty()).collect()
    }

    /// Returns a hash that changes if groups are added, renamed or removed, and `with_queries` also with every edit of a query.
    pub fn generation(&self, with_queries: bool) -> u64 {
        let mut hash = DefaultHasher::new();
        for Named { name, query, set } in self.named.iter() {
            (name, set, with_queries.then_some(query)).hash(&mut hash);
        }
        hash.finish()
    }

    fn over(&self, run: &RunFolder, set: &str) -> Vec<Named> {
        let is_first = run.manifest.sets.first().is_none_or(|first| first.name == set);
        self.named.iter().filter(|group| group.is_over(set, is_first)).cloned().collect()
    }

    /// Evaluates the query of a group on the elements of a run. Fails if the query is invalid in the run, reads live values,
    /// or needs files that the user has not allowed.
    pub fn members(&self, run: &RunFolder, set: &'static str, group: &str) -> Result<RunMembers, String> {
        let named = self.over(run, set);
        let wanted = named.iter().find(|named| named.name == group).ok_or_else(|| format!("no group “{group}”"))?;
        if run.manifest.sets.iter().any(|info| info.name == set && info.from_step > 0) {
            return Err(format!("the {set} of this run changed while it ran"));
        }
        let project = run.displayed_project().map_err(|e| e.to_string())?.0;
        let is_of_slots = |probe: &ProbeSpec| matches!(probe.shape, Shape::Lineage { over, .. } if over == set);
        if project.model.probes().iter().any(is_of_slots) {
            return Err(format!("the {set} are slots whose occupants change"));
        }
        let info = run.manifest.set(set);
        let table = match info.filter(|_| !reads_table(&wanted.query, &named, 0)) {
            Some(info) => Arc::new(Table { sets: vec![Arc::new(run.stored_set(set, info))], links: None }),
            None => self.table(run, &project)?,
        };
        let elements = table.sets.iter().find(|known| known.name == set).ok_or_else(|| format!("no set {set}"))?;
        let context = project.build_context(&run.base());
        let listed = |typed: &str| {
            self.check(run, &project)?;
            read_neurons(&context.resolve(typed), &elements.ids, elements.len).map_err(|e| e.to_string())
        };
        let links = table.links.as_ref().filter(|links| links.over == set).map(|links| &*links.connections);
        let (seed, individuals) = (run.manifest.seed, &[][..]);
        let known = Known { set: elements, individuals, named: &named, fields: &[], links, seed, listed: &listed };
        let found = known.select(&wanted.query).map_err(|wrong| wrong.of(&wanted.query))?;
        let mut is_in = vec![false; elements.len as usize];
        found.iter().for_each(|element| is_in[*element as usize] = true);
        Ok(RunMembers { set, n: found.len() as u32, is_in })
    }

    /// Fails if a run reads files outside its folder that the user has not allowed.
    fn check(&self, run: &RunFolder, project: &Project) -> Result<(), String> {
        let outside = outside_paths_of_run(run, project);
        let is_allowed = |consent: &RunConsent| consent(&run.path, &outside);
        match outside.is_empty() || self.consent.as_ref().is_some_and(is_allowed) {
            true => Ok(()),
            false => Err("the run reads files outside its folder: open it once to allow them".into()),
        }
    }

    /// Returns the elements of the model of a run, which is built unless one that is built alike is known.
    fn table(&self, run: &RunFolder, project: &Project) -> Result<Arc<Table>, String> {
        let mut context = project.build_context(&run.base());
        context.seed = run.manifest.setup_seed;
        let key = built_from(project, &context);
        // The lock is held during the build, so that concurrent jobs do not build the same model.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, table)) = tables.iter().find(|(known, _)| *known == key) {
            return Ok(table.clone());
        }
        self.check(run, project)?;
        let built = project.model.build(&context, &Device::Cpu { threads: 1 }, &Progress::default());
        let sim = built.map_err(|e| format!("the model of the run cannot be built: {e}"))?;
        let table = Arc::new(Table { sets: sim.sets().to_vec(), links: sim.connectivity() });
        if tables.len() >= KEPT {
            tables.remove(0);
        }
        tables.push((key, table.clone()));
        Ok(table)
    }
}

/// Returns a hash of the parameters that require a rebuild, and of the other inputs of a build.
fn built_from(project: &Project, context: &BuildContext) -> u64 {
    let params = project.model.params();
    let mut hash = DefaultHasher::new();
    (project.model.name(), context.seed, &context.base).hash(&mut hash);
    for id in params.ids() {
        if let Some(spec) = params.spec(id).filter(|spec| spec.apply == Apply::Rebuild) {
            (params.path(id), path::show(spec, &params.get(id))).hash(&mut hash);
        }
    }
    hash.finish()
}

/// Maximum nesting of named groups that is followed.
const MAX_NESTING: usize = 20;

/// Whether a query reads categories, names or connections, which a run folder does not store.
fn reads_table(query: &str, named: &[Named], depth: usize) -> bool {
    if let Some(group) = named.iter().find(|group| group.name == query.trim()) {
        return depth >= MAX_NESTING || reads_table(&group.query, named, depth + 1);
    }
    fn reads(query: &Query, named: &[Named], depth: usize) -> bool {
        match query {
            Query::All => false,
            Query::Set(name) => reads_table(&name.text, named, depth),
            Query::Test(column, ..) => !["idx", "id", "root_id", "file"].contains(&&*column.text),
            Query::Not(inner) | Query::Choose { of: inner, .. } => reads(inner, named, depth),
            Query::And(all) | Query::Or(all) => all.iter().any(|query| reads(query, named, depth)),
            Query::Linked { .. } => true,
        }
    }
    query::parse(query).is_ok_and(|query| reads(&query, named, depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queries_over_categories_and_connections_need_the_model() {
        let named = |name: &str, query: &str| Named { name: name.into(), query: query.into(), set: String::new() };
        let groups =
            [named("first", "idx < 9"), named("motor", "class = motor"), named("both", "in first or in motor")];
        for (query, expected) in [
            ("all", false),
            ("random 5 of first", false),
            ("first", false),
            ("root_id = 7 and not in first", false),
            ("motor", true),
            ("both", true),
            ("downstream of first", true),
            ("name ~ MN", true),
            ("and and", false),
        ] {
            assert_eq!(reads_table(query, &groups, 0), expected, "{query}");
        }
    }
}
