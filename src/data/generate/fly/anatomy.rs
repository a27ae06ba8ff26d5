//! Positions of neurons in the rinds of the lobes of the brain, as in images of cell bodies. Positions are in micrometres, with
//! x to the right, y up, and z towards the viewer who faces the fly; the brain is about 740 × 330 × 300 µm.
//!
//! A group's neurons follow a Hilbert curve over the surface of its lobe, so neurons with near numbers are near each other, and
//! connections that are local in numbers are local in space. The code uses only additions, products, quotients and roots, so
//! the results are equal bit for bit on every platform.

/// Region of a population. Geometry is given for the side at positive x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Region {
    /// Photoreceptors: the outermost sheet of the optic lobe.
    Retina,
    /// Lamina: layer under the retina.
    Lamina,
    /// Medulla: dome over the medulla.
    MedullaCortex,
    /// Lobula: shell around the lobula.
    LobulaCortex,
    /// Lobula plate: shell behind the lobula plate.
    PlateCortex,
    /// Stalk between optic lobe and central brain.
    Stalk,
    /// Antennal nerve, at its entry in front.
    AntennalNerve,
    /// Shell around the antennal lobe.
    AntennalLobe,
    /// Nerve of Johnston's organ, at its entry.
    JohnstonNerve,
    /// Antennal mechanosensory centre and wedge.
    Wedge,
    /// Labial nerve, at its entry at the bottom in front.
    LabialNerve,
    /// Ocelli: top of the head between the eyes, at the midline.
    Ocelli,
    /// Neck, at its entry at the bottom behind.
    Neck,
    /// Cell bodies of the mushroom body, above and behind.
    Calyx,
    /// Shell around the lobes of the mushroom body.
    MushroomLobe,
    LateralHorn,
    /// Central complex, near the midline.
    CentralBody,
    /// Front of the gnathal ganglion.
    GnathalFront,
    /// Gnathal ganglion, below the oesophagus.
    Gnathal,
    /// Upper half of the central brain.
    Superior,
    /// Lower outer part of the central brain.
    Ventrolateral,
    /// Descending neurons: lower front and the gnathal shell.
    DescendingRind,
    /// Pars intercerebralis: between the halves, on top.
    Intercerebral,
    /// Motor neurons: lowest, near the midline.
    MotorRind,
}

/// Part of an ellipsoid's surface, with a density that decreases inwards.
struct Shell {
    centre: [f32; 3],
    axes: [f32; 3],
    /// Axis of the latitude: 0 x, 1 y, 2 z.
    pole: usize,
    /// Sine of the latitude, from and to; -1 to 1 is the whole surface.
    range: (f32, f32),
    /// Depth of the shell as a fraction of the radius.
    depth: f32,
}

const fn shell(centre: [f32; 3], axes: [f32; 3], pole: usize, range: (f32, f32), depth: f32) -> Shell {
    Shell { centre, axes, pole, range, depth }
}

impl Region {
    const fn shell(self) -> Shell {
        match self {
            Self::Retina => shell([232.0, 4.0, 0.0], [138.0, 150.0, 118.0], 0, (0.38, 1.0), 0.03),
            Self::Lamina => shell([232.0, 4.0, 0.0], [122.0, 138.0, 106.0], 0, (0.34, 1.0), 0.06),
            Self::MedullaCortex => shell([214.0, 4.0, 0.0], [108.0, 126.0, 96.0], 0, (-0.05, 1.0), 0.26),
            Self::LobulaCortex => shell([196.0, 2.0, 14.0], [44.0, 84.0, 52.0], 1, (-1.0, 1.0), 0.22),
            Self::PlateCortex => shell([188.0, 2.0, -46.0], [38.0, 80.0, 40.0], 2, (-1.0, 0.25), 0.32),
            Self::Stalk => shell([160.0, 10.0, 4.0], [38.0, 74.0, 74.0], 1, (-1.0, 1.0), 0.45),
            Self::AntennalNerve => shell([52.0, -34.0, 124.0], [22.0, 20.0, 38.0], 2, (-1.0, 1.0), 0.9),
            Self::AntennalLobe => shell([46.0, -22.0, 92.0], [40.0, 38.0, 32.0], 2, (-0.5, 1.0), 0.22),
            Self::JohnstonNerve => shell([98.0, -70.0, 66.0], [44.0, 20.0, 30.0], 0, (-1.0, 1.0), 0.9),
            Self::Wedge => shell([78.0, -62.0, 22.0], [46.0, 34.0, 50.0], 1, (-1.0, 1.0), 0.35),
            Self::LabialNerve => shell([34.0, -146.0, 62.0], [18.0, 16.0, 34.0], 1, (-1.0, 1.0), 0.9),
            Self::Ocelli => shell([0.0, 136.0, -46.0], [26.0, 10.0, 14.0], 1, (-1.0, 1.0), 0.9),
            Self::Neck => shell([24.0, -132.0, -92.0], [28.0, 30.0, 46.0], 1, (-1.0, 1.0), 0.9),
            Self::Calyx => shell([60.0, 84.0, -92.0], [46.0, 34.0, 34.0], 2, (-1.0, 0.55), 0.55),
            Self::MushroomLobe => shell([46.0, 48.0, 84.0], [34.0, 42.0, 24.0], 2, (-1.0, 1.0), 0.3),
            Self::LateralHorn => shell([136.0, 62.0, -6.0], [26.0, 30.0, 36.0], 0, (-0.2, 1.0), 0.35),
            Self::CentralBody => shell([12.0, 34.0, -22.0], [58.0, 30.0, 40.0], 1, (-1.0, 1.0), 0.5),
            Self::GnathalFront => shell([34.0, -108.0, 36.0], [42.0, 34.0, 38.0], 2, (0.0, 1.0), 0.5),
            Self::Gnathal => shell([36.0, -108.0, -4.0], [62.0, 46.0, 72.0], 1, (-1.0, 0.8), 0.26),
            Self::Superior => shell([60.0, 56.0, -6.0], [92.0, 72.0, 98.0], 1, (-0.35, 1.0), 0.2),
            Self::Ventrolateral => shell([98.0, -12.0, 10.0], [70.0, 66.0, 84.0], 0, (-0.55, 1.0), 0.22),
            Self::DescendingRind => shell([44.0, -76.0, 8.0], [62.0, 62.0, 84.0], 1, (-1.0, 0.2), 0.25),
            Self::Intercerebral => shell([8.0, 122.0, 6.0], [9.0, 11.0, 18.0], 1, (-1.0, 1.0), 0.8),
            Self::MotorRind => shell([20.0, -144.0, 20.0], [24.0, 14.0, 34.0], 1, (-1.0, 1.0), 0.6),
        }
    }

    /// Whether the population is divided into a left and a right group.
    pub const fn has_sides(self) -> bool {
        !matches!(self, Self::Ocelli)
    }

    /// Returns low-frequency bumps of the surface, different for every region, as a fraction of the radius.
    fn lump(self, direction: [f32; 3]) -> f32 {
        let [x, y, z] = direction;
        let own = self as u32 as f32 * 0.37;
        let waves = [0.45 * x + 0.8 * y + own, 0.9 * y - 0.6 * z + 2.0 * own, 0.85 * z + 0.7 * x + 3.0 * own];
        0.045 * waves.iter().map(|w| sine_of_turn(*w)).sum::<f32>()
    }

    /// Returns a point, µm, from the position `u` on the group's map (0 to 1) and four random numbers in (0, 1).
    pub fn point(self, u: f32, uniforms: [f32; 4], right: bool) -> [f32; 3] {
        let shell = self.shell();
        let [a, b] = hilbert(u);
        let [c0, c1, c2, c3] = uniforms;
        // The position is blurred by about a hundredth of the map, so that no grid is visible; the rim of a dome is irregular.
        let a = a + (c0 - 0.5) * 0.03;
        let b = (b + (c1 - 0.5) * 0.03).min(1.0);
        let frayed = 0.4 * (1.0 - b) * c0 * c1 * c2;
        let height = (shell.range.0 + (shell.range.1 - shell.range.0) * b - frayed).clamp(-1.0, 1.0);
        let ring = (1.0 - height * height).max(0.0).sqrt();
        let (p, q) = ((shell.pole + 1) % 3, (shell.pole + 2) % 3);
        let mut direction = [0.0; 3];
        direction[shell.pole] = height;
        direction[p] = ring * sine_of_turn(a + 0.25);
        direction[q] = ring * sine_of_turn(a);
        let radius = shell.radius(c2, c3) * (1.0 + self.lump(direction)) - 0.5 * frayed;
        let blur = [c3 - c1, c0 - c3, c1 - c0].map(|x| x * BLUR_UM);
        let mut at = [0, 1, 2].map(|k| shell.centre[k] + shell.axes[k] * radius * direction[k] + blur[k]);
        sweep(&mut at);
        around_the_oesophagus(&mut at);
        if right {
            at[0] = -at[0];
        }
        at
    }
}

impl Shell {
    /// Returns the distance from the centre, 1 at the surface. A shell is dense outside and thins out inwards; a bundle (depth
    /// near 1) is dense inside.
    fn radius(&self, c2: f32, c3: f32) -> f32 {
        if self.depth >= 0.8 {
            return c2.sqrt() * (0.35 + 0.85 * c3 * c3);
        }
        let inwards = c2 * c2 * (0.4 + 0.6 * c3);
        1.0 - self.depth * (inwards - 0.15 * c3 * c3)
    }
}

/// Largest deviation of cell bodies from the ideal surface along an axis, µm.
const BLUR_UM: f32 = 5.0;

/// Tilts the optic lobes: tops towards the midline, outer rims to the back.
fn sweep(at: &mut [f32; 3]) {
    let out = (at[0] - 120.0).max(0.0);
    at[0] -= 0.0006 * out * at[1];
    at[2] -= 0.000_7 * out * out;
}

/// Moves a point out of the oesophagus, which runs from front to back through the middle and contains no neurons.
fn around_the_oesophagus(at: &mut [f32; 3]) {
    const CENTRE_Y: f32 = -46.0;
    const RADII: [f32; 2] = [19.0, 23.0];
    let (x, y) = (at[0] / RADII[0], (at[1] - CENTRE_Y) / RADII[1]);
    let r = (x * x + y * y).sqrt();
    if r < 1.0 {
        let out = (1.0 + 0.25 * r) / r.max(0.05);
        at[0] *= out;
        at[1] = CENTRE_Y + (at[1] - CENTRE_Y) * out;
    }
}

/// Returns the position on the unit square at fraction `u` of a Hilbert curve with 2^16 cells.
fn hilbert(u: f32) -> [f32; 2] {
    const ORDER: u32 = 8;
    let mut t = (u.clamp(0.0, 0.999_999) * (1_u32 << (2 * ORDER)) as f32) as u32;
    let (mut x, mut y) = (0_u32, 0_u32);
    let mut side = 1;
    while side < 1 << ORDER {
        let rx = 1 & (t / 2);
        let ry = 1 & (t ^ rx);
        if ry == 0 {
            if rx == 1 {
                x = side - 1 - x;
                y = side - 1 - y;
            }
            std::mem::swap(&mut x, &mut y);
        }
        x += side * rx;
        y += side * ry;
        t /= 4;
        side *= 2;
    }
    let cells = (1_u32 << ORDER) as f32;
    [(x as f32 + 0.5) / cells, (y as f32 + 0.5) / cells]
}

/// Returns the sine of `turn` full turns, with an error of about 1e-4, from products and sums only.
fn sine_of_turn(turn: f32) -> f32 {
    let t = turn - (turn + 0.5).floor();
    // The angle is folded to a quarter turn on either side of zero, before Taylor's series is used.
    let t = if t > 0.25 {
        0.5 - t
    } else if t < -0.25 {
        -0.5 - t
    } else {
        t
    };
    let x = t * std::f32::consts::TAU;
    let s = x * x;
    x * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s * (1.0 / 362_880.0)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_curve() {
        for i in -200..200 {
            let t = i as f32 * 0.01;
            assert!((sine_of_turn(t) - (t * std::f32::consts::TAU).sin()).abs() < 1e-4, "{t}");
        }
        let step = 1.0 / 65_536.0;
        for i in 0..65_535 {
            let (p, q) = (hilbert((i as f32 + 0.5) * step), hilbert((i as f32 + 1.5) * step));
            let distance = (p[0] - q[0]).abs() + (p[1] - q[1]).abs();
            assert!((distance - 1.0 / 256.0).abs() < 1e-6, "neighbours on the curve are neighbours in the square");
        }
    }
}
