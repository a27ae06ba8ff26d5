//! Damaged snapshots.

use neuropil::sim::{Snapshot, snapshot::Section};

fn replaced(state: &Snapshot, at: usize, section: Option<Section>) -> Snapshot {
    let mut damaged = state.clone();
    match section {
        Some(section) => damaged.sections[at] = section,
        None => drop(damaged.sections.remove(at)),
    }
    damaged
}

/// Without a section, or with one that has another number of dimensions; of another model.
pub fn incomplete(state: &Snapshot) -> Vec<Snapshot> {
    let other = Snapshot { model: "other".into(), ..state.clone() };
    let mut all = vec![other];
    for (at, section) in state.sections.iter().enumerate().filter(|(_, section)| !section.name.starts_with("lineage")) {
        all.push(replaced(state, at, None));
        let shape = [&section.shape[..], &[1]].concat();
        let reshaped = Section::from_bytes(section.name.clone(), section.element, shape, section.bytes().to_vec());
        all.push(replaced(state, at, Some(reshaped.expect("the same bytes"))));
    }
    all
}

/// With a changed byte, one in `every`.
pub fn bent(state: &Snapshot, every: usize) -> impl Iterator<Item = Snapshot> + '_ {
    let places = state
        .sections
        .iter()
        .enumerate()
        .flat_map(move |(at, s)| (0..s.bytes().len()).step_by(every).map(move |byte| (at, byte)));
    places.map(|(at, byte)| {
        let section = &state.sections[at];
        let mut bytes = section.bytes().to_vec();
        bytes[byte] ^= 0x81;
        let bent = Section::from_bytes(section.name.clone(), section.element, section.shape.clone(), bytes);
        replaced(state, at, Some(bent.expect("as many bytes")))
    })
}
