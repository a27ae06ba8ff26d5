//! Design tokens: all colours and spacings of the window. Colours are read from `assets/theme.ron`; code contains no hex values.

use egui::Color32;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Height of a row in lists and the inspector, points.
pub const ROW: f32 = 24.0;
/// Radius of controls, points.
pub const RADIUS: u8 = 4;
/// Radius of popups and dialogs, points.
pub const RADIUS_POPUP: u8 = 6;
/// Text style of the large numbers of the run bar.
pub const METRIC: &str = "metric";
/// Text style of dialog and page titles.
pub const TITLE: &str = "title";

const FILE: &str = include_str!("../../../assets/theme.ron");

/// Colours of one theme. All text passes WCAG AA on every background.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// Background of plots and the 3D view.
    pub canvas: Color32,
    /// Background of panels other than plots and the 3D view.
    pub panel: Color32,
    /// Background of fields, popups and dialogs.
    pub raised: Color32,
    /// Background of the control under the pointer.
    pub hover: Color32,
    /// Hairlines between panels.
    pub line: Color32,
    /// Text of captions, units and axis labels.
    pub text_sub: Color32,
    pub text: Color32,
    /// Text of titles and selected items.
    pub text_strong: Color32,
    /// Colour of selection, focus and the Run button; never used for data.
    pub accent: Color32,
    /// Text on a background of the accent colour.
    pub on_accent: Color32,
    /// State of finished, saved or healthy items.
    pub ok: Color32,
    pub warn: Color32,
    pub error: Color32,
    /// Colour of the live dot and of the live edge of plots.
    pub live: Color32,
    /// Colours of categories in order. Categories after the seventh are distinguished by position or labels.
    pub categorical: [Color32; 7],
    /// Colour of unassigned elements, never of a category.
    pub other: Color32,
    /// Colour of excitatory cells and weights.
    pub excitatory: Color32,
    /// Colour of inhibitory cells and weights.
    pub inhibitory: Color32,
    /// Whether the tokens belong to the dark theme.
    pub dark: bool,
}

static DARK: LazyLock<RwLock<Arc<Tokens>>> = LazyLock::new(|| RwLock::new(Arc::new(Tokens::read(FILE, true))));
static LIGHT: LazyLock<RwLock<Arc<Tokens>>> = LazyLock::new(|| RwLock::new(Arc::new(Tokens::read(FILE, false))));

/// Overrides the colours of excitatory and inhibitory cells, given as `#RRGGBB`; an invalid text selects the colour of the theme.
pub fn set_cell_colors(excitatory: &str, inhibitory: &str) {
    let [excitatory, inhibitory] = [excitatory, inhibitory].map(|text| Color32::from_hex(text.trim()).ok());
    for (tokens, dark) in [(&DARK, true), (&LIGHT, false)] {
        let mut wanted = Tokens::read(FILE, dark);
        wanted.excitatory = excitatory.unwrap_or(wanted.excitatory);
        wanted.inhibitory = inhibitory.unwrap_or(wanted.inhibitory);
        *tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(wanted);
    }
}

impl Tokens {
    /// Returns the tokens of the dark theme.
    pub fn dark() -> Arc<Self> {
        DARK.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the tokens of the light theme.
    pub fn light() -> Arc<Self> {
        LIGHT.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the tokens of the current theme of a context.
    pub fn of(ctx: &egui::Context) -> Arc<Self> {
        if ctx.theme() == egui::Theme::Dark { Self::dark() } else { Self::light() }
    }

    /// Returns the colour of a category: one of seven by its code, or grey for a category without a label.
    pub fn category(&self, code: usize, label: &str) -> Color32 {
        if label.is_empty() { self.other } else { self.categorical[code % self.categorical.len()] }
    }

    /// Makes a colour partly transparent, for bands, hovers and selected rows.
    pub fn fade(color: Color32, opacity: f32) -> Color32 {
        color.gamma_multiply(opacity)
    }

    fn read(file: &str, dark: bool) -> Self {
        let section = section(file, if dark { "dark" } else { "light" });
        let get = |name: &str| color(section, name).unwrap_or(Color32::PLACEHOLDER);
        Self {
            canvas: get("canvas"),
            panel: get("panel"),
            raised: get("raised"),
            hover: get("hover"),
            line: get("line"),
            text_sub: get("text_sub"),
            text: get("text"),
            text_strong: get("text_strong"),
            accent: get("accent"),
            on_accent: get("on_accent"),
            ok: get("ok"),
            warn: get("warn"),
            error: get("error"),
            live: get("live"),
            categorical: std::array::from_fn(|i| get(&format!("categorical_{}", i + 1))),
            other: get("other"),
            excitatory: get("excitatory"),
            inhibitory: get("inhibitory"),
            dark,
        }
    }
}

/// Returns the text between `name: (` and the next `)`. The file is flat, so no RON parser is needed.
fn section<'a>(file: &'a str, name: &str) -> &'a str {
    let rest = file.split_once(&format!("{name}: (")).map_or("", |(_, rest)| rest);
    rest.split_once(')').map_or(rest, |(section, _)| section)
}

/// Reads the value of ` name: "#RRGGBB"`; `None` if it is missing or invalid.
fn color(section: &str, name: &str) -> Option<Color32> {
    let (_, rest) = section.split_once(&format!(" {name}: \""))?;
    Color32::from_hex(rest.split_once('"')?.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_in_the_file() {
        for tokens in [Tokens::dark(), Tokens::light()] {
            let debug = format!("{tokens:?}");
            assert!(!debug.contains(&format!("{:?}", Color32::PLACEHOLDER)), "{debug}");
        }
        for (dark, light) in Tokens::dark().categorical.iter().zip(Tokens::light().categorical) {
            let [a, b] = [*dark, light].map(|c| egui::ecolor::Hsva::from(c).h);
            let apart = (a - b).abs().min(1.0 - (a - b).abs());
            assert!(apart < 0.06, "{dark:?} and {light:?} differ in hue by {:.0} degrees", apart * 360.0);
        }
        assert_eq!(Tokens::dark().panel, Color32::from_rgb(0x12, 0x15, 0x1A));
        assert_eq!(Tokens::light().categorical[6], Color32::from_rgb(0x64, 0x26, 0x41));
    }
}
