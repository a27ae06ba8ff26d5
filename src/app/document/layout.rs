//! Pages of the window, and the layouts that a page is reset to.

use crate::app::kit::icons;

/// The purpose of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Page {
    /// Run a model and watch it.
    Simulate,
    /// Inspect the model's structure.
    Explore,
    /// Profile time and memory.
    Profile,
    Runs,
}

impl Page {
    /// All pages, in tab order.
    pub const ALL: [Self; 4] = [Self::Simulate, Self::Explore, Self::Profile, Self::Runs];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Simulate => "Simulate",
            Self::Explore => "Explore",
            Self::Profile => "Profile",
            Self::Runs => "Runs",
        }
    }

    pub const fn icon(self) -> &'static str {
        match self {
            Self::Simulate => icons::PLAY,
            Self::Explore => icons::BRAIN,
            Self::Profile => icons::GAUGE,
            Self::Runs => icons::FLASK,
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Self::Simulate => "Run the model and watch it",
            Self::Explore => "Inspect the model's structure",
            Self::Profile => "Profile time and memory",
            Self::Runs => "Recorded runs",
        }
    }

    /// Whether it works without a simulation.
    pub const fn needs_no_simulation(self) -> bool {
        matches!(self, Self::Runs)
    }
}

/// The layout to reset to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The default for the simulation.
    Workspace,
    /// As opened with the project.
    Project,
    /// As saved last.
    Saved,
}

impl Target {
    pub const ALL: [Self; 3] = [Self::Workspace, Self::Project, Self::Saved];
}
