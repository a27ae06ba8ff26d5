//! Fields of a parameter that is a number or a distribution: a menu of laws, a preview of the density, and a row per argument.

use super::{query, row, rows::Rows};
use crate::{
    app::kit::{icons, text, theme::Tokens, widgets},
    params::{
        Change, Distribution, ParamId, ParamSpec, Value,
        distribution::{LAWS, Law},
    },
};
use egui::{Popup, Rect, Ui, pos2, vec2};

/// Number of bars of the preview, and number of quantiles that are counted for the bars.
const BARS: usize = 24;
const QUANTILES: usize = 480;

/// Draws the menu of laws. Returns the distribution with the newly chosen law; `None` if no other law was chosen.
pub(super) fn menu_ui(ui: &mut Ui, spec: &ParamSpec, now: Distribution) -> Option<Distribution> {
    let button = widgets::icon_toggle(
        ui,
        icons::DISTRIBUTION,
        &format!("Distribution of {}", spec.label()),
        now.law != Law::Constant,
    );
    let mut chosen = None;
    Popup::menu(&button).show(|ui| {
        for law in &LAWS {
            let label = ui.selectable_label(law.law == now.law, law.title);
            if label.on_hover_text(text::unwrap(law.docs)).clicked() && law.law != now.law {
                chosen = Some(now.with_law(law.law, spec));
            }
        }
    });
    chosen
}

/// Maximum number of previews in memory.
const MAX_PREVIEWS: usize = 64;

/// Returns the heights of the bars, which are computed once per distribution.
fn bars(ui: &Ui, now: Distribution) -> [u16; BARS] {
    let id = egui::Id::unique("distribution previews");
    ui.data_mut(|data| {
        let known: &mut Vec<(Distribution, [u16; BARS])> = data.get_temp_mut_or_default(id);
        if let Some((_, counts)) = known.iter().find(|(distribution, _)| *distribution == now) {
            return *counts;
        }
        if known.len() >= MAX_PREVIEWS {
            known.remove(0);
        }
        let counts = count_quantiles(now);
        known.push((now, counts));
        counts
    })
}

/// Counts quantiles per bar, between the 0.5th and the 99.5th percentile.
fn count_quantiles(now: Distribution) -> [u16; BARS] {
    let (low, high) = (now.quantile(0.005), now.quantile(0.995));
    let mut counts = [0_u16; BARS];
    for i in 0..QUANTILES {
        let x = now.quantile((i as f64 + 0.5) / QUANTILES as f64);
        if (low..=high).contains(&x) && high > low {
            counts[(((x - low) / (high - low) * BARS as f64) as usize).min(BARS - 1)] += 1;
        }
    }
    counts
}

/// Draws the density between the 0.5th and the 99.5th percentile.
pub(super) fn preview_ui(ui: &mut Ui, rect: Rect, now: Distribution) {
    let (t, counts) = (Tokens::of(ui.ctx()), bars(ui, now));
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let inner = rect.shrink2(vec2(0.0, 3.0));
    let width = inner.width() / BARS as f32;
    for (i, count) in counts.iter().enumerate() {
        let left = inner.left() + i as f32 * width;
        let top = inner.bottom() - inner.height() * f32::from(*count) / f32::from(most);
        let bar = Rect::from_min_max(pos2(left, top), pos2(left + width - 0.5, inner.bottom()));
        ui.painter().rect_filled(bar, 0, t.accent);
    }
    ui.painter().hline(inner.x_range(), inner.bottom(), egui::Stroke::new(1.0, t.line));
}

/// Whether a value has rows of arguments below its own row.
pub(super) fn has_arguments(value: &Value) -> bool {
    matches!(value, Value::Distribution(law) if law.law != Law::Constant)
}

/// Draws the rows of the arguments and the bounds below the parameter.
pub(super) fn arguments_ui(ui: &mut Ui, rows: &mut Rows<'_>, id: ParamId, spec: &ParamSpec, name: &str) {
    let Value::Distribution(now) = rows.params.get(id) else { return };
    let mut new = now;
    let n = now.law.spec().arguments.len();
    for (i, (spec, value)) in Distribution::argument_specs(now.law, spec).iter().zip(now.values()).enumerate() {
        if i == n {
            bounds_ui(ui, spec, name, &mut new);
        }
        row::part(ui, &spec.label(), |ui, cells| {
            let name = format!("{name}.{}", spec.name);
            let typed = row::number_ui(ui, cells, spec, &name, &Value::Real(value), true);
            row::unit_ui(ui, cells, spec);
            if let Some(Value::Real(x)) = typed {
                new = new.with_value(i, x);
            }
        });
    }
    if now.bounds.is_none() {
        bounds_ui(ui, spec, name, &mut new);
    }
    let value = Value::Distribution(new);
    if new != now && spec.admits(&value) {
        query::set_value(rows.params, &Change { id, value });
    }
}

/// Draws the switch between unbounded and bounded.
fn bounds_ui(ui: &mut Ui, spec: &ParamSpec, name: &str, new: &mut Distribution) {
    row::part(ui, "Bounds", |ui, cells| {
        let mut is_on = new.bounds.is_some();
        let switch = row::in_slider(ui, cells, |ui| widgets::switch(ui, &mut is_on, &format!("{name} bounds")));
        let hover = "Truncates the distribution: its shape between the bounds stays";
        if switch.on_hover_text(hover).changed() {
            new.bounds = is_on.then(|| {
                let (low, high) = (new.quantile(0.001), new.quantile(0.999));
                (low.clamp(spec.hard.0, spec.hard.1), high.clamp(spec.hard.0, spec.hard.1))
            });
        }
    });
}
