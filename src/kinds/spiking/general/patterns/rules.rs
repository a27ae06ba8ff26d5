//! Parameters of presented patterns.

use crate::{one_of, params, params::PathText};

params! {
    /// Handwriting-like digits 0 to 9, drawn by the program: strokes with random position, size and slant. Each presentation has a
    /// drawing of its own.
    pub struct DrawnDigits {
        /// Width and height of a pattern, pixels. The input population has this number of neurons, squared.
        #[param(title = "Side", range = 8.0..=32.0, hard = 8.0..=256.0, apply = Rebuild)]
        side: i64 = 12,

        /// Largest shift in pixels, and relative variation of size and slant in units of 12 %.
        #[param(title = "Variation", range = 0.0..=2.0, hard = 0.0..=10.0, apply = Rebuild)]
        variation: f64 = 0.6,

        /// Probability with which a pixel is inverted.
        #[param(title = "Noise", range = 0.0..=0.2, hard = 0.0..=1.0, apply = Rebuild)]
        noise: f64 = 0.02,
    }
}

params! {
    /// Images from a table. The last rows, as many as held-out presentations, are held out.
    pub struct ImageFile {
        /// Table with a header (.csv, .csv.gz, .tsv or .parquet), one image per row: the column `label` is the class, all others are
        /// pixels, values of at least 0. The largest value of the file has the full rate.
        #[param(title = "Image file", apply = Rebuild)]
        path: PathText = PathText::default(),
    }
}

one_of! {
    /// Source of patterns.
    pub enum PatternImages {
        /// Digits are drawn by the program.
        #[title("Drawn digits")]
        Digits(DrawnDigits),
        /// Images are read from a table.
        #[title("File")]
        File(ImageFile),
    }
}

params! {
    /// Patterns, presented one after another: first for training, then for labelling the readout neurons, then held-out ones for
    /// accuracy.
    pub struct PatternInput {
        /// Source of the patterns.
        #[param(title = "Patterns", apply = Rebuild)]
        images: PatternImages = PatternImages::Digits(DrawnDigits::default()),

        /// Voltage pulses per second to the neuron of a pixel with the largest value.
        #[param(title = "Largest rate", unit = Hz, range = 0.0..=300.0, hard = 0.0..=10_000.0, source = "Diehl & Cook 2015")]
        rate: f64 = 100.0,

        /// Voltage pulse to the membrane per event. Refractory neurons ignore it.
        #[param(title = "Pulse amplitude", unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        weight_mv: f64 = 20.0,

        /// Duration of the input of a presentation.
        #[param(title = "Presentation", unit = Ms, range = 10.0..=1000.0, hard = 0.01..=1e6, scale = Log, source = "Diehl & Cook 2015", apply = Rebuild)]
        present: f64 = 150.0,

        /// Duration without input after each presentation.
        #[param(title = "Pause", unit = Ms, range = 0.0..=500.0, hard = 0.0..=1e6, source = "Diehl & Cook 2015", apply = Rebuild)]
        pause: f64 = 50.0,

        /// Number of presentations for training.
        #[param(title = "Training presentations", range = 0.0..=10_000.0, hard = 0.0..=1e9, apply = Rebuild)]
        training: i64 = 600,

        /// Number of presentations for labelling, after training.
        #[param(title = "Labelling presentations", range = 0.0..=10_000.0, hard = 0.0..=1e9, apply = Rebuild)]
        labelling: i64 = 200,

        /// Number of held-out presentations, after labelling.
        #[param(title = "Held-out presentations", range = 0.0..=10_000.0, hard = 0.0..=1e9, apply = Rebuild)]
        held_out: i64 = 300,

        /// Whether plastic weights and adaptive thresholds keep their values after training.
        #[param(title = "Hold after training", source = "Diehl & Cook 2015", apply = Rebuild)]
        hold: bool = true,

        /// Population that tells the classes; empty for none.
        #[param(title = "Readout population", role = Role::OtherNode, apply = Rebuild)]
        readout: String = String::new(),
    }
}
