//! Fonts of the window: Inter for text, JetBrains Mono for changing numbers, Phosphor for icons. The folder of the fonts
//! contains their licences.

use super::icons;
use egui::{FontData, FontDefinitions, FontFamily};
use std::sync::Arc;

/// Font family of group headings and titles.
pub const SEMIBOLD: &str = "semibold";
/// Font family of metrics.
pub const MONO_MEDIUM: &str = "mono-medium";

/// Font family of changing numbers.
pub const MONO: &str = "mono";

/// Installs the fonts. egui's fonts remain as fallback for symbols.
pub fn install(ctx: &egui::Context) {
    install_with(ctx, "inter");
}

/// Installs the fonts with another font for body text.
pub fn install_with(ctx: &egui::Context, text: &str) {
    let mut fonts = FontDefinitions::default();
    let files = [
        ("inter", FontData::from_static(include_bytes!("../../../assets/fonts/Inter-Medium.otf"))),
        ("inter-semibold", FontData::from_static(include_bytes!("../../../assets/fonts/Inter-SemiBold.otf"))),
        (MONO, FontData::from_static(include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf"))),
        ("mono-medium", FontData::from_static(include_bytes!("../../../assets/fonts/JetBrainsMono-Medium.ttf"))),
        (icons::FAMILY, FontData::from_static(include_bytes!("../../../assets/fonts/Phosphor.ttf"))),
    ];
    for (name, data) in files {
        fonts.font_data.insert(name.to_owned(), Arc::new(data));
    }
    let fallback: Vec<String> = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let mut family = |family: FontFamily, first: &[&str]| {
        let names = first.iter().map(|n| (*n).to_owned()).chain(fallback.iter().cloned()).collect();
        fonts.families.insert(family, names);
    };
    family(FontFamily::Proportional, &[text, "inter"]);
    family(FontFamily::Monospace, &[MONO, "inter"]);
    family(FontFamily::Name(SEMIBOLD.into()), &["inter-semibold"]);
    family(FontFamily::Name(MONO_MEDIUM.into()), &["mono-medium", "inter-semibold"]);
    family(FontFamily::Name(icons::FAMILY.into()), &[icons::FAMILY]);
    ctx.set_fonts(fonts);
}
