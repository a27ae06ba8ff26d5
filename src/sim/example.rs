//! Example projects of kinds.

/// An example project, which is a card on the home page.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// File name without extension.
    pub name: &'static str,
    /// Position on the home page, among the examples of all kinds.
    pub place: u32,
    /// Title on the card.
    pub title: &'static str,
    /// Description of the model on the card, one sentence.
    pub about: &'static str,
    /// Facts on the card: size, device, start time.
    pub facts: [&'static str; 3],
    /// Content of the project file.
    pub file: &'static str,
    /// Preview image, 432 × 243 pixels; empty for examples that need files.
    pub picture: &'static [u8],
    /// Whether the project needs files that are not part of the program.
    pub needs_files: bool,
}

/// Creates an [`Example`](crate::sim::Example) from a project of `projects/` and its picture. With `needs files`, the
/// example has no picture.
#[macro_export]
macro_rules! example {
    ($name:literal, $place:literal, $title:literal, $about:literal, $facts:expr) => {
        $crate::sim::Example {
            picture: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/examples/", $name, ".png")),
            needs_files: false,
            ..$crate::example!($name, $place, $title, $about, $facts, needs files)
        }
    };
    ($name:literal, $place:literal, $title:literal, $about:literal, $facts:expr, needs files) => {
        $crate::sim::Example {
            name: $name,
            place: $place,
            title: $title,
            about: $about,
            facts: $facts,
            file: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../projects/", $name, ".ron")),
            picture: &[],
            needs_files: true,
        }
    };
}
