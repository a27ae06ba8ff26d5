//! An element is marked in all views while the pointer is on it, and no longer.

use crate::support::window;
use egui_kittest::kittest::Queryable;
use neuropil::app::document::command::UiCommand;
use window::{is_built, open, start, until};

#[test]
fn a_mark_ends_when_the_pointer_leaves_the_panel() {
    let mut w = open(start(true));
    w.run();
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Rebuild);
    until(&mut w, "it is loaded", is_built);
    w.state_mut().command(&ctx, UiCommand::ShowView("table"));
    w.run_steps(3);
    let name = w.state().session().live.schema.sets[0].label(0);
    let row = w.query_all_by_label(&name).last().expect("its row").rect().center();
    w.hover_at(row);
    w.run_steps(3);
    assert_eq!(w.state().session().selection.hovered, Some(0));
    let outside = w.get_by_label("Filter parameters").rect().center();
    w.hover_at(outside);
    w.run_steps(3);
    assert_eq!(w.state().session().selection.hovered, None, "the row is not under the pointer");
}
