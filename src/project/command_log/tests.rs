//! Tests of logs of both formats.

use super::*;
use crate::{actions, choices, param_tree, params};

choices! {
    /// Choice with a renamed variant after an inserted one.
    enum Mode {
        /// Inserted in a later version.
        Zero,
        /// Formerly named `First`.
        #[alias("First")]
        One,
        /// Unchanged since format 1.
        Two,
    }
}

params! {
    /// A group with an inserted field.
    struct Unit {
        /// Inserted in a later version.
        #[param()]
        new: f64 = 0.5,
        /// A number that was called `speed`.
        #[param()]
        #[alias("speed")]
        rate: f64 = 1.0,
        /// Choice of a mode.
        #[param()]
        mode: Mode = Mode::Two,
    }
}

param_tree! {
    /// A tree with an inserted group.
    struct Tree {
        /// Inserted in a later version.
        inserted: Unit,
        /// Unchanged since format 1.
        unit: Unit,
        /// Unchanged since format 1.
        items: [Unit],
    }
}

actions! {
    /// One action with an argument that was inserted before an older argument.
    const ACTIONS;
    /// Pushes all given cells.
    fn push(over "cells") {
        /// Mode of the push.
        #[param()] mode: Mode,
        /// Strength of the push.
        #[param()] by: f64
    }
}

const ORDER: &str = r#"{"test": (
    groups: [
        (name: "unit", list: false, fields: [("speed", []), ("mode", ["First", "Two"])]),
        (name: "items", list: true, fields: [("speed", []), ("mode", ["First", "Two"])]),
    ],
    actions: {"push": [("by", []), ("mode", ["First", "Two"])]},
)}"#;

fn read(params: &dyn Params, order: Option<Order>, line: &str) -> Result<LoggedCommand, String> {
    let ids = |set: &str, version: u32| match (set, version) {
        ("cells", 0 | 1) => vec![70, 71, 72],
        ("cells", _) => vec![72, 70],
        _ => vec![],
    };
    Declarations { params, actions: ACTIONS, ids: &ids, version: &|_| 1, order }.read(line).map(|(_, command)| command)
}

fn write(params: &dyn Params, command: &LoggedCommand) -> String {
    let ids = |_: &str, _| vec![70, 71, 72];
    Declarations { params, actions: ACTIONS, ids: &ids, version: &|_| 1, order: None }.write(7, command).unwrap()
}

#[test]
fn a_log_of_indices_survives_an_inserted_group_field_choice_and_argument() {
    let mut tree = Tree { items: vec![Unit::default()], ..Tree::default() };
    let log = [
        "(1,Set((id:(group:0,field:0,item:0),value:Real(3.0))))",
        "(2,Set((id:(group:0,field:1,item:0),value:Choice(0))))",
        "(3,Set((id:(group:1,field:255,item:0),value:Rows([[Real(4.0),Choice(1)],[Real(5.0)]]))))",
        "(4,Set((id:(group:1,field:1,item:1),value:Choice(0))))",
        "(5,Act((name:\"push\",elements:[2],values:[Real(6.0),Choice(1)])))",
        "(6,Rewind)",
    ];
    let order = unnamed::order_in(ORDER, "test").unwrap();
    let commands: Vec<_> = log.iter().map(|line| read(&tree, Some(order.clone()), line).unwrap()).collect();
    for command in &commands {
        // A written line is read again as an equal command.
        assert_eq!(read(&tree, None, &write(&tree, command)).as_ref(), Ok(command));
        if let LoggedCommand::Set(change) = command {
            assert!(tree.set(change), "{change:?}");
        }
    }
    let unit = |rate, mode| Unit { rate, mode, ..Unit::default() };
    assert_eq!(tree.unit, unit(3.0, Mode::One));
    assert_eq!(tree.items, [unit(4.0, Mode::Two), unit(5.0, Mode::One)]);
    assert_eq!(tree.inserted, Unit::default());
    assert_eq!(
        write(&tree, &commands[4]),
        r#"(7,Act(action:"push",ids:[72],arguments:[("mode",Choice("Two")),("by",Real(6.0))]))"#
    );
    assert_eq!(write(&tree, &commands[3]), r#"(7,Set("items.1.mode",Choice("One")))"#);
}

/// Ids that a set has lost or moved since are looked up in the version of the set that the line names.
#[test]
fn actions_on_a_set_that_changed_name_its_version() {
    let tree = Tree::default();
    let action = Action { name: "push".into(), elements: vec![1, 0], ..Action::default() };
    let ids = |_: &str, version| if version == 2 { vec![72, 70] } else { vec![70, 71, 72] };
    let now = Declarations { params: &tree, actions: ACTIONS, ids: &ids, version: &|_| 2, order: None };
    let line = now.write(7, &LoggedCommand::Act(action.clone())).unwrap();
    assert_eq!(line, r#"(7,Act(action:"push",ids:[70,72],version:2))"#);
    let values = r#",arguments:[("mode",Choice("Two")),("by",Real(6.0))]))"#;
    let read = read(&tree, None, &line.replace("))", values)).unwrap();
    let LoggedCommand::Act(again) = read else { panic!("an action") };
    assert_eq!(again.elements, action.elements);
}

/// An action on individuals is logged by their ids, not by their slots.
#[test]
fn actions_on_individuals_name_their_ids() {
    let tree = Tree::default();
    let action = Action { name: "push".into(), elements: vec![1, 0], individuals: vec![90, 91], ..Action::default() };
    let line = write(&tree, &LoggedCommand::Act(action));
    assert_eq!(line, r#"(7,Act(action:"push",individuals:[90,91]))"#);
    let values = r#",arguments:[("mode",Choice("Two")),("by",Real(6.0))]))"#;
    let LoggedCommand::Act(again) = read(&tree, None, &line.replace("))", values)).unwrap() else {
        panic!("an action")
    };
    assert_eq!((again.individuals, again.elements), (vec![90, 91], vec![]));
}

#[test]
fn colours_of_selections_are_read_and_have_no_effect() {
    let model = Model::by_name("spiking").unwrap();
    let read = |format, line: &str| {
        let order = order_of(format, "spiking").unwrap();
        let declarations = Declarations {
            params: model.params(),
            actions: model.actions(),
            ids: &|_, _| vec![],
            version: &|_| 1,
            order,
        };
        let (_, command) = declarations.read(line).unwrap();
        let written = Declarations { order: None, ..declarations };
        assert_eq!(written.read(&written.write(4, &command).unwrap()), Ok((4, command.clone())), "{line}");
        command
    };
    let lines = [
        (1, "(4,Set((id:(group:3,field:2,item:1),value:Choice(2))))"),
        (2, r#"(4,Set("selections.1.color",Choice("Sky")))"#),
    ];
    for (format, line) in lines {
        let former = LoggedCommand::Former("selections.1.color".into(), NamedValue::Choice("Sky".into()));
        assert_eq!(read(format, line), former, "{line}");
    }
    let lists = [
        (1, r#"(4,Set((id:(group:3,field:255,item:0),value:Rows([[Text("a"),Text("all"),Choice(2)]]))))"#),
        (2, r#"(4,Set("selections",Items([[("name",Text("a")),("query",Text("all")),("color",Choice("Sky"))]])))"#),
    ];
    for (format, line) in lists {
        let LoggedCommand::Set(change) = read(format, line) else { panic!("{line}") };
        let texts = ["a", "all", ""].map(|text| crate::params::Value::Text(text.to_owned()));
        assert_eq!(change.value, crate::params::Value::Rows(vec![texts.to_vec()]), "{line}");
    }
    // Times had the unit in their names.
    let change = read(2, r#"(4,Set("interventions.0.from_ms",Real(5.0)))"#);
    assert_eq!(change, read(2, r#"(4,Set("interventions.0.start",Real(5.0)))"#));
}

#[test]
fn what_is_not_declared_any_more_is_named() {
    let tree = Tree::default();
    let said = |line: &str| read(&tree, None, line).unwrap_err();
    assert_eq!(said(r#"(1,Set("unit.lost",Real(1.0)))"#), "there is no parameter `unit.lost`");
    assert_eq!(said(r#"(1,Set("unit.mode",Choice("Three")))"#), "unit.mode: there is no choice `Three`");
    assert_eq!(said(r#"(1,Set("unit.rate",Text("x")))"#), "unit.rate: `rate` has a value of another type");
    assert_eq!(said(r#"(1,Act(action:"pull"))"#), "there is no action `pull`");
    assert_eq!(said(r#"(1,Act(action:"push",ids:[99]))"#), "push: none of the cells has id 99");
    assert!(said(r#"(1,Set("items",Items([[("lost",Real(1.0))]])))"#).contains("have no `lost`"));
    assert!(said("(1,Jump)").contains("Jump"));
    assert!(order_of(1, "unheard").unwrap_err().contains("`unheard`"));
}
