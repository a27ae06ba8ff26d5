//! Gesture hints of the panel under the pointer, for the status bar.

/// Pairs of a gesture and its effect.
pub type Gestures = &'static [(&'static str, &'static str)];

fn hint_id() -> egui::Id {
    egui::Id::unique("gestures of the hovered panel")
}

/// Sets the gesture hints of the hovered panel, which are shown in the next frame.
pub fn hint(ctx: &egui::Context, gestures: Gestures) {
    let now = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| d.insert_temp(hint_id(), (now, gestures)));
}

/// Returns the gesture hints of the hovered panel; `None` if no panel has set any in the last two passes.
pub fn hinted(ctx: &egui::Context) -> Option<Gestures> {
    let now = ctx.cumulative_pass_nr();
    let (at, gestures) = ctx.data(|d| d.get_temp::<(u64, Gestures)>(hint_id()))?;
    (now.saturating_sub(at) <= 2 && !gestures.is_empty()).then_some(gestures)
}
