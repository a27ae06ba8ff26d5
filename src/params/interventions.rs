//! Selections and interventions, declared once for all kinds. A kind declares its effects and their fields with
//! [`interventions!`](crate::interventions!), and lists both groups in its [`param_tree!`](crate::param_tree!) with the
//! roles [`Role::Selections`] and [`Role::Interventions`]. Every kind has the effect of setting a parameter.

use super::{
    Apply, Change, ChoiceSpec, ParamId, ParamSpec, Params, Query, Role, Schedule, Value, ValueType, path, schedule,
};
use crate::params;

params! {
    /// A named query over the elements of a model.
    pub struct Selection {
        /// Name, for use as a target.
        #[param(title = "Name", role = Role::Name)]
        name: String = String::new(),

        /// Query of the elements: `super_class = sensory and side = left`, `root_id = 720575940660219265`,
        /// `idx = 1, 2, 5..9`, `file = list.csv`, `random 21 of class = gustatory`, `all`.
        #[param(title = "Query", role = Role::Query)]
        query: Query = Query::default(),

        /// Set of elements that it selects from; empty: the first set of the model.
        #[param(title = "Set", role = Role::OverSet)]
        set: String = String::new(),
    }
}

/// Removed fields of lists with these roles. Old files and logs contain such fields, and readers ignore them. Colours of
/// selections are stored with the view of a project.
pub(super) const FORMER_FIELDS: &[(Role, &str)] = &[(Role::Selections, "color")];

/// Declares the effects of a kind's interventions, and the struct of an intervention: name, switch, type, target and
/// times are common to all kinds. `(f64, Ms)` is type and unit of the times. Every kind has the effect `SetParameter`.
#[macro_export]
macro_rules! interventions {
    (
        $(#[doc = $effect_docs:literal])*
        pub enum $Effect:ident { $($effects:tt)* }

        $(#[doc = $docs:literal])*
        pub struct $Intervention:ident($Time:ty, $unit:expr) { $($fields:tt)* }
    ) => {
        $crate::choices! {
            $(#[doc = $effect_docs])*
            pub enum $Effect {
                $($effects)*
                /// Gives a parameter another value while it is active.
                #[title("Set a parameter")]
                #[role(SetsParameter)]
                SetParameter,
            }
        }

        $crate::params! {
            $(#[doc = $docs])*
            pub struct $Intervention {
                /// Name, for lists and logs.
                #[param(title = "Name", role = Role::Name)]
                name: String = String::new(),

                /// Whether it is applied. A disabled one may be incomplete.
                #[param(title = "Enabled", role = Role::Enabled)]
                enabled: bool = true,

                /// Type of intervention.
                #[param(title = "Type", role = Role::Effect)]
                effect: $Effect = $Effect::ALL[0],

                /// Targets: the name of a selection, or a query.
                #[param(title = "Target", role = Role::Target)]
                #[show_if(|s| $crate::params::ParamValue::role(&s.effect).takes_target())]
                target: $crate::params::Query = $crate::params::Query::default(),

                $($fields)*

                /// Parameter that has another value while the intervention is active. Afterwards it has its own value again;
                /// edits of that value meanwhile take effect then. Parameters linked to it by a formula do not follow.
                #[param(title = "Parameter", role = Role::Parameter)]
                #[show_if(|s| $crate::params::ParamValue::role(&s.effect) == $crate::params::Role::SetsParameter)]
                parameter: String = String::new(),

                /// Value of the parameter while the intervention is active, with its unit: `15 ms`, `0.3`, `true`. Of two
                /// active interventions on one parameter the later in the list applies.
                #[param(title = "Value", role = Role::ParameterValue)]
                #[show_if(|s| $crate::params::ParamValue::role(&s.effect) == $crate::params::Role::SetsParameter)]
                value: String = String::new(),

                /// Start time.
                #[param(title = "Start", unit = $unit, role = Role::Start, range = 0.0..=10_000.0, hard = 0.0..=1e12)]
                #[alias("from_ms")]
                start: $Time = <$Time>::default(),

                /// Stop time; 0 means never.
                #[param(title = "Stop", unit = $unit, role = Role::Stop, range = 0.0..=10_000.0, hard = 0.0..=1e12, zero = "Never")]
                #[alias("to_ms")]
                stop: $Time = <$Time>::default(),

                /// Period of pulses between start and stop; 0 means continuous.
                #[param(title = "Period", unit = $unit, role = Role::Period, range = 0.0..=2000.0, hard = 0.0..=1e12, zero = "None")]
                #[show_if(|s| $crate::params::ParamValue::role(&s.effect).takes_pulses())]
                #[alias("every_ms")]
                period: $Time = <$Time>::default(),

                /// Duration of each pulse.
                #[param(title = "Pulse duration", unit = $unit, role = Role::PulseDuration, range = 1.0..=1000.0, hard = 0.0..=1e12, scale = Log)]
                #[show_if(|s| s.period > <$Time>::default() && $crate::params::ParamValue::role(&s.effect).takes_pulses())]
                #[alias("pulse_ms")]
                pulse: $Time = <$Time>::from(50_u8),
            }
        }

        impl $Intervention {
            /// Returns the schedule of the intervention. `per_step` is the duration of a step in the unit of its times. The
            /// error names the field.
            pub fn schedule(&self, per_step: f64) -> Result<$crate::params::Schedule, String> {
                use $crate::params::ParamGroup;
                $crate::params::Schedule::read(Self::SPECS, |i| self.get(i), |i| self.is_shown(i), per_step)
            }
        }
    };
}

/// Returns the index of the list group with the role `role`; `None` if there is no such group.
pub fn list(params: &dyn Params, role: Role) -> Option<usize> {
    params.groups().iter().position(|g| g.list && g.role == role)
}

/// Returns the index of the field of a group with the role `role`; `None` if there is no such field.
pub fn field(params: &dyn Params, group: usize, role: Role) -> Option<usize> {
    params.groups().get(group)?.fields().iter().position(|p| p.role == role)
}

/// Returns the text of the field with the role `role`; empty if there is no such field.
fn text(params: &dyn Params, group: usize, item: usize, role: Role) -> String {
    let id = field(params, group, role).map(|f| ParamId { item: item as u16, ..ParamId::of(group, f) });
    match id.map(|id| params.get(id)) {
        Some(Value::Text(text)) => text,
        _ => String::new(),
    }
}

/// Reads the selections of a project.
pub fn selections(params: &dyn Params) -> Vec<Selection> {
    let Some(group) = list(params, Role::Selections) else { return vec![] };
    let one = |item| Selection {
        name: text(params, group, item, Role::Name),
        query: text(params, group, item, Role::Query).into(),
        set: text(params, group, item, Role::OverSet),
    };
    (0..params.len(group as u8)).map(one).collect()
}

/// Intervention of a project of any kind. Its fields are found by their roles.
#[derive(Clone, Copy)]
pub struct Intervention<'a> {
    params: &'a dyn Params,
    /// Index of the list.
    pub group: usize,
    /// Index in the list.
    pub item: usize,
}

impl<'a> Intervention<'a> {
    /// Lists all interventions of a project in list order.
    pub fn all(params: &'a dyn Params) -> impl Iterator<Item = Self> + use<'a> {
        let group = list(params, Role::Interventions);
        let n = group.map_or(0, |group| params.len(group as u8));
        (0..n).filter_map(move |item| Some(Self { params, group: group?, item }))
    }

    /// Returns the intervention at an index of a list group; `None` if the group is not the list of interventions or the
    /// item does not exist.
    pub fn of(params: &'a dyn Params, group: usize, item: usize) -> Option<Self> {
        let is_one = list(params, Role::Interventions) == Some(group) && item < params.len(group as u8);
        is_one.then_some(Self { params, group, item })
    }

    /// Returns the address of the field with the role `role`; `None` if there is no such field.
    pub fn id(&self, role: Role) -> Option<ParamId> {
        let field = field(self.params, self.group, role)?;
        Some(ParamId { item: self.item as u16, ..ParamId::of(self.group, field) })
    }

    /// Returns the text of the field with the role `role`; empty if there is no such field.
    pub fn text(&self, role: Role) -> String {
        text(self.params, self.group, self.item, role)
    }

    /// Whether the intervention is enabled. An intervention without such a field is always enabled.
    pub fn is_enabled(&self) -> bool {
        self.id(Role::Enabled).is_none_or(|id| self.params.get(id) == Value::Bool(true))
    }

    /// Returns the effect that is chosen; `None` if the intervention has no effect field.
    pub fn effect(&self) -> Option<&'static ChoiceSpec> {
        let id = self.id(Role::Effect)?;
        match (self.params.spec(id)?.kind, self.params.get(id)) {
            (ValueType::Choice(choices), Value::Choice(c)) => choices.get(usize::from(c)),
            _ => None,
        }
    }

    /// Returns the role of the effect, or [`Role::Plain`] if there is no effect.
    pub fn role(&self) -> Role {
        self.effect().map_or(Role::Plain, |effect| effect.role)
    }

    /// Returns the name of the intervention, or the label of its effect if the name is empty.
    pub fn label(&self) -> String {
        let name = self.text(Role::Name);
        if name.trim().is_empty() { self.effect().map_or_else(String::new, |e| e.label().into_owned()) } else { name }
    }

    /// Reads the schedule of the intervention. `per_step` is the length of a step in the time base of the kind: seconds, or
    /// 1 for counted steps. Fails with an error that names the field.
    pub fn schedule(&self, per_step: f64) -> Result<Schedule, String> {
        let specs = self.params.groups()[self.group].fields();
        let at = |f| ParamId { item: self.item as u16, ..ParamId::of(self.group, f) };
        let start = specs.iter().find(|spec| spec.role == Role::Start);
        let per_step = start.map_or(per_step, |spec| schedule::per_step_in(spec, per_step));
        Schedule::read(specs, |f| self.params.get(at(f)), |f| self.params.is_shown(at(f)), per_step)
    }

    /// Reads the parameter that the intervention sets, and its value while the intervention is active. Fails with a clause
    /// that names the field.
    pub fn setting(&self) -> Result<Change, String> {
        let (parameter, value) = (self.text(Role::Parameter), self.text(Role::ParameterValue));
        let parameter = parameter.trim();
        if parameter.is_empty() {
            return Err("parameter: none is chosen. Choose a parameter, or disable the intervention".to_owned());
        }
        let (id, spec) = path::find(self.params, parameter).map_err(|e| format!("parameter: {e}"))?;
        settable(self.params, id, spec).map_err(|why| format!("parameter: `{parameter}` {why}"))?;
        let value = path::parse_value(spec, value.trim()).map_err(|why| format!("value of `{parameter}`: {why}"))?;
        match spec.refusal(&value) {
            Some(why) => Err(format!("value of `{parameter}`: {why}")),
            None => Ok(Change { id, value }),
        }
    }
}

/// Checks that an intervention can set a parameter. This holds for numbers, switches and choices that take effect during a
/// run. Fails with a clause about the parameter.
pub fn settable(params: &dyn Params, id: ParamId, spec: &ParamSpec) -> Result<(), &'static str> {
    match (spec.apply, spec.kind) {
        _ if params.groups().get(usize::from(id.group)).is_none_or(|group| group.list) => {
            Err("belongs to an item of a list; only parameters outside of lists can be set")
        }
        _ if spec.part.is_some() => {
            Err("exists only while its group is chosen; only parameters that always exist can be set")
        }
        (Apply::Rebuild, _) => Err("needs a rebuild; only parameters that take effect while it runs can be set"),
        (Apply::Rewind, _) => {
            Err("takes effect at a rewind; only parameters that take effect while it runs can be set")
        }
        (Apply::Live, ValueType::Bool | ValueType::Int | ValueType::Real | ValueType::Choice(_)) => Ok(()),
        (Apply::Live | Apply::Data, _) => Err("is no number, switch or choice; only these can be set"),
    }
}
