//! Pages of the window, and layouts to which a page can be reset.

use crate::app::kit::icons;

/// The purpose of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Page {
    /// Page on which a model is run and watched.
    Simulate,
    /// Page for inspecting the model's structure.
    Explore,
    /// Page for profiling time and memory.
    Profile,
    Runs,
    /// Page on which conditions are edited, run and compared.
    Experiment,
}

impl Page {
    /// All pages, in tab order.
    pub const ALL: [Self; 5] = [Self::Simulate, Self::Explore, Self::Profile, Self::Runs, Self::Experiment];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Simulate => "Simulate",
            Self::Explore => "Explore",
            Self::Profile => "Profile",
            Self::Runs => "Runs",
            Self::Experiment => "Experiment",
        }
    }

    pub const fn icon(self) -> &'static str {
        match self {
            Self::Simulate => icons::PLAY,
            Self::Explore => icons::BRAIN,
            Self::Profile => icons::GAUGE,
            Self::Runs => icons::FLASK,
            Self::Experiment => icons::TABLE,
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Self::Simulate => "Run the model and watch it",
            Self::Explore => "Inspect the model's structure",
            Self::Profile => "Profile time and memory",
            Self::Runs => "Recorded runs",
            Self::Experiment => "Trials under conditions, and their statistics",
        }
    }

    /// Whether the page works without a simulation.
    pub const fn needs_no_simulation(self) -> bool {
        matches!(self, Self::Runs | Self::Experiment)
    }
}

/// Layout to which a page is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Default layout of the page.
    Workspace,
    /// Layout with which the project was opened.
    Project,
    /// Layout that was saved last.
    Saved,
}

impl Target {
    pub const ALL: [Self; 3] = [Self::Workspace, Self::Project, Self::Saved];
}
