//! What a declaration is for. The window finds groups, fields and choices by their role, never by the name that a kind
//! gave them.

/// The role of a group, of a field, or of a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// None in particular.
    #[default]
    Plain,

    /// A list of named sets of elements: fields [`Role::Name`], [`Role::Query`], and [`Role::Colour`] where they have one.
    Selections,
    /// A list of interventions on elements over a span of time: fields [`Role::Name`], [`Role::Target`], [`Role::Effect`], and
    /// as many of the others as there are.
    Interventions,

    /// Name of an item.
    Name,
    /// Which elements, as a query.
    Query,
    /// Index of a colour of the theme's palette; the first choice is none.
    Colour,
    /// The elements it acts on: the name of a set, or a query.
    Target,
    /// What is done to them: a choice with one of the roles below.
    Effect,
    /// Whether an item applies.
    Enabled,
    /// Begin, ms.
    Start,
    /// End, ms; 0 for none.
    Stop,
    /// Time from pulse to pulse, ms; 0 without pulses.
    Period,
    /// Length of a pulse, ms.
    PulseDuration,

    /// Drives its targets.
    Excites,
    /// Cuts its targets off: no output, no input.
    Silences,
    /// Suppresses the output of its targets.
    SilencesOutput,
    /// Changes the outgoing connections of its targets.
    Scales,
}

impl Role {
    /// The declared role, or none in particular; for the macros.
    pub const fn or_plain(declared: &[Self]) -> Self {
        match declared {
            [role, ..] => *role,
            [] => Self::Plain,
        }
    }

    /// Whether an effect takes something away instead of driving.
    pub const fn is_lesion(self) -> bool {
        matches!(self, Self::Silences | Self::SilencesOutput | Self::Scales)
    }

    /// Whether an effect silences.
    pub const fn is_silencing(self) -> bool {
        matches!(self, Self::Silences | Self::SilencesOutput)
    }
}
