use crate::data::{Connectome, Tables, read};
use neuropil_test_support::temp::TempFolder;

/// Three neurons with ids, not in the order of their ids, and another table in the order of ids.
const EDGES: &str = "pre,post,w\n0,1,5\n1,2,-3\n";
const OWN: &str = "idx,root_id\n0,30\n1,10\n2,20\n";

/// Reads a network with `own` as its table in the folder and `other` as the additional table.
fn network(edges: &str, own: Option<&str>, other: Option<&str>, key: Option<&str>) -> Result<Connectome, String> {
    let folder = TempFolder::new("neuron-join");
    std::fs::create_dir(folder.join("network")).unwrap();
    std::fs::write(folder.join("network/edges.csv"), edges).unwrap();
    own.iter().for_each(|own| std::fs::write(folder.join("network/neurons.csv"), own).unwrap());
    let path = folder.join("other.csv");
    other.iter().for_each(|other| std::fs::write(&path, other).unwrap());
    let tables = Tables { neurons: other.map(|_| path.as_path()), key, annotations: None };
    read(&folder.join("network"), tables, &|_, _| true).map_err(|error| {
        let text = error.to_string();
        text.rsplit_once('/').map_or(text.clone(), |(_, end)| end.to_owned())
    })
}

fn joined(own: &str, other: &str, key: Option<&str>) -> Connectome {
    network(EDGES, Some(own), Some(other), key).expect("readable")
}

#[test]
fn rows_are_joined_by_root_id_in_any_order() {
    let c = joined(OWN, "root_id,name,class,x,y,z\n10,b,K,4,5,6\n20,c,L,7,8,9\n30,a,M,1,2,3\n", None);
    assert_eq!(c.neurons.ids, [30, 10, 20]);
    assert_eq!(c.neurons.names, ["a", "b", "c"]);
    assert_eq!(c.neurons.categories[0].texts, ["M", "K", "L"]);
    assert_eq!(c.neurons.positions, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
    assert!(c.notices.is_empty(), "{:?}", c.notices);
}

/// Ids take precedence over an index of another release in the table.
#[test]
fn ids_go_before_an_index() {
    let c = joined(OWN, "idx,root_id,name\n0,10,b\n1,20,c\n2,30,a\n", None);
    assert_eq!((c.neurons.names.join(" "), c.notices.len()), ("a b c".into(), 0));
}

#[test]
fn rows_and_neurons_that_do_not_match_are_listed() {
    let c = joined(OWN, "Root ID,name\n99,x\n10,b\n30,a\n98,y\n97,z\n96,v\n", None);
    assert_eq!((c.neurons.len, c.neurons.names.join(",")), (3, "a,b,".into()));
    assert_eq!(
        c.notices,
        ["other.csv, joined by Root ID: 1 of the 3 neurons have no row (20); 4 of the 6 rows are of no neuron of the \
          network (99, 98, 97 and 1 more)"]
    );
    let none = network(EDGES, Some(OWN), Some("root_id,name\n1,x\n2,y\n"), None).unwrap_err();
    assert!(
        none.starts_with("other.csv: no row belongs to the network: its neurons are 30, 10, 20, the column"),
        "{none}"
    );
}

#[test]
fn the_key_column_may_hold_ids_or_names() {
    let ids = joined(OWN, "bodyId,segment,name\n1,10,b\n2,20,c\n3,30,a\n", Some("segment"));
    assert_eq!((ids.neurons.names.join(" "), ids.notices.len()), ("a b c".into(), 0));
    let own = "idx,name\n0,MN9\n1,LC4\n2,DNg1\n";
    let names = joined(own, "label,class\nLC4,visual\nDNg1,descending\nMN9,motor\n", Some("Label"));
    assert_eq!(names.neurons.categories[0].texts, ["motor", "visual", "descending"]);
    assert_eq!(names.neurons.names, ["MN9", "LC4", "DNg1"]);
    // Without a key, the names of both tables are compared.
    let names = joined(own, "name,class\nLC4,visual\nDNg1,descending\nMN9,motor\n", None);
    assert_eq!(names.neurons.categories[0].texts, ["motor", "visual", "descending"]);
    let error = |key| network(EDGES, Some(OWN), Some("root_id,label\n10,b\n20,b\n30,c\n"), Some(key)).unwrap_err();
    assert_eq!(error("labels"), "other.csv: no column \"labels\" (there are: root_id, label); did you mean \"label\"?");
    assert_eq!(
        error("label"),
        "other.csv:3: column \"label\": \"b\" occurs twice; a key column names each neuron once"
    );
    let error = network(EDGES, Some(OWN), Some("label\nb\nc\nd\n"), Some("label")).unwrap_err();
    assert!(error.contains("neurons.csv has no column name to join it with"), "{error}");
}

#[test]
fn rows_are_taken_in_their_order_only_without_ids_or_with_a_notice() {
    // This table has no id column and is as long as the network.
    let c = joined(OWN, "name\na\nb\nc\n", None);
    assert_eq!((c.neurons.names.join(" "), c.neurons.ids, c.notices.len()), ("a b c".into(), vec![30, 10, 20], 0));
    let error = network(EDGES, Some(OWN), Some("name\na\nb\n"), None).unwrap_err();
    assert!(error.contains("2 rows and the network 3 neurons (neurons.csv), and they have no ids or names"), "{error}");
    // This table has ids, but the connections have none.
    let notice = |c: Result<Connectome, String>| c.expect("readable").notices.join("\n");
    let table = "root_id,name\n30,a\n10,b\n20,c\n";
    let alone = notice(network(EDGES, Some(table), None, None));
    assert!(alone.starts_with("neurons.csv: edges.csv has no ids and the table no column idx, so row n"), "{alone}");
    let other = notice(network(EDGES, None, Some(table), None));
    assert!(other.starts_with("other.csv: edges.csv has no ids"), "{other}");
    let both = notice(network(EDGES, Some("class\nK\nK\nL\n"), Some(table), None));
    assert!(both.starts_with("other.csv: neurons.csv has no ids to join with, so row n"), "{both}");
    assert_eq!(notice(network(EDGES, Some("name\na\nb\nc\n"), None, None)), "");
    assert_eq!(notice(network(EDGES, Some(OWN), None, None)), "");
}

#[test]
fn weights_are_recognised_and_missing_ones_are_said() {
    for name in ["Syn. count", "syn_count", "Syn. Count", "n_syn", "synapses", "Weight"] {
        let c = network(&format!("pre,post,{name}\n0,1,5\n1,0,-3\n"), None, None, None).expect("readable");
        assert_eq!(c.synapses.synapse_counts().n_synapses, 8, "{name}");
        assert!(c.notices.is_empty(), "{:?}", c.notices);
    }
    let c = network("pre,post\n0,1\n1,0\n", None, None, None).expect("readable");
    assert_eq!(c.notices, ["edges.csv has no weight column: each row counts as one excitatory synapse."]);
    assert_eq!(c.synapses.synapse_counts().n_synapses, 2);
    let c = network("pre,post,syn_count\n0,1,5\n", None, None, None).expect("readable");
    assert!(c.notices[0].contains("\"syn_count\" are positive, so no connection inhibits"), "{:?}", c.notices);
    let unsigned = network("pre,post,Connectivity\n0,1,5\n", None, None, None).unwrap_err();
    assert!(unsigned.contains("no column \"Excitatory\""), "{unsigned}");
}
