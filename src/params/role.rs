//! Roles of declarations. The window finds groups, fields and choices by role, never by the name that a kind gave them.

/// Role of a group, a field or a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// No particular role.
    #[default]
    Plain,

    /// List of named sets of elements, see [`Selection`](super::Selection).
    Selections,
    /// List of interventions over a span of time, see [`interventions!`](crate::interventions!).
    Interventions,

    /// List of the nodes of a graph. An item is named by its field with the role [`Role::Name`].
    Nodes,
    /// List of the edges of a graph. The fields with the roles [`Role::From`] and [`Role::To`] name the two nodes.
    Edges,

    /// Name of an item.
    Name,
    /// Name of the node at which an edge starts.
    From,
    /// Name of the node at which an edge ends.
    To,
    /// Name of a node to which an item of another list belongs.
    OfNode,
    /// Name of another node that an item refers to; empty for none. The item does not belong to the node.
    OtherNode,
    /// Number of elements of a node.
    Size,
    /// Weight of each connection of an edge; a negative one inhibits.
    Weight,
    /// Query that selects elements.
    Query,
    /// Set of elements from which a query selects; empty for the first set.
    OverSet,
    /// Affected elements: the name of a selection, or a query.
    Target,
    /// Effect on the targets: a choice whose options have the roles from [`Role::Excites`] on.
    Effect,
    /// Whether an item is enabled.
    Enabled,
    /// Path of the parameter that the item sets.
    Parameter,
    /// Value of [`Role::Parameter`] as text with its unit.
    ParameterValue,
    /// Start time, in the unit of the declaration.
    Start,
    /// Stop time; 0 means never.
    Stop,
    /// Period of pulses; 0 means continuous.
    Period,
    /// Duration of a pulse.
    PulseDuration,

    /// Text of several lines, such as a prompt.
    Passage,

    /// Path of a network folder; the choice of network source is in the same group.
    NetworkFolder,
    /// Choice that reads the network from a folder.
    ReadsFolder,

    /// Effect that drives its targets.
    Excites,
    /// Effect that drives the elements listed in a file, at the listed steps.
    ExcitesFromFile,
    /// Effect that removes output and input of its targets.
    Silences,
    /// Effect that suppresses the output of its targets.
    SilencesOutput,
    /// Effect that changes the outgoing connections of its targets.
    Scales,
    /// Effect that permutes the weights of connections.
    Shuffles,
    /// Effect that sets a parameter to another value.
    SetsParameter,
}

impl Role {
    /// Returns the declared role, or [`Role::Plain`]. The macros use this function.
    pub const fn or_plain(declared: &[Self]) -> Self {
        match declared {
            [role, ..] => *role,
            [] => Self::Plain,
        }
    }

    /// Whether the effect is a lesion and not a stimulus.
    pub const fn is_lesion(self) -> bool {
        matches!(self, Self::Silences | Self::SilencesOutput | Self::Scales | Self::Shuffles)
    }

    /// Whether the effect applies to selected elements.
    pub const fn takes_target(self) -> bool {
        !matches!(self, Self::SetsParameter | Self::ExcitesFromFile | Self::Shuffles)
    }

    /// Whether the effect can be pulsed.
    pub const fn takes_pulses(self) -> bool {
        !matches!(self, Self::ExcitesFromFile)
    }

    /// Whether the effect silences its targets.
    pub const fn is_silencing(self) -> bool {
        matches!(self, Self::Silences | Self::SilencesOutput)
    }
}
