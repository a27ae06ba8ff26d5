//! The selection and the filter shared by all views, with 138,639 elements and 15 M connections. Pictures are written
//! when `NEUROPIL_SHOTS` names a folder.

use crate::support::{fake_fly, harness::asserts_timings, stage};
use fake_fly::schema;
use neuropil::{
    app::{document::features::KindFeatures, views::ViewRequest},
    params::{ChoiceSpec, Role},
    query::Named,
    sim::{Connection, ConnectionSource, ElementSet},
};
use stage::{Stage, graphics};
use std::sync::{Arc, RwLock};

const EFFECTS: &[ChoiceSpec] = &[
    ChoiceSpec { name: "Poisson", title: "", docs: "Kicks.", aliases: &[], role: Role::Excites, replaces: &[] },
    ChoiceSpec { name: "SilenceOutgoing", title: "", docs: "Cuts.", aliases: &[], role: Role::Silences, replaces: &[] },
];

fn features() -> KindFeatures {
    let named = [Named { name: "Sugar GRNs".into(), query: "class = gustatory".into(), ..Named::default() }];
    KindFeatures { named: named.into(), effects: EFFECTS, ..KindFeatures::default() }
}

#[test]
fn a_query_hides_the_others_in_every_view() {
    let query = "class = gustatory";
    for (view, said) in [("filter", "408 shown of 138,639"), ("table", "408 of 138,639"), ("brain", "408 of 138,639")] {
        let mut stage = Stage::new(view, schema(), (420.0, 600.0)).headless();
        stage.run(2);
        stage.filter(query);
        assert!(stage.says(said), "{view}");
    }
    let mut raster = Stage::new("raster", schema(), (900.0, 500.0)).headless();
    raster.feed(2_000);
    raster.filter(query);
    raster.run(3);
    assert!(raster.says("of 408 shown"), "the raster has rows for those shown");
}

#[test]
fn live_values_are_compared_and_errors_explained() {
    let mut stage = Stage::new("filter", schema(), (420.0, 600.0)).headless();
    stage.allow(features());
    stage.filter("rate > 20 Hz");
    assert!(stage.says("Sampling rate"));
    stage.filter("clas = optic");
    assert!(stage.says("did you mean `class`?"));
    stage.filter("in \"Sugar GRNs\" and not side = left");
    assert!(!stage.says("did you mean"));
    stage.press("Save as group");
    let requests = stage.requests();
    let is_saved = |r: &ViewRequest| matches!(r, ViewRequest::SaveSet(q, "neurons") if q == "in \"Sugar GRNs\" and not side = left");
    assert!(requests.iter().any(is_saved));
}

#[test]
fn categories_are_ticked_and_selected() {
    let mut stage = Stage::new("filter", schema(), (420.0, 700.0)).headless();
    stage.settle();
    stage.press("Select sensory");
    let sensory = stage.selection().len();
    assert!(sensory > 1_000);
    stage.press("Show sensory");
    stage.settle();
    let shown = 138_639 - sensory;
    let text = format!("{},{:03} shown of 138,639", shown / 1000, shown % 1000);
    assert!(stage.says(&text), "{text}");
    stage.press("Show all");
    stage.settle();
    assert!(stage.says("138,639 shown of 138,639"));
}

#[test]
fn the_menu_applies_to_the_selection() {
    let mut stage = Stage::new("filter", schema(), (700.0, 700.0)).headless();
    stage.allow(features());
    stage.settle();
    stage.menu("Select sensory");
    stage.press("Stimulate or silence");
    stage.press("Silence outgoing");
    assert!(stage.selection().len() > 1_000, "those it is done to are selected");
    assert!(matches!(stage.requests().as_slice(), [ViewRequest::Intervene(1)]));
}

/// The group labels beside the rows select a whole class.
#[test]
fn the_menu_of_a_group_applies_to_all_of_it() {
    let mut stage = Stage::new("raster", schema(), (900.0, 700.0)).headless();
    stage.allow(features());
    stage.settle();
    for _ in 0..10 {
        stage.feed(1_000);
    }
    stage.settle();
    stage.menu_at(egui::pos2(40.0, 300.0));
    stage.press("Select");
    stage.press("Select only these");
    let chosen = stage.selection().to_vec();
    let shared = schema();
    let column = &shared.sets[0].columns[0];
    let code = column.codes[chosen[0] as usize];
    let all = (0..column.codes.len() as u32).filter(|e| column.codes[*e as usize] == code);
    assert!(all.eq(chosen.iter().copied()) && chosen.len() > 100, "{} of one class", chosen.len());
}

/// 15 M connections.
#[test]
fn the_matrix_sums_all_connections() {
    let mut stage = Stage::new("connectivity", schema(), (900.0, 600.0)).headless();
    let secs = stage.until(" cells");
    let mut weights = Stage::new("weights", schema(), (900.0, 500.0)).headless();
    let more = weights.until("Levels used");
    assert!(!asserts_timings() || (secs < 20.0 && more < 20.0));
    stage.press("Partners");
    assert!(stage.says("Nothing is selected"));
    stage.select(&[17]);
    stage.until("inputs, ");
    stage.press("Synapses");
    assert!(stage.says("connections  |  weights in synapses  |  delay 1.8 ms"));
    stage.select(&[]);
    stage.run(2);
    assert!(!stage.says("weights in synapses"), "nothing is said of a selection that is gone");
}

#[test]
fn names_are_shown_as_the_data_has_them() {
    let mut schema = schema();
    let mut set = ElementSet::clone(&schema.sets[0]);
    set.columns[0].labels.iter_mut().filter(|label| !label.is_empty()).for_each(|label| label.push_str("_l"));
    let name = set.columns[0].labels.iter().find(|label| !label.is_empty()).expect("a class").clone();
    schema.sets[0] = Arc::new(set);
    let mut stage = Stage::new("filter", schema, (500.0, 600.0)).headless();
    stage.until(&format!("Select {name}"));
}

/// Connections that cannot be read while the gate is locked.
struct Gated(Arc<dyn ConnectionSource>, Arc<RwLock<()>>);

impl ConnectionSource for Gated {
    fn n(&self) -> u32 {
        self.0.n()
    }
    fn n_connections(&self) -> u64 {
        self.0.n_connections()
    }
    fn degree(&self, from: u32) -> u32 {
        self.0.degree(from)
    }
    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        let _open = self.1.read().expect("the lock is not poisoned");
        self.0.read(from, out);
    }
}

/// A click into the matrix selects both ends when they are found, in any mode, unless the selection has changed since.
#[test]
fn a_late_result_never_replaces_a_newer_selection() {
    let gate = Arc::new(RwLock::new(()));
    let mut schema = schema();
    let wiring = schema.connectivity.as_mut().expect("a wired brain");
    wiring.connections = Arc::new(Gated(wiring.connections.clone(), gate.clone()));
    let mut stage = Stage::new("connectivity", schema, (760.0, 560.0)).headless();
    stage.until(" cells");
    stage.run(3);
    let cell = egui::pos2(230.0, 205.0);

    let held = gate.write().expect("free");
    stage.click(cell, egui::Modifiers::NONE);
    stage.press("Partners");
    assert!(stage.says("Nothing is selected"));
    drop(held);
    stage.until(" selected; the limit is");
    let both_ends = stage.selection();
    assert!(both_ends.len() > 5_000);

    stage.press("Matrix");
    stage.select(&[5]);
    let held = gate.write().expect("free");
    stage.click(cell, egui::Modifiers::NONE);
    stage.select(&[17, 18]);
    drop(held);
    stage.settle();
    stage.press("Partners");
    stage.until(" inputs, ");
    assert_eq!(stage.selection(), [17, 18]);
}

#[test]
fn statistics_of_the_selection() {
    let mut stage = Stage::new("statistics", schema(), (1000.0, 560.0)).headless();
    stage.run(2);
    assert!(stage.says("Nothing selected"));
    for _ in 0..10 {
        stage.feed(500);
    }
    stage.select(&(0..30).map(|i| i * 4_000).collect::<Vec<_>>());
    stage.until("n = 30  |");
    stage.press("Fano");
    assert!(stage.says("Fano ↓"));
}

#[test]
fn a_histogram_selects_the_elements_of_a_bin() {
    let mut stage = Stage::new("histogram", schema(), (900.0, 420.0)).headless();
    stage.feed(2_000);
    stage.drag(egui::pos2(60.0, 200.0), egui::vec2(820.0, 0.0), egui::Modifiers::NONE);
    assert_eq!(stage.selection().len(), 138_639, "all bins are all elements");
    stage.click(egui::pos2(880.0, 300.0), egui::Modifiers::NONE);
    let top = stage.selection().len();
    assert!(top > 0 && top < 138_639, "the last bin has {top}");
}

#[test]
fn a_rectangle_in_the_raster_selects_its_elements() {
    let mut stage = Stage::new("raster", schema(), (900.0, 500.0)).headless();
    for _ in 0..10 {
        stage.feed(1_000);
    }
    stage.settle();
    stage.drag(egui::pos2(400.0, 150.0), egui::vec2(200.0, 120.0), egui::Modifiers::SHIFT);
    let some = stage.selection().len();
    assert!(some > 10, "{some} selected");
    stage.drag(egui::pos2(620.0, 150.0), egui::vec2(100.0, 120.0), egui::Modifiers::SHIFT | egui::Modifiers::COMMAND);
    assert!(stage.selection().len() >= some, "Ctrl adds");
}

/// A thin lasso along the diagonal selects fewer elements than its bounding rectangle; Ctrl+Alt removes them again.
#[test]
fn a_lasso_in_the_raster_selects_its_elements() {
    let mut stage = Stage::new("raster", schema(), (900.0, 500.0)).headless();
    for _ in 0..10 {
        stage.feed(1_000);
    }
    stage.settle();
    // Rows are rearranged some time after an element's first spike.
    stage.run(240);
    stage.settle();
    stage.drag(egui::pos2(300.0, 120.0), egui::vec2(400.0, 200.0), egui::Modifiers::SHIFT);
    let all = stage.selection();
    let line = [(301.0, 121.0), (500.0, 221.0), (698.0, 317.0), (694.0, 319.0), (496.0, 227.0), (302.0, 125.0)];
    stage.drag_path(&line, egui::Modifiers::ALT);
    let some = stage.selection();
    assert!(!some.is_empty() && some.len() < all.len() / 2, "{} of {}", some.len(), all.len());
    assert!(some.iter().all(|e| all.contains(e)), "all of them are in the rectangle");
    stage.select(&all);
    stage.drag_path(&line, egui::Modifiers::ALT | egui::Modifiers::COMMAND);
    assert_eq!(stage.selection().len(), all.len() - some.len(), "Ctrl+Alt takes them out");
}

#[test]
fn dark_pictures() {
    draw_pictures(true);
}

#[test]
fn light_pictures() {
    draw_pictures(false);
}

fn draw_pictures(dark: bool) {
    let Some(graphics) = graphics() else { return };
    let theme = if dark { "dark" } else { "light" };
    let mut filter = Stage::new("filter", schema(), (300.0, 640.0)).on(&graphics, dark);
    filter.settle();
    filter.press("Open sensory");
    filter.press("Show optic");
    filter.filter("class != olfactory");
    filter.shoot(&format!("filter-{theme}"));
    filter.menu("Select sensory");
    filter.shoot(&format!("filter-menu-{theme}"));
    let mut matrix = Stage::new("connectivity", schema(), (760.0, 560.0)).on(&graphics, dark);
    matrix.until(" cells");
    matrix.settle();
    matrix.shoot(&format!("matrix-{theme}"));
    matrix.double_click(egui::pos2(230.0, 205.0));
    matrix.settle();
    matrix.until("central by");
    matrix.shoot(&format!("matrix-drilled-{theme}"));
    matrix.select(&[17, 18]);
    matrix.press("Partners");
    matrix.until(" inputs, ");
    matrix.settle();
    matrix.shoot(&format!("partners-{theme}"));
    matrix.press("Synapses");
    matrix.settle();
    matrix.shoot(&format!("synapses-{theme}"));
    let mut statistics = Stage::new("statistics", schema(), (1000.0, 560.0)).on(&graphics, dark);
    for _ in 0..20 {
        statistics.feed(500);
    }
    statistics.select(&(0..200).map(|i| i * 690).collect::<Vec<_>>());
    statistics.until("n = 200  |");
    statistics.settle();
    statistics.shoot(&format!("statistics-{theme}"));
    let mut table = Stage::new("table", schema(), (900.0, 360.0)).on(&graphics, dark);
    for _ in 0..40 {
        table.feed(300);
    }
    table.filter("super_class = sensory");
    table.shoot(&format!("table-{theme}"));
    let mut weights = Stage::new("weights", schema(), (820.0, 420.0)).on(&graphics, dark);
    weights.until("Levels used");
    assert!(weights.shoot(&format!("weights-{theme}")) > 20);
}

/// A narrow toolbar puts its drop-downs behind a button; choosing in one of them keeps the button's panel open.
#[test]
fn drop_downs_behind_the_more_button_can_be_chosen_from() {
    let mut stage = Stage::new("brain", schema(), (620.0, 420.0)).headless();
    stage.allow(features());
    stage.settle();
    stage.press("More options");
    stage.choose("Edges", "outputs");
    // The panel behind the button is still open.
    stage.choose("Edges", "both");
}

/// The table samples the fields of its own query, also those it does not show as columns.
#[test]
fn a_query_in_the_table_samples_its_fields() {
    let mut stage = Stage::new("table", schema(), (700.0, 420.0)).headless();
    stage.settle();
    let before = stage.taps();
    stage.type_into("ID, name, category or query", "last_spike < 20 ms");
    assert!(stage.taps().len() > before.len(), "{before:?}");
}
