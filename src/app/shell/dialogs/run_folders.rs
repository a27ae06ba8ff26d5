//! Dialogs that rename and delete run folders.

use super::{answers::Answer, recovery::danger, title_ui, was_entered};
use crate::{
    app::kit::{text, theme::Tokens, widgets},
    project::{delete::Deletion, rename::why_not_name},
};
use egui::{Align, Layout, RichText, ScrollArea, TextEdit, Ui};
use std::path::{Path, PathBuf};

/// Maximum number of runs that the question names.
const NAMED: usize = 12;

/// Asks for the new name of a run. Returns the answer; `None` until a button is pressed.
pub fn rename_ui(ui: &mut Ui, folder: &Path, name: &mut String) -> Option<Answer> {
    let now = folder.file_name().map(|now| now.to_string_lossy().into_owned()).unwrap_or_default();
    title_ui(ui, &format!("Rename {now}"));
    let field = ui.add(TextEdit::singleline(name).desired_width(f32::INFINITY).hint_text("Name of the folder"));
    let field = field.accessible_name("Name of the run");
    let entered = was_entered(ui, &field);
    let is_taken = *name != now && folder.with_file_name(&*name).symlink_metadata().is_ok();
    let problem = why_not_name(name).or(is_taken.then_some("A file or folder with this name exists"));
    ui.label(RichText::new(problem.unwrap_or(" ")).small().color(Tokens::of(ui.ctx()).warn));
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let is_ready = problem.is_none() && *name != now;
        let go = ui.add_enabled_ui(is_ready, |ui| widgets::primary(ui, "Rename").clicked()).inner;
        if is_ready && (go || entered) {
            return Some(Answer::RenameRun(folder.to_owned(), name.clone()));
        }
        ui.button("Cancel").clicked().then_some(Answer::Cancel)
    })
    .inner
}

/// Asks whether to delete runs. Returns the answer; `None` until a button is pressed.
pub fn delete_ui(ui: &mut Ui, runs: &[Deletion]) -> Option<Answer> {
    title_ui(ui, &title(runs));
    ui.label(format!("{} are deleted from the disk and cannot be restored.", text::bytes(size(runs))));
    if runs.len() > 1 {
        let names = || runs.iter().take(NAMED).map(Deletion::name);
        let more = runs.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {}", text::plural(more, "more", "more")) } else { String::new() };
        ScrollArea::vertical().max_height(120.0).show(ui, |ui| {
            ui.label(widgets::sub(ui, format!("{}{more}", names().collect::<Vec<_>>().join(", "))));
        });
    }
    for line in consequences(runs) {
        ui.add_space(4.0);
        ui.label(widgets::sub(ui, line));
    }
    ui.add_space(14.0);
    ui.horizontal(|ui| {
        let delete = danger(ui, if runs.len() == 1 { "Delete run" } else { "Delete runs" });
        let cancel = ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.button("Cancel").clicked()).inner;
        let folders = || runs.iter().map(|run| run.folder.clone()).collect::<Vec<PathBuf>>();
        if delete { Some(Answer::DeleteRuns(folders())) } else { cancel.then_some(Answer::Cancel) }
    })
    .inner
}

fn title(runs: &[Deletion]) -> String {
    match runs {
        [run] => format!("Delete {}?", run.name()),
        runs => format!("Delete {}?", text::plural(runs.len(), "run", "runs")),
    }
}

fn size(runs: &[Deletion]) -> u64 {
    runs.iter().map(|run| run.n_bytes).sum()
}

/// Returns what the deletion means for the branches of the runs that are not deleted themselves.
fn consequences(runs: &[Deletion]) -> Vec<String> {
    let is_kept = |folder: &Path| runs.iter().all(|run| run.folder != folder);
    let branches = || runs.iter().flat_map(|run| &run.branches).filter(|branch| is_kept(&branch.folder));
    let names = |has_copy: bool| branches().filter(|b| b.has_copy == has_copy).map(|b| b.name()).collect::<Vec<_>>();
    let mut lines = vec![];
    if let names @ [_, ..] = &names(true)[..] {
        let what = if names.len() == 1 { "branch keeps its copy" } else { "branches keep their copies" };
        let n = text::count(names.len() as u64);
        lines.push(format!("{n} {what} of the checkpoint and can still be replayed: {}", names.join(", ")));
    }
    if let names @ [_, ..] = &names(false)[..] {
        let what = if names.len() == 1 { "branch reads its" } else { "branches read their" };
        let n = text::count(names.len() as u64);
        lines.push(format!("{n} {what} checkpoint from here and can no longer be replayed: {}", names.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Branch;

    #[test]
    fn the_question_names_size_and_branches() {
        let branch = |name: &str, has_copy| Branch { folder: PathBuf::from("runs").join(name), has_copy };
        let run = |name: &str, branches: Vec<Branch>| Deletion {
            folder: PathBuf::from("runs").join(name),
            n_bytes: 1_500_000,
            branches,
        };
        let one = [run("a", vec![branch("b", true), branch("c", true), branch("old", false)])];
        assert_eq!((title(&one), size(&one)), ("Delete a?".to_owned(), 1_500_000));
        assert_eq!(
            consequences(&one),
            [
                "2 branches keep their copies of the checkpoint and can still be replayed: b, c",
                "1 branch reads its checkpoint from here and can no longer be replayed: old"
            ]
        );
        let both = [run("a", vec![branch("b", true)]), run("b", vec![])];
        assert_eq!((title(&both), consequences(&both)), ("Delete 2 runs?".to_owned(), vec![]), "b is deleted, too");
    }
}
