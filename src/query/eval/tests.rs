use super::*;
use crate::sim::connectivity::Connection;

/// Connections 0 → 5 (3 synapses), 1 → 5 (-4), 5 → 6 (2), 6 → 0 (9).
struct Few;

impl ConnectionSource for Few {
    fn n(&self) -> u32 {
        8
    }
    fn n_connections(&self) -> u64 {
        4
    }
    fn degree(&self, from: u32) -> u32 {
        u32::from([0, 1, 5, 6].contains(&from))
    }
    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        let of = [(0, 5, 3.0), (1, 5, -4.0), (5, 6, 2.0), (6, 0, 9.0)];
        out.extend(of.iter().filter(|l| l.0 == from).map(|(_, to, weight)| Connection::new(*to, *weight)));
    }
}

fn ask(query: &str) -> Result<Vec<u32>, String> {
    let class = ["gustatory", "gustatory", "optic", "optic", "", "central", "central", "central"];
    let side = ["left", "right", "left", "right", "left", "right", "left", "right"];
    let set = ElementSet {
        name: "neurons",
        len: 8,
        ids: (100..108).collect(),
        names: ["a", "b", "MN9", "LC10a", "", "", "", ""].map(str::to_owned).to_vec(),
        columns: vec![
            Column::from_texts("class", &class),
            Column::from_texts("side", &side),
            Column::from_texts("cell_type", &["LB3 a", "", "", "", "", "", "", ""]),
        ],
        ..ElementSet::default()
    };
    let set_of = |name: &str, query: &str| Named { name: name.to_owned(), query: query.to_owned(), ..Named::default() };
    let named = [set_of("sugar", "class = gustatory"), set_of("x", "y"), set_of("y", "x"), set_of("P 9", "idx = 7")];
    let rates = [0.0, 10.0, 20.0, 30.0, f32::NAN, 50.5, 60.0, 70.0];
    let fields =
        [Field { name: "rate_field", unit: "Hz", values: &rates }, Field { name: "v", unit: "mV", values: &[] }];
    let listed = |path: &str| if path == "two.csv" { Ok(vec![2, 3]) } else { Err(format!("{path}: not found")) };
    let known = Known {
        set: &set,
        individuals: &[],
        named: &named,
        fields: &fields,
        links: Some(&Few),
        seed: 5,
        listed: &listed,
    };
    known.select(query).map_err(|e| e.of(query))
}

#[test]
fn queries() {
    for (query, want) in [
        ("all", &[0, 1, 2, 3, 4, 5, 6, 7][..]),
        ("idx = 1, 2, 5..7", &[1, 2, 5, 6, 7]),
        ("idx >= 6", &[6, 7]),
        ("class = gustatory and side = left", &[0]),
        ("class = gustatory, optic", &[0, 1, 2, 3]),
        ("class = gustatory or class = optic and side = right", &[0, 1, 3]),
        ("(class = gustatory or class = optic) and side = right", &[1, 3]),
        ("not side = left", &[1, 3, 5, 7]),
        ("side != left and idx != 1", &[3, 5, 7]),
        ("class ~ GUST", &[0, 1]),
        ("class !~ t", &[4]),
        ("root_id = 103", &[3]),
        ("id = 103, 100", &[0, 3]),
        ("name = MN9", &[2]),
        ("name ~ lc", &[3]),
        ("cell_type = LB3 a", &[0]),
        ("cell_type = 'LB3 a'", &[0]),
        ("first 2 of class = central", &[5, 6]),
        ("sugar", &[0, 1]),
        ("in sugar", &[0, 1]),
        ("sugar and side = right", &[1]),
        ("P 9", &[7]),
        ("not in \"P 9\" and class = central", &[5, 6]),
        ("file = two.csv", &[2, 3]),
        ("rate > 20 Hz", &[3, 5, 6, 7]),
        ("rate_field >= 0.06 kHz", &[6, 7]),
        ("rate <= 10", &[0, 1]),
        ("not rate > 20", &[0, 1, 2, 4]),
        ("class = central and rate > 55Hz", &[6, 7]),
        ("downstream of sugar", &[5]),
        ("downstream of in sugar >= 7", &[5]),
        ("downstream of sugar >= 8", &[]),
        ("upstream of (idx = 5, 6) and rate > 5", &[1, 5]),
        ("downstream of downstream of sugar", &[6]),
    ] {
        assert_eq!(ask(query).as_deref(), Ok(want), "{query}");
    }
    let three = ask("random 3 of class = central or class = optic").unwrap();
    assert_eq!((three.len(), ask("random 3 of class = central or class = optic").unwrap() == three), (3, true));
}

#[test]
fn mistakes_are_explained() {
    for (query, want) in [
        ("clas = optic", "at `clas`: there is no column `clas`; did you mean `class`?"),
        ("class = gustatry", "at `gustatry`: there is no class `gustatry`; did you mean `gustatory`?"),
        ("sugr", "there is no selection `sugr`; did you mean `sugar`?"),
        ("all and class", "at `class`: `class` needs a comparison: write `class = …`"),
        ("idx = 9", "indices run from 0 to 7, got 9"),
        ("root_id = 7", "none of the neurons has id 7"),
        ("root_id > 7", "`root_id` cannot be compared with `>`; write `=`"),
        ("x", "in a circle"),
        ("(all", "a parenthesis is not closed"),
        ("class =", "a value is missing"),
        ("class = 'optic", "does not end"),
        ("random 9 of all", "at `9`: there are only 8 to choose from"),
        ("", "something is missing"),
        ("all all", "at `all`: `all` was not expected here"),
        ("class = optic side = left", "was not expected here; join tests with `and` or `or`"),
        ("file = nowhere.csv", "nowhere.csv: not found"),
        ("rate > 20 mV", "at `20 mV`: `20 mV` is a voltage; expected a frequency in Hz"),
        ("rate ~ 20", "`rate` is a number: compare it with"),
        ("rate > 20, 30", "at `30`: a comparison takes one number"),
        ("class > optic", "`class` is a category: compare it with =, !=, ~ or !~"),
        ("v > -50 mV", "`v` has no values yet: run the model first"),
        ("downstream of sugar > 5", "a test has to be in parentheses"),
    ] {
        let got = ask(query).unwrap_err();
        assert!(got.contains(want), "{query}: {got}");
    }
}

/// Every set refers to the previous set twice, so each must be evaluated only once.
#[test]
fn chains_of_sets_are_followed_and_limited() {
    let set = ElementSet { name: "neurons", len: 3, ..ElementSet::default() };
    let chain = |n: usize| -> Vec<Named> {
        let query = |i: usize| if i == 0 { "idx = 1".to_owned() } else { format!("in s{0} or in s{0}", i - 1) };
        (0..n).map(|i| Named { name: format!("s{i}"), query: query(i), ..Named::default() }).collect()
    };
    let ask = |named: &[Named], query: &str| {
        let listed = |_: &str| Ok(vec![]);
        let known = Known { set: &set, individuals: &[], named, fields: &[], links: None, seed: 1, listed: &listed };
        known.select(query).map_err(|e| e.of(query))
    };
    assert_eq!(ask(&chain(40), "s39").as_deref(), Ok(&[1][..]));
    assert_eq!(ask(&chain(40), "all and in s39").as_deref(), Ok(&[1][..]));
    let why = ask(&chain(90), "s89").unwrap_err();
    assert!(why.contains("a chain of more than 64") && !why.contains("circle"), "{why}");
    let mut circle = chain(4);
    circle[0].query = "in s2".to_owned();
    let why = ask(&circle, "in s3").unwrap_err();
    assert!(why.contains("in a circle: s2 → s1 → s0 → s2"), "{why}");
}

/// Runs on a thread with a small stack: a long chain is nested only as deeply as a balanced tree.
#[test]
fn long_chains_of_and_and_or_need_little_stack() {
    let test = || {
        let any = (0..20_000).map(|i| format!("idx = {}", i % 8)).collect::<Vec<_>>().join(" or ");
        assert_eq!(ask(&any).unwrap().len(), 8);
        let all = vec!["side = left"; 20_000].join(" and ");
        assert_eq!(ask(&all), ask("side = left"));
        assert!(parse(&any).unwrap().to_string().len() > any.len());
    };
    std::thread::Builder::new().stack_size(1 << 19).spawn(test).unwrap().join().unwrap();
}

#[test]
fn long_chains_are_evaluated_without_recursion() {
    let set = ElementSet { name: "cells", len: 5, ..ElementSet::default() };
    let listed = |_: &str| Ok(vec![]);
    let known = Known { set: &set, individuals: &[], named: &[], fields: &[], links: None, seed: 0, listed: &listed };
    let text: Vec<String> = (0..100_000).map(|i| format!("idx = {}", i % 3)).collect();
    assert_eq!(known.select(&text.join(" or ")), Ok(vec![0, 1, 2]));
    assert_eq!(known.select(&vec!["not idx = 3"; 100_000].join(" and ")), Ok(vec![0, 1, 2, 4]));
}

#[test]
fn individuals_are_found_by_their_ids_while_they_live() {
    let set = ElementSet { name: "nuclei", len: 3, are_slots: true, ..ElementSet::default() };
    let listed = |_: &str| Ok(vec![]);
    let individuals = [7, FREE_SLOT, 12];
    let known =
        Known { set: &set, individuals: &individuals, named: &[], fields: &[], links: None, seed: 0, listed: &listed };
    let select = |query: &str| known.select(query).map_err(|e| e.what);
    assert_eq!(select("id = 12, 3"), Ok(vec![2]));
    assert_eq!(select("not id = 7"), Ok(vec![1, 2]));
    assert!(select("id = x").is_err());
    assert_eq!(Known { individuals: &[], ..known }.select("id = 12").map_err(|e| e.what), Ok(vec![]));
}
