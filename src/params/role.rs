//! What a declaration is for. The window finds groups, fields and choices by their role, never by the name that a kind
//! gave them.

/// The role of a group, of a field, or of a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// None in particular.
    #[default]
    Plain,

    /// The list of named sets of elements: [`Selection`](super::Selection).
    Selections,
    /// The list of interventions over a span of time: [`interventions!`](crate::interventions!).
    Interventions,

    /// Name of an item.
    Name,
    /// Which elements, as a query.
    Query,
    /// The set of elements that a query is over; empty for the first.
    OverSet,
    /// The elements it acts on: the name of a set, or a query.
    Target,
    /// What is done to them: a choice with one of the roles below.
    Effect,
    /// Whether an item applies.
    Enabled,
    /// Path of the parameter that it sets.
    Parameter,
    /// Value of that parameter, as text in its unit.
    ParameterValue,
    /// Start time, in the unit of the declaration.
    Start,
    /// Stop time; 0 for none.
    Stop,
    /// Time from pulse to pulse; 0 without pulses.
    Period,
    /// Length of a pulse.
    PulseDuration,

    /// Path of a folder with a network: its choice of source is in the same group.
    NetworkFolder,
    /// Reads the network from a folder.
    ReadsFolder,

    /// Drives its targets.
    Excites,
    /// Drives the elements that a file lists, at the steps that it lists.
    ExcitesFromFile,
    /// Cuts its targets off: no output, no input.
    Silences,
    /// Suppresses the output of its targets.
    SilencesOutput,
    /// Changes the outgoing connections of its targets.
    Scales,
    /// Gives a parameter another value.
    SetsParameter,
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

    /// Whether an effect acts on chosen elements.
    pub const fn takes_target(self) -> bool {
        !matches!(self, Self::SetsParameter | Self::ExcitesFromFile)
    }

    /// Whether an effect can be applied in pulses.
    pub const fn takes_pulses(self) -> bool {
        !matches!(self, Self::ExcitesFromFile)
    }

    /// Whether an effect silences.
    pub const fn is_silencing(self) -> bool {
        matches!(self, Self::Silences | Self::SilencesOutput)
    }
}
