//! Pattern of each presentation.

use super::{DrawnDigits, PatternImages, PatternInput, digits, images::ImageSet};
use crate::{
    kinds::spiking::general::delay::delay_steps,
    num::rng::{Draw, Purpose},
};
use std::{ops::Range, sync::Arc};

/// Number of levels of the value of a pixel above 0.
pub const LEVELS: u8 = 8;
/// Largest side of a drawn pattern, pixels.
const MAX_SIDE: i64 = 256;

/// Presented patterns of a network that can be built; files are read later.
#[derive(Clone, Debug)]
pub struct PatternPlan {
    /// Index among the external inputs.
    pub input: usize,
    /// Neurons that receive the patterns, one per pixel.
    pub neurons: Range<u32>,
    /// Neurons that tell the classes; `None` without readout.
    pub readout: Option<Range<u32>>,
    /// Number of steps with input of a presentation.
    pub present: u64,
    /// Number of steps of a presentation with its pause.
    pub each: u64,
    /// Number of presentations of each [`Phase`].
    pub numbers: [u64; 3],
    /// Whether weights and thresholds are held after training.
    pub holds: bool,
    /// Source of the patterns.
    pub images: PatternImages,
}

/// Phase of a presentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The network may learn.
    Training,
    /// Neurons of the readout are assigned to classes.
    Labelling,
    /// Accuracy is measured.
    HeldOut,
}

impl PatternPlan {
    /// Checks the parameters of an input. Fails if a value is not possible, or a drawn pattern does not fit the population.
    pub fn new(
        input: usize,
        of: &PatternInput,
        neurons: Range<u32>,
        readout: Option<Range<u32>>,
        dt_ms: f64,
    ) -> Result<Self, String> {
        let steps = |ms: f64| delay_steps(ms, dt_ms);
        let (present, pause) = (steps(of.present), steps(of.pause));
        if !(present >= 1.0 && pause >= 0.0 && present + pause < 1e15) {
            return Err(format!(
                "source: a presentation of {} ms with a pause of {} ms is not possible; it has at least one step of {dt_ms} ms",
                of.present, of.pause
            ));
        }
        if !(of.rate.is_finite() && of.weight_mv.is_finite()) {
            return Err("source: rate and weight_mv are finite numbers".to_owned());
        }
        if let PatternImages::Digits(digits) = &of.images {
            if !(8..=MAX_SIDE).contains(&digits.side) || !digits.variation.is_finite() || !digits.noise.is_finite() {
                return Err(format!(
                    "source.images: a side of {} is not possible; it is 8 to {MAX_SIDE}, and all values are finite",
                    digits.side
                ));
            }
            check_pixels((digits.side * digits.side) as usize, &neurons)?;
        }
        let numbers = [of.training, of.labelling, of.held_out].map(|n| n.max(0) as u64);
        let (present, images, holds) = (present as u64, of.images.clone(), of.hold);
        Ok(Self { input, neurons, readout, present, each: present + pause as u64, numbers, holds, images })
    }
}

/// Checks that a pattern has one pixel per neuron.
pub fn check_pixels(pixels: usize, neurons: &Range<u32>) -> Result<(), String> {
    if pixels == neurons.len() {
        return Ok(());
    }
    Err(format!(
        "source.images: a pattern has {pixels} pixels, the population {} neurons. Set its size to {pixels}",
        neurons.len()
    ))
}

/// Patterns of a network.
#[derive(Debug)]
pub struct PatternSchedule {
    /// Checked parameters.
    pub plan: PatternPlan,
    /// Seed of the draws.
    seed: u64,
    /// Images of the file; `None` for drawn digits.
    images: Option<Arc<ImageSet>>,
}

impl PatternSchedule {
    /// Creates the patterns of a seed; `images` are those of the file, if the plan names one.
    pub const fn new(plan: PatternPlan, seed: u64, images: Option<Arc<ImageSet>>) -> Self {
        Self { plan, seed, images }
    }

    /// Returns the number of classes.
    pub fn n_classes(&self) -> u32 {
        self.images.as_ref().map_or(digits::CLASSES, |images| images.classes.len() as u32)
    }

    /// Returns phase and number within the phase of a presentation; `None` after the last one.
    pub fn phase(&self, presentation: u64) -> Option<(Phase, u64)> {
        let mut number = presentation;
        for (phase, n) in [Phase::Training, Phase::Labelling, Phase::HeldOut].into_iter().zip(self.plan.numbers) {
            if number < n {
                return Some((phase, number));
            }
            number -= n;
        }
        None
    }

    /// Returns a number below `n`, drawn for a presentation.
    fn choice(&self, presentation: u64, n: u64) -> u64 {
        let at = Draw { seed: self.seed, purpose: Purpose::Pattern, step: presentation, lane: 0 };
        (u64::from(at.words()[0]) * n) >> 32
    }

    /// Returns the index of the image of a presentation from a file. The last images are held out.
    fn image(&self, images: &ImageSet, presentation: u64, (phase, number): (Phase, u64)) -> usize {
        let n = images.labels.len() as u64;
        let held_out = self.plan.numbers[2].min(n);
        let index = match phase {
            Phase::HeldOut => n - held_out + number,
            _ => self.choice(presentation, n - held_out),
        };
        index.min(n - 1) as usize
    }

    /// Returns the class of a presentation; `None` after the last one.
    pub fn class(&self, presentation: u64) -> Option<u32> {
        let (phase, number) = self.phase(presentation)?;
        let class = || match phase {
            Phase::Training => self.choice(presentation, digits::CLASSES.into()),
            _ => number % u64::from(digits::CLASSES),
        };
        Some(match &self.images {
            Some(images) => images.labels[self.image(images, presentation, (phase, number))],
            None => class() as u32,
        })
    }

    /// Returns the levels of the pixels of a presentation; `None` after the last one.
    pub fn levels(&self, presentation: u64) -> Option<Vec<u8>> {
        let class = self.class(presentation)?;
        if let Some(images) = &self.images {
            let image = self.image(images, presentation, self.phase(presentation)?);
            return Some(images.levels[image * images.pixels..][..images.pixels].to_vec());
        }
        let PatternImages::Digits(of) = &self.plan.images else { return None };
        Some(self.drawn(of, class, presentation))
    }

    fn drawn(&self, of: &DrawnDigits, class: u32, presentation: u64) -> Vec<u8> {
        let level = |value: f64| (value * f64::from(LEVELS)).round() as u8;
        digits::draw(of, self.seed, class, presentation).into_iter().map(level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(images: Option<Arc<ImageSet>>) -> PatternSchedule {
        let of = PatternInput { training: 20, labelling: 10, held_out: 30, ..PatternInput::default() };
        let plan = PatternPlan::new(0, &of, 0..144, None, 0.5).expect("a plan");
        assert_eq!((plan.present, plan.each), (300, 400));
        PatternSchedule::new(plan, 3, images)
    }

    #[test]
    fn phases_follow_one_another() {
        let schedule = schedule(None);
        assert_eq!(schedule.phase(19), Some((Phase::Training, 19)));
        assert_eq!(schedule.phase(20), Some((Phase::Labelling, 0)));
        assert_eq!(schedule.phase(59), Some((Phase::HeldOut, 29)));
        assert_eq!((schedule.phase(60), schedule.class(60), schedule.levels(60)), (None, None, None));
        assert_eq!((30..40).map(|b| schedule.class(b)).collect::<Vec<_>>(), (0..10).map(Some).collect::<Vec<_>>());
        assert!(schedule.levels(30) != schedule.levels(40), "each presentation has its drawing");
    }

    #[test]
    fn images_of_training_are_not_held_out() {
        let n: u32 = 50;
        let set = ImageSet {
            labels: (0..n).collect(),
            classes: (0..n).map(|i| i.to_string()).collect(),
            pixels: 1,
            levels: vec![1; n as usize],
        };
        let schedule = schedule(Some(Arc::new(set)));
        assert!((0..30).all(|b| schedule.class(b).is_some_and(|class| class < 20)));
        assert_eq!((30..60).map(|b| schedule.class(b)).collect::<Vec<_>>(), (20..50).map(Some).collect::<Vec<_>>());
    }
}
