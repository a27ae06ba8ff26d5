//! The populations of the synthetic fly: sizes, regions, signs and targets. Numbers follow the classes of FlyWire
//! v783 (Schlegel et al. 2024); the split of unnamed central neurons into regions and all links are assumptions of this
//! model. The tables are `assets/fly/populations.csv` and `assets/fly/links.csv`.

use super::anatomy::Region;
use serde::{Deserialize, de::DeserializeOwned};
use std::sync::LazyLock;

/// A population of neurons: two mirrored groups, or one group at the midline.
#[derive(Debug)]
pub struct Population {
    /// Identifier in links; also its index in [`all`].
    pub id: P,
    pub super_class: String,
    pub class: String,
    /// Cell types with their numbers of neurons per group. The last type has a count of 0 and contains the remaining neurons.
    pub cell_types: Vec<(String, u32)>,
    /// Number of neurons on both sides.
    pub count: u32,
    pub region: Region,
    /// Fraction of inhibitory neurons.
    pub inhibitory: f32,
    /// Out-degree relative to the other populations.
    pub out_degree: f32,
    /// Targets of the population's connections; empty if it has no outgoing connections.
    pub links: Vec<Link>,
}

/// A target of the connections of a population.
#[derive(Debug)]
pub struct Link {
    pub to: P,
    /// Share, relative to the population's other links.
    pub share: f32,
    /// Fraction of the connections that cross to the other side.
    pub crossed: f32,
    /// Largest distance of a target neuron from the corresponding position on the map of the target group, as a fraction of
    /// the map; 1: any position. Neurons that run out of near targets draw from a larger distance.
    pub spread: f32,
    /// Synapses per connection, smallest and largest, instead of the usual heavy-tailed number.
    pub strong: Option<(u32, u32)>,
}

/// Index of a population in [`all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum P {
    Photoreceptor,
    Olfactory,
    Mechanosensory,
    Gustatory,
    Hygrosensory,
    Thermosensory,
    Ocellar,
    UnknownSensory,
    SensoryAscending,
    Ascending,
    Lamina,
    Medulla,
    Transmedullary,
    T2T3,
    T4,
    T5,
    Lobula,
    VisualProjection,
    VisualCentrifugal,
    Projection,
    AntennalLocal,
    Kenyon,
    MushroomOutput,
    Dopaminergic,
    LateralHorn,
    Bulb,
    CentralComplex,
    TasteRelay,
    Gnathal,
    MechanosensoryCentre,
    Superior,
    Ventrolateral,
    Descending,
    Endocrine,
    Motor,
}

/// Returns all populations, in the order of the neurons.
pub fn all() -> &'static [Population] {
    static ALL: LazyLock<Vec<Population>> = LazyLock::new(|| {
        let links = include_str!("../../../../assets/fly/links.csv");
        // The tables are part of the program, and the tests of this folder find mistakes in them.
        parse(include_str!("../../../../assets/fly/populations.csv"), links).unwrap_or_else(|why| panic!("{why}"))
    });
    &ALL
}

/// A row of `populations.csv`.
#[derive(Deserialize)]
struct PopulationRow {
    id: P,
    super_class: String,
    class: String,
    /// Cell types with their numbers of neurons per group: `R7:800;R8:800;R1-6`.
    cell_types: String,
    count: u32,
    region: Region,
    inhibitory: f32,
    out_degree: f32,
}

/// A row of `links.csv`.
#[derive(Deserialize)]
struct LinkRow {
    from: P,
    to: P,
    share: f32,
    crossed: f32,
    spread: f32,
    fewest_synapses: Option<u32>,
    most_synapses: Option<u32>,
}

fn parse(populations: &str, links: &str) -> Result<Vec<Population>, String> {
    let mut all = vec![];
    for (line, row) in rows::<PopulationRow>("assets/fly/populations.csv", populations)? {
        let at = |what: String| format!("assets/fly/populations.csv line {line}: {what}");
        if row.id as usize != all.len() {
            return Err(at(format!("{:?} is not in the order of the identifiers", row.id)));
        }
        let cell_types = row.cell_types.split(';').map(cell_type).collect::<Result<_, _>>().map_err(at)?;
        all.push(Population {
            id: row.id,
            super_class: row.super_class,
            class: row.class,
            cell_types,
            count: row.count,
            region: row.region,
            inhibitory: row.inhibitory,
            out_degree: row.out_degree,
            links: vec![],
        });
    }
    for (line, row) in rows::<LinkRow>("assets/fly/links.csv", links)? {
        let at = |what: &str| format!("assets/fly/links.csv line {line}: {what}");
        if row.to as usize >= all.len() {
            return Err(at("there is no such target"));
        }
        let source = all.get_mut(row.from as usize).ok_or_else(|| at("there is no such source"))?;
        let strong = row.fewest_synapses.zip(row.most_synapses);
        source.links.push(Link { to: row.to, share: row.share, crossed: row.crossed, spread: row.spread, strong });
    }
    Ok(all)
}

/// Parses a cell type and its number of neurons, 0 if the text has none. Fails if the number is invalid.
fn cell_type(text: &str) -> Result<(String, u32), String> {
    let Some((name, count)) = text.split_once(':') else { return Ok((text.to_owned(), 0)) };
    let count = count.parse().map_err(|_| format!("`{count}` is not a number of neurons of {name}"))?;
    Ok((name.to_owned(), count))
}

/// Parses a CSV table. Returns each row with its line number. Fails if a row does not have the columns of `T`.
fn rows<T: DeserializeOwned>(file: &str, text: &str) -> Result<Vec<(u64, T)>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize().enumerate().map(|(i, row)| Ok((i as u64 + 2, row?)));
    rows.collect::<Result<_, csv::Error>>().map_err(|why| format!("{file}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a changed number, the network would change, and recorded runs could not be repeated.
    #[test]
    fn the_tables_are_those_of_recorded_runs() {
        let mut text = String::new();
        for p in all() {
            let shares = (p.inhibitory.to_bits(), p.out_degree.to_bits());
            let row = (p.id, &p.super_class, &p.class, &p.cell_types, p.count, p.region, shares.0, shares.1);
            text += &format!("{row:?}\n");
            for l in &p.links {
                let [share, crossed, spread] = [l.share, l.crossed, l.spread].map(f32::to_bits);
                text += &format!("{:?}\n", (l.to, share, crossed, spread, l.strong));
            }
        }
        let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        assert_eq!(format!("{hash:#x}"), "0x50b206dd9bab985b");
    }

    #[test]
    fn a_malformed_table_names_its_line() {
        let head = "id,super_class,class,cell_types,count,region,inhibitory,out_degree\n";
        let links = "from,to,share,crossed,spread,fewest_synapses,most_synapses\n";
        let eye = format!("{head}Photoreceptor,sensory,visual,R7:800;R8,10,Retina,0.0,0.3\n");
        let why = |populations: &str, links: &str| parse(populations, links).expect_err("refused");
        assert!(parse(&eye, links).is_ok());
        assert!(why(&eye.replace("800", "many"), links).contains("populations.csv line 2: `many`"));
        assert!(why(&eye.replace("Retina", "Knee"), links).contains("line: 2"));
        assert!(why(&eye.replace("Photoreceptor", "Motor"), links).contains("line 2: Motor is not in the order"));
        let lost = format!("{links}Photoreceptor,Motor,1,0,1,,\n");
        assert!(why(&eye, &lost).contains("links.csv line 2: there is no such target"));
    }
}
