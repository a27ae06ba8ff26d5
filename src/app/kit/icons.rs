//! The glyphs of the icon font (Phosphor Regular) that the window uses, one per concept.

/// Family of the icon font. Not a fallback of the text fonts, which have glyphs of their own at these codes.
pub const FAMILY: &str = "icons";

/// A glyph as text of the usual icon size.
pub fn rich(glyph: &str) -> egui::RichText {
    egui::RichText::new(glyph).family(egui::FontFamily::Name(FAMILY.into())).size(14.0)
}

macro_rules! icons {
    ($($(#[doc = $docs:literal])* $NAME:ident = $code:literal),* $(,)?) => {
        $($(#[doc = $docs])* pub const $NAME: &str = $code;)*
    };
}

icons! {
    /// Run.
    PLAY = "\u{e3d0}",
    /// Pause.
    PAUSE = "\u{e39e}",
    /// Rewind to step 0.
    REWIND = "\u{e5a4}",
    /// Step.
    STEP = "\u{e5a6}",
    /// Record.
    RECORD = "\u{e3ee}",
    /// Stop recording.
    STOP = "\u{e46c}",
    /// Stimulate.
    LIGHTNING = "\u{e2de}",
    /// Silence, cut.
    SCISSORS = "\u{eae0}",
    /// Probe.
    CROSSHAIR = "\u{e1d6}",
    /// A model.
    BRAIN = "\u{e74e}",
    /// A set of elements.
    SELECTION = "\u{e746}",
    /// A list of interventions.
    SLIDERS = "\u{e432}",
    /// Spikes.
    RASTER = "\u{e5a2}",
    /// A probe.
    WAVE = "\u{ea9a}",
    /// A run.
    FLASK = "\u{e79e}",
    /// Data on disk.
    DATABASE = "\u{e1de}",
    /// Pin a panel.
    PIN = "\u{e3e2}",
    /// Maximise a panel.
    MAXIMISE = "\u{e0a2}",
    /// Restore a maximised panel.
    RESTORE = "\u{e09a}",
    /// Help.
    HELP = "\u{e3e8}",
    /// Close.
    CLOSE = "\u{e4f6}",
    /// A table.
    TABLE = "\u{e476}",
    /// Move up.
    ARROW_UP = "\u{e08e}",
    /// Move down.
    ARROW_DOWN = "\u{e03e}",
    /// A distribution of values.
    DISTRIBUTION = "\u{e150}",
    /// Add.
    PLUS = "\u{e3d4}",
    /// Remove.
    TRASH = "\u{e4a6}",
    /// Closed group.
    CARET_RIGHT = "\u{e13a}",
    /// Open group, menu.
    CARET_DOWN = "\u{e136}",
    /// Search.
    SEARCH = "\u{e30c}",
    /// Open a file.
    FOLDER = "\u{e256}",
    /// Save.
    SAVE = "\u{e248}",
    /// New.
    FILE_PLUS = "\u{e236}",
    /// Undo.
    UNDO = "\u{e038}",
    /// Redo.
    REDO = "\u{e036}",
    /// A panel at the side.
    SIDEBAR = "\u{ec24}",
    /// Information.
    INFO = "\u{e2ce}",
    /// A warning.
    WARNING = "\u{e4e0}",
    /// An error.
    ERROR = "\u{e4e2}",
    /// Done.
    CHECK = "\u{e184}",
    /// The processor.
    CPU = "\u{e610}",
    /// The graphics processor.
    GPU = "\u{e612}",
    /// Memory.
    MEMORY = "\u{e9c4}",
    /// Filter.
    FUNNEL = "\u{e266}",
    /// Export.
    EXPORT = "\u{eaf0}",
    /// The log.
    TERMINAL = "\u{eae8}",
    /// The project tree.
    TREE = "\u{e67c}",
    /// A rebuild is needed.
    HAMMER = "\u{e80e}",
    /// Commands.
    COMMAND = "\u{e1c4}",
    /// Views.
    GRID = "\u{e296}",
    /// Statistics, speed.
    GAUGE = "\u{e628}",
    /// Settings.
    GEAR = "\u{e270}",
    /// Messages.
    BELL = "\u{e0ce}",
    /// Copy.
    COPY = "\u{e1ca}",
    /// Download, import.
    IMPORT = "\u{e20c}",
    /// Rename.
    PENCIL = "\u{e3b4}",
    /// Home.
    HOUSE = "\u{e2c2}",
    /// Linked time axis.
    LINK = "\u{e2e2}",
    /// Own time axis.
    UNLINK = "\u{e2e4}",
    /// Display paused.
    EYE_OFF = "\u{e224}",
    /// Loop.
    LOOP = "\u{e3f6}",
    /// A run without end.
    INFINITY = "\u{e634}",
    /// The theme.
    SUN = "\u{e472}",
    /// A menu of a panel.
    LIST = "\u{e2f0}",
    /// History.
    CLOCK = "\u{e1a0}",
}
