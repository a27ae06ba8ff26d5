//! Fonts of the window: Inter for text, JetBrains Mono for changing numbers, Phosphor for icons. The folder of the fonts
//! contains their licences.

use super::icons;
use crate::num::bundle::Bundle;
use egui::{FontData, FontDefinitions, FontFamily};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// Font family of group headings and titles.
pub const SEMIBOLD: &str = "semibold";
/// Font family of metrics.
pub const MONO_MEDIUM: &str = "mono-medium";

/// Font family of changing numbers.
pub const MONO: &str = "mono";

include!(concat!(env!("OUT_DIR"), "/fonts.rs"));

/// Contents of the font files that the build script compressed, by name.
static FONTS: LazyLock<BTreeMap<&str, Arc<FontData>>> = LazyLock::new(|| {
    let all = BUNDLE.bytes();
    let font = |(name, start, len)| (name, Arc::new(FontData::from_owned(all[start..start + len].to_vec())));
    FILES.iter().copied().map(font).collect()
});

/// Installs the fonts.
pub fn install(ctx: &egui::Context) {
    install_with(ctx, "inter");
}

/// Installs the fonts with another font for body text.
pub fn install_with(ctx: &egui::Context, text: &str) {
    let mut fonts = FontDefinitions::empty();
    let files = [
        ("inter", "Inter-Medium.otf"),
        ("inter-semibold", "Inter-SemiBold.otf"),
        (MONO, "JetBrainsMono-Regular.ttf"),
        ("mono-medium", "JetBrainsMono-Medium.ttf"),
        (icons::FAMILY, "Phosphor.ttf"),
    ];
    for (name, file) in files {
        fonts.font_data.insert(name.to_owned(), FONTS[file].clone());
    }
    let mut family = |family: FontFamily, names: &[&str]| {
        fonts.families.insert(family, names.iter().map(|name| (*name).to_owned()).collect());
    };
    let names = [text, "inter"];
    family(FontFamily::Proportional, if text == "inter" { &names[1..] } else { &names });
    family(FontFamily::Monospace, &[MONO, "inter"]);
    family(FontFamily::Name(SEMIBOLD.into()), &["inter-semibold"]);
    family(FontFamily::Name(MONO_MEDIUM.into()), &["mono-medium", "inter-semibold"]);
    family(FontFamily::Name(icons::FAMILY.into()), &[icons::FAMILY]);
    ctx.set_fonts(fonts);
}
