//! The spikes as an image: time to the right, the first neuron at the bottom, darker where there are more.

use super::{Trial, at};
use image::{GrayImage, Luma};
use std::{io, path::Path};

/// Size, pixels.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 900;

pub(super) fn write(trials: &[Trial], out: &Path) -> io::Result<()> {
    let image = draw(trials);
    image.save_with_format(out, image::ImageFormat::Png).map_err(|e| at(out)(io::Error::other(e)))
}

/// Trials are stacked, the first at the bottom.
fn draw(trials: &[Trial]) -> GrayImage {
    let mut counts = vec![0_u32; (WIDTH * HEIGHT) as usize];
    let n_lanes: u64 = trials.iter().map(|t| u64::from(t.n_lanes())).sum::<u64>().max(1);
    let mut below = 0;
    for trial in trials {
        let m = trial.manifest();
        let steps = (m.last_step - m.first_step.min(m.last_step)).max(1);
        for spike in &trial.spikes {
            let step = u64::from(spike.step).saturating_sub(m.first_step);
            let x = (step * u64::from(WIDTH) / steps).min(u64::from(WIDTH) - 1);
            let row = (below + u64::from(spike.lane)) * u64::from(HEIGHT) / n_lanes;
            let y = u64::from(HEIGHT) - 1 - row.min(u64::from(HEIGHT) - 1);
            counts[(y * u64::from(WIDTH) + x) as usize] += 1;
        }
        below += u64::from(trial.n_lanes());
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(0).max(1));
    // A single spike is clearly visible; the rest of the scale is logarithmic.
    let shade = |n: u32| match n {
        0 => 255,
        n => (140.0 * (1.0 - f64::from(n).ln_1p() / most.ln_1p())) as u8,
    };
    GrayImage::from_fn(WIDTH, HEIGHT, |x, y| Luma([shade(counts[(y * WIDTH + x) as usize])]))
}
