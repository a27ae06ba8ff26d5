//! Draws an image of events: time to the right, the first element at the bottom, darker for more events.

use super::{Outputs, Trial, at};
use image::{GrayImage, Luma};
use std::{
    io::{self, BufWriter, Write as _},
    path::Path,
};

/// Width and height, pixels.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 900;

pub(super) fn write(trials: &[Trial], out: &Path, outputs: &mut Outputs) -> io::Result<()> {
    let image = draw(trials)?;
    let mut file = BufWriter::new(outputs.create(out)?);
    image.write_to(&mut file, image::ImageFormat::Png).map_err(|e| at(out)(io::Error::other(e)))?;
    file.flush().map_err(at(out))
}

/// Draws the trials above each other, the first at the bottom. Darkness is logarithmic in the number of events per pixel.
/// Fails if a stream cannot be read.
fn draw(trials: &[Trial]) -> io::Result<GrayImage> {
    let mut counts = vec![0_u32; (WIDTH * HEIGHT) as usize];
    let lanes = trials.iter().map(|t| t.n_lanes(t.drawn_stream())).collect::<io::Result<Vec<u32>>>()?;
    let n_lanes = lanes.iter().map(|n| u64::from(*n)).sum::<u64>().max(1);
    let mut below = 0;
    for (trial, n) in trials.iter().zip(&lanes) {
        let m = trial.manifest();
        let steps = (m.last_step - m.first_step.min(m.last_step)).max(1);
        for spike in trial.events(trial.drawn_stream())? {
            let spike = spike?;
            let step = u64::from(spike.step).saturating_sub(m.first_step);
            let x = (step * u64::from(WIDTH) / steps).min(u64::from(WIDTH) - 1);
            let row = (below + u64::from(spike.lane)) * u64::from(HEIGHT) / n_lanes;
            let y = u64::from(HEIGHT) - 1 - row.min(u64::from(HEIGHT) - 1);
            counts[(y * u64::from(WIDTH) + x) as usize] += 1;
        }
        below += u64::from(*n);
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(0).max(1));
    // A pixel with a single event is clearly visible, and the scale is logarithmic for more events.
    let shade = |n: u32| match n {
        0 => 255,
        n => (140.0 * (1.0 - f64::from(n).ln_1p() / most.ln_1p())) as u8,
    };
    Ok(GrayImage::from_fn(WIDTH, HEIGHT, |x, y| Luma([shade(counts[(y * WIDTH + x) as usize])])))
}
