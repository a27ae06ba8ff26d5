//! The probe that a view shows and the arguments of its tap. The user chooses them in the toolbar; the project stores them by
//! name.

use super::ViewCtx;
use crate::{
    app::{document::features::probes_where, kit},
    engine::SimSchema,
    sim::{ArgValues, ProbeId, ProbeSpec, Shape, Tap, TapArgs},
};
use egui::Ui;

/// Probe with its id.
pub type ListedProbe = (ProbeId, &'static ProbeSpec);

/// A choice among probes by name, which is not stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamedProbe(Option<&'static str>);

impl NamedProbe {
    /// Creates a choice of a probe.
    pub fn named(schema: &SimSchema, probe: ProbeId) -> Self {
        Self(schema.probes.get(usize::from(probe)).map(|spec| spec.name))
    }

    /// Returns the chosen probe if it is listed, otherwise the first preferred one, otherwise the first. `None` without
    /// probes.
    pub fn of(self, listed: &[ListedProbe], is_preferred: impl Fn(&ListedProbe) -> bool) -> Option<ListedProbe> {
        let chosen = listed.iter().find(|(_, probe)| Some(probe.name) == self.0);
        chosen.or_else(|| listed.iter().find(|probe| is_preferred(probe))).or(listed.first()).copied()
    }

    /// Draws a menu of probes and their labels. Returns whether another probe than the shown one was chosen.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        ctx: &ViewCtx<'_>,
        label: &str,
        shown: &'static ProbeSpec,
        options: &[(&'static str, String)],
    ) -> bool {
        let mut name = shown.name;
        let is_changed = kit::choice_ui(ui, ctx.tokens, label, &mut name, options);
        if is_changed {
            self.0 = Some(name);
        }
        is_changed
    }
}

/// A choice among the probes of some shapes, with the arguments of the tap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChosenProbe {
    /// Name of the chosen probe; empty: the first probe.
    name: String,
    args: TapArgs,
}

impl ChosenProbe {
    /// Returns the chosen probe if it exists, otherwise the first one. `None` if no probe has a wanted shape.
    pub fn probe(&self, schema: &SimSchema, wanted: fn(&Shape) -> bool) -> Option<(ProbeId, &'static ProbeSpec)> {
        let chosen = probes_where(schema, wanted).find(|(_, p)| p.name == self.name);
        chosen.or_else(|| probes_where(schema, wanted).next())
    }

    pub fn tap(&self, schema: &SimSchema, wanted: fn(&Shape) -> bool) -> Option<Tap> {
        let (id, probe) = self.probe(schema, wanted)?;
        let args = if probe.name == self.name { &self.args } else { &TapArgs::NONE };
        Some(schema.tap(id, args))
    }

    /// Formats the choice as text: `attention:layer=2,head=1`. `None` without a choice.
    pub fn to_text(&self) -> Option<String> {
        match (self.name.is_empty(), self.args.is_empty()) {
            (true, _) => None,
            (_, true) => Some(self.name.clone()),
            _ => Some(format!("{}:{}", self.name, self.args.as_str())),
        }
    }

    /// Parses a choice. Arguments that do not match the declared ones are discarded.
    pub fn choose(&mut self, schema: &SimSchema, text: &str) {
        let (name, args) = text.split_once(':').unwrap_or((text, ""));
        let specs = schema.probes.iter().find(|p| p.name == name).map_or(&[][..], |p| p.args);
        let args = TapArgs::parse(args, specs).unwrap_or_default();
        *self = Self { name: name.to_owned(), args };
    }

    /// Draws a menu of the probes if there are several, and the arguments of the shown probe. Returns whether the choice changed.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, label: &str, wanted: fn(&Shape) -> bool) -> bool {
        let Some((id, probe)) = self.probe(ctx.schema, wanted) else { return false };
        let all: Vec<_> = probes_where(ctx.schema, wanted).map(|(_, p)| (p.name, p.label().into_owned())).collect();
        let mut name = probe.name;
        if all.len() > 1 && kit::choice_ui(ui, ctx.tokens, label, &mut name, &all) {
            *self = Self { name: name.to_owned(), args: TapArgs::NONE };
            return true;
        }
        let shown = ctx.schema.tap(id, if probe.name == self.name { &self.args } else { &TapArgs::NONE }).args;
        for (i, arg) in probe.args.iter().enumerate() {
            let choices = ctx.schema.choices(id, i);
            // A finished run does not list the values.
            if choices.is_empty() && arg.values == ArgValues::Listed && shown.get(arg.name).is_none() {
                continue;
            }
            let first = choices.first().cloned().unwrap_or_default();
            let before = shown.get(arg.name).map_or(first, |value| value.into_owned());
            let mut value = before.clone();
            let is_changed = match arg.values {
                ArgValues::Listed => {
                    // A number is ambiguous without the name of its argument.
                    let has_label = kit::has_labels(ui);
                    let shown = |c: &String| match c.parse::<f64>() {
                        Ok(_) if !has_label => format!("{} {c}", arg.name),
                        _ => c.clone(),
                    };
                    let mut options: Vec<_> = choices.iter().map(|c| (c.clone(), shown(c))).collect();
                    if !choices.contains(&value) {
                        options.push((value.clone(), format!("{value} (gone)")));
                    }
                    kit::choice_ui(ui, ctx.tokens, arg.name, &mut value, &options)
                }
                ArgValues::Text => {
                    let edit = egui::TextEdit::singleline(&mut value).hint_text(arg.name).desired_width(140.0);
                    let response = ui.add(edit).on_hover_text(arg.docs.trim());
                    response.changed() && value != before
                }
            };
            if is_changed {
                let args = shown.with(probe.args, arg.name, &value);
                *self = Self { name: probe.name.to_owned(), args };
                return true;
            }
        }
        false
    }
}
