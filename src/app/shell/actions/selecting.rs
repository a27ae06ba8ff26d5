//! Selections whose elements are searched on a thread: named selections, partners, search results and paths.

use crate::{
    app::{
        document::{
            filter::QueryContext,
            open_document::Document,
            paths::{ElementPath, PathSearch},
        },
        kit::level::Level,
        shell::{host::Host, messages::Messages, overlays::Overlays, palette},
    },
    query,
    sim::{Connectivity, PathQuery, Progress},
};
use std::sync::Arc;

/// Selects the elements of a named selection.
pub fn select_named(document: &mut Document, host: &mut Host, messages: &mut Messages, name: &str) {
    let (schema, features) = (&document.session.live.schema, document.session.features());
    let Some(set) = features.set_named(schema, name).cloned() else { return };
    let over = set.name;
    let asked = QueryContext::new(schema, &features, set, &Default::default());
    let query = format!("in {}", query::quote(name));
    let (asked_at, group) = (document.session.selection.generation, name.to_owned());
    let find = move || asked.with(|known| known.select(&query)).map_err(|wrong| wrong.of(&query));
    host.job(messages, "select", find, move |parts, found| match found {
        Ok(elements) => parts.document.session.selection.select_group(group, over, elements, asked_at),
        Err(why) => parts.messages.notify(Level::Error, format!("Could not select: {why}")),
    });
}

pub fn select_partners(
    document: &mut Document,
    host: &mut Host,
    messages: &mut Messages,
    of: Arc<Vec<u32>>,
    inputs: bool,
) {
    let Some(wiring) = document.session.live.schema.connectivity.clone() else { return };
    let (over, asked_at) = (wiring.over, document.session.selection.generation);
    let find = move || partners(&wiring, &of, inputs);
    host.job(messages, "partners", find, move |parts, found| {
        parts.document.session.selection.replace_late(over, found, asked_at)
    });
}

/// Searches elements on a thread for the palette.
pub fn search_elements(document: &Document, host: &mut Host, query: String) {
    let sets = document.session.live.schema.sets.clone();
    let search = move || (palette::search(&sets, &query), query);
    let started = host.try_job("search", search, |parts, (hits, query)| {
        if let Some(palette) = &mut parts.overlays.palette {
            palette.set_hits(query, hits);
        }
    });
    if let Err(e) = started {
        tracing::warn!("{e}");
    }
}

/// Sets one or both ends of a path, and searches the path if both are known.
pub fn path_between(
    document: &mut Document,
    overlays: &mut Overlays,
    host: &mut Host,
    messages: &mut Messages,
    set: &'static str,
    from: Option<u32>,
    to: Option<u32>,
) {
    let search = &mut overlays.requests.paths;
    if search.set != set {
        *search = PathSearch { set, at_least: search.at_least, longest: search.longest, ..PathSearch::default() };
    }
    (search.from, search.to) = (from.or(search.from), to.or(search.to));
    match (search.from, search.to, document.session.live.schema.set(set)) {
        (Some(from), Some(to), _) if from != to => find_path(document, overlays, host, messages, (from, to)),
        (Some(end), Some(_), Some(set)) => {
            let text = format!("{} is both ends of the path: choose another", set.label(end));
            messages.notify(Level::Warning, text);
        }
        (Some(end), None, Some(set)) => {
            let text = format!("Path from {}: right-click its end › Path › Path to here", set.label(end));
            messages.notify(Level::Info, text);
        }
        (None, Some(end), Some(set)) => {
            let text = format!("Path to {}: right-click the first one › Path › Path from here", set.label(end));
            messages.notify(Level::Info, text);
        }
        _ => {}
    }
}

pub fn find_path(
    document: &mut Document,
    overlays: &mut Overlays,
    host: &mut Host,
    messages: &mut Messages,
    (from, to): (u32, u32),
) {
    let Some(wiring) = document.session.live.schema.connectivity.clone() else { return };
    let search = &mut overlays.requests.paths;
    let query = PathQuery { from, to, at_least: search.at_least as f64, longest: search.longest as usize };
    let progress = Arc::new(Progress::default());
    if let Some(before) = search.progress.replace(progress.clone()) {
        before.cancel();
    }
    let set = wiring.over;
    let find = move || {
        let found = query.answer(&*wiring.connections, &progress);
        let path = found.map(|steps| ElementPath { set, ends: (from, to), steps }).map_err(|e| e.to_string());
        (progress, path)
    };
    host.job(messages, "path", find, |parts, (progress, found)| {
        path_found(parts.document, parts.overlays, parts.messages, &progress, found)
    });
}

/// Handles the result of a path search, unless the search was replaced or belongs to another simulation.
pub fn path_found(
    document: &mut Document,
    overlays: &mut Overlays,
    messages: &mut Messages,
    progress: &Arc<Progress>,
    found: Result<ElementPath, String>,
) {
    if overlays.requests.paths.progress.take_if(|asked| Arc::ptr_eq(asked, progress)).is_none() {
        return;
    }
    match found {
        Ok(path) => document.session.selection.path = Some(Arc::new(path)),
        Err(why) => messages.notify(Level::Warning, format!("Could not find a path: {why}")),
    }
}

/// Returns the elements with a connection to (`inputs`) or from the elements `of`, ascending.
fn partners(wiring: &Connectivity, of: &[u32], inputs: bool) -> Vec<u32> {
    let links = &*wiring.connections;
    let n = links.n() as usize;
    let mut is_in = vec![false; n];
    of.iter().filter(|e| (**e as usize) < n).for_each(|e| is_in[*e as usize] = true);
    let (mut found, mut row) = (vec![false; n], Vec::new());
    for from in 0..links.n() {
        if !inputs && !is_in[from as usize] {
            continue;
        }
        links.read(from, &mut row);
        match inputs {
            true => found[from as usize] = row.iter().any(|l| is_in.get(l.to as usize) == Some(&true)),
            false => row.iter().filter(|l| (l.to as usize) < n).for_each(|l| found[l.to as usize] = true),
        }
    }
    (0..n as u32).filter(|e| found[*e as usize]).collect()
}
