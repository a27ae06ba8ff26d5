//! Tests of events and ids.

use super::*;
use crate::kinds::synaptic::life::Move;

fn births(events: &[LifeEvent]) -> Vec<(u64, Vec<u64>)> {
    let born = |event: &LifeEvent| match event {
        LifeEvent::Birth(birth) => Some((birth.child, birth.parents.clone())),
        LifeEvent::Death(_) => None,
    };
    events.iter().filter_map(born).collect()
}

#[test]
fn events_have_parents_causes_and_attributes() {
    let mut identities = Identities::new(2, 3);
    let moves = [Move::Merge { winner: 2, loser: 0, alpha: 0.5 }, Move::Split { parent: 1, child: 0 }];
    let genome: Vec<f32> = (0..12).map(|g| g as f32).collect();
    let readings = LayerReadings { health: &[0.1, 0.5, 0.2], contribution: &[0.01, 0.02, 0.03], genome: &genome };
    identities.tap(true, 0, |_| None);
    identities.take();
    identities.record(300, 1, &moves, &readings);
    let lines: Vec<String> = identities.take().iter().map(|e| serde_json::to_string(e).unwrap()).collect();
    let wanted = [
        concat!(
            r#"{"step":300,"gone":5,"end":"merged","health":0.2,"attributes":{"age_at_end":300.0,"cause":"merged","#,
            r#""contribution_at_end":0.03,"layer":1.0}}"#
        ),
        concat!(
            r#"{"step":300,"gone":3,"end":"merged","health":0.1,"attributes":{"age_at_end":300.0,"cause":"merged","#,
            r#""contribution_at_end":0.01,"layer":1.0}}"#
        ),
        concat!(
            r#"{"step":300,"child":6,"parents":[5,3],"place":5,"name":"L1 E2.1","attributes":{"camkii_gene":10.0,"#,
            r#""energy_gene":9.0,"fatigue_gene":8.0,"layer":1.0,"origin":"merge","pp1_gene":11.0}}"#
        ),
        concat!(
            r#"{"step":300,"child":7,"parents":[4],"place":3,"name":"L1 E0.1","attributes":{"camkii_gene":2.0,"#,
            r#""energy_gene":1.0,"fatigue_gene":0.0,"layer":1.0,"origin":"split","pp1_gene":3.0}}"#
        ),
    ];
    assert_eq!(lines, wanted);
    let names = ATTRIBUTES.iter().map(|spec| spec.name).collect::<Vec<_>>();
    let used = ["layer", "origin", "cause", "age_at_end", "contribution_at_end", "camkii_gene", "pp1_gene"];
    assert!(used.iter().all(|name| names.contains(name)));
}

#[test]
fn ids_continue_from_a_saved_state() {
    let mut whole = Identities::new(1, 3);
    let readings = LayerReadings { health: &[0.0; 3], contribution: &[], genome: &[] };
    whole.record(10, 0, &[Move::Remove { slot: 1, cause: Removal::Killed }], &readings);
    let saved = whole.save();
    let mut parts = Identities::new(1, 3);
    parts.tap(true, 0, |_| None);
    assert!(parts.restore(12, &saved, |_| Some([0.5; 4])));
    assert_eq!(parts.take().len(), 2, "a snapshot of the living");
    let split = [Move::Split { parent: 0, child: 1 }];
    whole.record(20, 0, &split, &readings);
    parts.record(20, 0, &split, &readings);
    assert_eq!(whole.individuals(), parts.individuals());
    assert_eq!(parts.occupant(0, 1), Some(Occupant { id: 3, born: 20, generation: 1, is_frozen: false }));
    assert_eq!(births(&parts.take()), [(3, vec![0])]);
    assert!(!parts.restore(12, &SavedIdentities { next: 1, ..saved.clone() }, |_| None), "an id of the future");
    assert!(!parts.restore(12, &SavedIdentities { ids: vec![0, 0, 1], ..saved }, |_| None), "an id twice");
}
