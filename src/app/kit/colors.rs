//! Categorical palette, and colours of densities.

use super::{colormap::from_colorous, theme::Tokens};
use crate::sim::Column;
use egui::Color32;
use std::sync::OnceLock;

/// Returns the colour of a lineage, determined by its founder's id.
pub fn of_number(number: u64, tokens: &Tokens) -> Color32 {
    tokens.categorical[(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % tokens.categorical.len()]
}

/// Returns the colour of a density from 0 to 1. The lowest quarter of the map is not used, so that one event among thousands
/// stays visible.
pub fn density(t: f32, dark: bool) -> Color32 {
    let t = f64::from(0.25 + 0.75 * t.clamp(0.0, 1.0));
    let gradient = if dark { colorous::MAGMA } else { colorous::BLUES };
    from_colorous(gradient.eval_continuous(if dark { 0.12 + 0.88 * t } else { 0.15 + 0.85 * t }))
}

/// Returns the colours of 256 densities from 0 to 1.
pub fn densities(dark: bool) -> &'static [Color32; 256] {
    static RAMPS: [OnceLock<[Color32; 256]>; 2] = [OnceLock::new(), OnceLock::new()];
    RAMPS[usize::from(dark)].get_or_init(|| std::array::from_fn(|i| density(i as f32 / 255.0, dark)))
}

/// Returns one colour per label of a column. Excitatory and inhibitory labels have the colours of their sign, labels that
/// mean unknown are grey, and the others take the colours of [`categorical`] in order.
pub fn of_column(column: &Column, tokens: &Tokens) -> Vec<Color32> {
    let mut next = 0;
    let color = |label: &String| {
        if is_unlabelled(label) {
            return tokens.other;
        }
        if let Some(sign) = sign(&column.name, label, tokens) {
            return sign;
        }
        next += 1;
        categorical(next - 1, tokens)
    };
    column.labels.iter().map(color).collect()
}

/// Returns the n-th palette colour, counted from 0. The seven colours are followed by seven tints towards the text
/// colour and seven towards the background; later numbers are grey.
pub fn categorical(n: usize, tokens: &Tokens) -> Color32 {
    let base = tokens.categorical[n % 7];
    match n / 7 {
        0 => base,
        1 => base.lerp_to_gamma(tokens.text_strong, 0.45),
        2 => base.lerp_to_gamma(tokens.canvas, 0.45),
        _ => tokens.other,
    }
}

/// Whether a label means unknown.
pub fn is_unlabelled(label: &str) -> bool {
    matches!(label.to_ascii_lowercase().as_str(), "" | "unknown" | "none" | "na" | "n/a" | "unassigned" | "other")
}

/// Returns the colour of an excitatory or inhibitory label; `None` for other labels. In columns other than `ei`, only the
/// words `excitatory` and `inhibitory` have such a colour.
fn sign(column: &str, label: &str, tokens: &Tokens) -> Option<Color32> {
    let label = label.to_ascii_lowercase();
    if column != "ei" && !matches!(label.as_str(), "excitatory" | "inhibitory") {
        return None;
    }
    if label.starts_with('e') || label == "+" {
        Some(tokens.excitatory)
    } else if label.starts_with('i') || label == "-" {
        Some(tokens.inhibitory)
    } else {
        None
    }
}

/// Converts a table entry to an opaque colour.
pub fn opaque([r, g, b, _]: [u8; 4]) -> Color32 {
    Color32::from_rgb(r, g, b)
}

/// Converts a colour to straight RGBA from 0 to 1, as the 3D view expects.
pub fn rgba(color: Color32) -> [f32; 4] {
    color.to_array().map(|c| f32::from(c) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_the_same_colour_in_every_column() {
        let column = |name: &str, labels: [&str; 2]| Column {
            name: name.into(),
            labels: labels.map(str::to_owned).to_vec(),
            ..Column::default()
        };
        for tokens in [Tokens::dark(), Tokens::light()] {
            let signs = vec![tokens.excitatory, tokens.inhibitory];
            assert_eq!(of_column(&column("ei", ["e", "i"]), &tokens), signs);
            assert_eq!(of_column(&column("super_class", ["excitatory", "inhibitory"]), &tokens), signs);
            assert_eq!(of_column(&column("class", ["e", "i"]), &tokens)[0], categorical(0, &tokens), "a name only");
        }
    }
}
