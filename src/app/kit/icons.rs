//! Glyphs of the icon font (Phosphor Regular) that the window uses, one per concept.

/// Font family of the icons. It is not a fallback of the text fonts, because these have other glyphs at its codes.
pub const FAMILY: &str = "icons";

/// Formats a glyph as text of the usual icon size.
pub fn rich(glyph: &str) -> egui::RichText {
    egui::RichText::new(glyph).family(egui::FontFamily::Name(FAMILY.into())).size(14.0)
}

macro_rules! icons {
    ($($(#[doc = $docs:literal])* $NAME:ident = $code:literal),* $(,)?) => {
        $($(#[doc = $docs])* pub const $NAME: &str = $code;)*
    };
}

icons! {
    /// Glyph for: run.
    PLAY = "\u{e3d0}",
    /// Glyph for: pause.
    PAUSE = "\u{e39e}",
    /// Glyph for: rewind to step 0.
    REWIND = "\u{e5a4}",
    /// Glyph for: step.
    STEP = "\u{e5a6}",
    /// Glyph for: record.
    RECORD = "\u{e3ee}",
    /// Glyph for: stop recording.
    STOP = "\u{e46c}",
    /// Glyph for: stimulate.
    LIGHTNING = "\u{e2de}",
    /// Glyph for: silence, cut.
    SCISSORS = "\u{eae0}",
    /// Glyph for: probe.
    CROSSHAIR = "\u{e1d6}",
    /// Glyph for: model.
    BRAIN = "\u{e74e}",
    /// Glyph for: set of elements.
    SELECTION = "\u{e746}",
    /// Glyph for: list of interventions.
    SLIDERS = "\u{e432}",
    /// Glyph for: spikes.
    RASTER = "\u{e5a2}",
    /// Glyph for: probe.
    WAVE = "\u{ea9a}",
    /// Glyph for: run.
    FLASK = "\u{e79e}",
    /// Glyph for: data on disk.
    DATABASE = "\u{e1de}",
    /// Glyph for: pin a panel.
    PIN = "\u{e3e2}",
    /// Glyph for: maximise a panel.
    MAXIMISE = "\u{e0a2}",
    /// Glyph for: restore a maximised panel.
    RESTORE = "\u{e09a}",
    /// Glyph for: help.
    HELP = "\u{e3e8}",
    /// Glyph for: close.
    CLOSE = "\u{e4f6}",
    /// Glyph for: table.
    TABLE = "\u{e476}",
    /// Glyph for: move up.
    ARROW_UP = "\u{e08e}",
    /// Glyph for: move down.
    ARROW_DOWN = "\u{e03e}",
    /// Glyph for: distribution of values.
    DISTRIBUTION = "\u{e150}",
    /// Glyph for: add.
    PLUS = "\u{e3d4}",
    /// Glyph for: remove.
    TRASH = "\u{e4a6}",
    /// Glyph for: closed group.
    CARET_RIGHT = "\u{e13a}",
    /// Glyph for: open group, menu.
    CARET_DOWN = "\u{e136}",
    /// Glyph for: search.
    SEARCH = "\u{e30c}",
    /// Glyph for: open a file.
    FOLDER = "\u{e256}",
    /// Glyph for: save.
    SAVE = "\u{e248}",
    /// Glyph for: new.
    FILE_PLUS = "\u{e236}",
    /// Glyph for: undo.
    UNDO = "\u{e038}",
    /// Glyph for: redo.
    REDO = "\u{e036}",
    /// Glyph for: side panel.
    SIDEBAR = "\u{ec24}",
    /// Glyph for: information.
    INFO = "\u{e2ce}",
    /// Glyph for: warning.
    WARNING = "\u{e4e0}",
    /// Glyph for: error.
    ERROR = "\u{e4e2}",
    /// Glyph for: done.
    CHECK = "\u{e184}",
    /// Glyph for: processor.
    CPU = "\u{e610}",
    /// Glyph for: graphics processor.
    GPU = "\u{e612}",
    /// Glyph for: memory.
    MEMORY = "\u{e9c4}",
    /// Glyph for: filter.
    FUNNEL = "\u{e266}",
    /// Glyph for: export.
    EXPORT = "\u{eaf0}",
    /// Glyph for: log.
    TERMINAL = "\u{eae8}",
    /// Glyph for: project tree.
    TREE = "\u{e67c}",
    /// Glyph for: necessary rebuild.
    HAMMER = "\u{e80e}",
    /// Glyph for: commands.
    COMMAND = "\u{e1c4}",
    /// Glyph for: views.
    GRID = "\u{e296}",
    /// Glyph for: statistics, speed.
    GAUGE = "\u{e628}",
    /// Glyph for: settings.
    GEAR = "\u{e270}",
    /// Glyph for: messages.
    BELL = "\u{e0ce}",
    /// Glyph for: copy.
    COPY = "\u{e1ca}",
    /// Glyph for: download, import.
    IMPORT = "\u{e20c}",
    /// Glyph for: rename.
    PENCIL = "\u{e3b4}",
    /// Glyph for: home.
    HOUSE = "\u{e2c2}",
    /// Glyph for: linked time axis.
    LINK = "\u{e2e2}",
    /// Glyph for: own time axis.
    UNLINK = "\u{e2e4}",
    /// Glyph for: display paused.
    EYE_OFF = "\u{e224}",
    /// Glyph for: loop.
    LOOP = "\u{e3f6}",
    /// Glyph for: run without end.
    INFINITY = "\u{e634}",
    /// Glyph for: theme.
    SUN = "\u{e472}",
    /// Glyph for: panel menu.
    LIST = "\u{e2f0}",
    /// Glyph for: history.
    CLOCK = "\u{e1a0}",
}
