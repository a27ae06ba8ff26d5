//! Opening of the chosen trial of the shown series.

use crate::app::{document::playback::OpenedRun, kit::level::Level, shell::parts::ActionParts};
use std::path::Path;

/// Opens the trial that was chosen in place of the shown one on a thread. Trials are opened one after another: of several choices
/// meanwhile, only the last one is opened.
pub fn open_chosen(parts: &mut ActionParts<'_>) {
    let Some(chosen) = parts.document.session.live.begin_trial() else { return };
    let (series, trial, consent) = (chosen.series.clone(), chosen.trial, parts.host.consent.clone());
    let place = series.clone();
    let open = move || {
        let opened = chosen.open(&|outside| consent.allows_run(&chosen.series, outside));
        opened.map(Box::new)
    };
    let done = move |parts: &mut ActionParts<'_>, opened| received(parts, &series, trial, opened);
    if let Err(why) = parts.host.try_job("open trial", open, done) {
        received(parts, &place, trial, Err(why));
    }
}

/// Shows the trial, from 0, of a series that was opened, unless another trial or document was chosen meanwhile. A trial that cannot be
/// shown is a message, and the shown one stays.
fn received(parts: &mut ActionParts<'_>, series: &Path, trial: u32, opened: Result<Box<OpenedRun>, String>) {
    let live = &mut parts.document.session.live;
    let shown = live.playback.as_mut().and_then(|run| run.trial.as_mut()).filter(|trials| trials.series == series);
    if !shown.is_some_and(|trials| trials.end_opening(trial)) {
        return;
    }
    if let Err(why) = opened.and_then(|opened| show(parts, *opened)) {
        let live = &mut parts.document.session.live;
        live.playback.iter_mut().filter_map(|run| run.trial.as_mut()).for_each(|trials| trials.stay());
        parts.messages.notify(Level::Error, format!("Could not show trial {}: {why}", trial + 1));
    }
}

/// Shows another trial of the shown series in the same views, at the same time. Fails if its streams cannot be read.
fn show(parts: &mut ActionParts<'_>, opened: OpenedRun) -> Result<(), String> {
    let (notes, folder) = (opened.notes.clone(), opened.run.path.clone());
    parts.document.session.show_other_trial(opened).map_err(|why| format!("{}: {why}", folder.display()))?;
    notes.into_iter().for_each(|note| parts.messages.log.add(Level::Warning, note));
    parts.document.replayed = None;
    // All views get the frames of the trial from the first one on.
    parts.workspace.unfed.clear();
    Ok(())
}
