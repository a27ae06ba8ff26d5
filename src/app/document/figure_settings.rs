//! Size, resolution and style of exported figures. The last choice is kept in the settings.

use crate::{choices, params};
use std::ops::RangeInclusive;

/// Widths of figures in journals, mm: one column, one and a half, two.
pub const JOURNAL_WIDTHS_MM: [f64; 3] = [85.0, 114.0, 174.0];
/// Common resolutions, dots per inch.
pub const RESOLUTIONS_DPI: [f64; 3] = [150.0, 300.0, 600.0];
/// Ranges of the numbers.
pub const WIDTHS_MM: RangeInclusive<f64> = 20.0..=400.0;
pub const HEIGHTS_MM: RangeInclusive<f64> = 15.0..=400.0;
pub const TEXT_SIZES_PT: RangeInclusive<f64> = 4.0..=16.0;
pub const RESOLUTIONS: RangeInclusive<f64> = 20.0..=1200.0;

choices! {
    /// Rule for the height of a figure.
    pub enum FigureHeight {
        /// Height over width as of the panel on the screen.
        #[title("As the panel")]
        Panel,
        /// As high as wide.
        #[title("1:1")]
        Square,
        /// Width to height 4:3.
        #[title("4:3")]
        FourToThree,
        /// Width to height 3:2.
        #[title("3:2")]
        ThreeToTwo,
        /// Width to height 16:9.
        #[title("16:9")]
        SixteenToNine,
        /// The given height.
        Free,
    }
}

impl FigureHeight {
    /// Returns the ratio of width to height; `None` if the panel or the user determines the height.
    const fn ratio(self) -> Option<f64> {
        match self {
            Self::Panel | Self::Free => None,
            Self::Square => Some(1.0),
            Self::FourToThree => Some(4.0 / 3.0),
            Self::ThreeToTwo => Some(3.0 / 2.0),
            Self::SixteenToNine => Some(16.0 / 9.0),
        }
    }
}

choices! {
    /// Font of a figure's text.
    pub enum FigureFont {
        /// The proportional font of the window.
        Inter,
        /// The monospaced font of the window.
        #[title("JetBrains Mono")]
        JetBrainsMono,
        /// A sans-serif font of the system that displays the SVG.
        #[title("Arial or Helvetica (SVG)")]
        Arial,
        /// A serif font of the system that displays the SVG.
        #[title("Times (SVG)")]
        Times,
    }
}

params! {
    /// Figures of panels.
    pub struct FigureSettings {
        /// Width of a figure on paper; journals have columns of 85, 114 and 174 mm.
        #[param(title = "Width (mm)", range = WIDTHS_MM, hard = WIDTHS_MM)]
        width_mm: f64 = JOURNAL_WIDTHS_MM[0],

        /// Rule for the height of a figure.
        #[param()]
        height: FigureHeight = FigureHeight::Panel,

        /// Height of a figure on paper, if it is free.
        #[param(title = "Height (mm)", range = HEIGHTS_MM, hard = HEIGHTS_MM)]
        #[show_if(|f| f.height == FigureHeight::Free)]
        height_mm: f64 = 60.0,

        /// Size of axis labels and captions on paper, printer's points.
        #[param(title = "Text size (pt)", range = TEXT_SIZES_PT, hard = TEXT_SIZES_PT)]
        text_pt: f64 = 7.0,

        /// Dots per inch of a PNG. An SVG is independent of the resolution.
        #[param(title = "Resolution (dpi)", range = RESOLUTIONS, hard = RESOLUTIONS)]
        dpi: f64 = 300.0,

        /// Font of a figure's text.
        #[param()]
        font: FigureFont = FigureFont::Inter,

        /// Draws figures in the light theme, whatever the theme of the window.
        #[param(title = "Light theme")]
        is_light: bool = true,

        /// Writes the caption of the panel below the figure: the number of elements, the meaning of bands, bin widths.
        #[param(title = "Caption")]
        has_caption: bool = true,
    }
}

impl FigureSettings {
    /// Returns a copy whose numbers are within their ranges, which the file of the settings may exceed.
    pub fn clamped(&self) -> Self {
        let within = |value: f64, range: RangeInclusive<f64>, default: f64| {
            if value.is_finite() { value.clamp(*range.start(), *range.end()) } else { default }
        };
        let usual = Self::default();
        Self {
            width_mm: within(self.width_mm, WIDTHS_MM, usual.width_mm),
            height_mm: within(self.height_mm, HEIGHTS_MM, usual.height_mm),
            text_pt: within(self.text_pt, TEXT_SIZES_PT, usual.text_pt),
            dpi: within(self.dpi, RESOLUTIONS, usual.dpi),
            ..self.clone()
        }
    }

    /// Returns the height on paper, mm, of a figure of a panel whose height is `panel_aspect` times its width.
    pub fn height_on_paper(&self, panel_aspect: f64) -> f64 {
        let height = match self.height.ratio() {
            Some(ratio) => self.width_mm / ratio,
            None if self.height == FigureHeight::Free => self.height_mm,
            None => self.width_mm * panel_aspect,
        };
        height.clamp(*HEIGHTS_MM.start(), *HEIGHTS_MM.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_height_follows_the_width_unless_it_is_free() {
        let of = |height| FigureSettings { width_mm: 174.0, height, ..FigureSettings::default() }.height_on_paper(0.5);
        assert_eq!(of(FigureHeight::Panel), 87.0);
        assert_eq!((of(FigureHeight::Square), of(FigureHeight::FourToThree)), (174.0, 130.5));
        assert_eq!((of(FigureHeight::ThreeToTwo), of(FigureHeight::Free)), (116.0, 60.0));
        let tall = FigureSettings { width_mm: 400.0, ..FigureSettings::default() }.height_on_paper(9.0);
        assert_eq!(tall, 400.0, "a page is not longer");
    }

    #[test]
    fn numbers_of_a_damaged_file_are_replaced() {
        let read = FigureSettings { width_mm: -3.0, dpi: f64::NAN, text_pt: 99.0, ..FigureSettings::default() };
        let used = read.clamped();
        assert_eq!((used.width_mm, used.dpi, used.text_pt, used.height_mm), (20.0, 300.0, 16.0, 60.0));
    }
}
