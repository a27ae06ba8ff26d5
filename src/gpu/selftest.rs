//! Checks that this device returns the same bits as the CPU: draws, exact functions and order-free sums, word for word;
//! also a captured graph, an updated [`Cell`] and a copy concurrent with kernels.

use super::{
    Buf, Cell, Gpu, GpuError, Graph, Grid, KernelFacts, Pass, Pinned, Timing,
    kernel::{In, InOut, Size},
};
use crate::{
    device_struct, kernels,
    num::{
        elements::{Bf16, E4m3, E5m2, Element, F16},
        exact,
        fixed::Q16,
        rng::{Draw, Purpose},
    },
};
use std::{fmt, sync::Arc};

device_struct! {
    /// Address of the self-test's draws.
    pub struct Clock {
        /// Seed of the project: part of the address of every draw
        seed: u64,
        /// Simulation step of the draws
        step: u64,
        /// Purpose of the draws
        purpose: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// The self-test, in launch order.
    pub struct Kernels in "common/selftest.cu" using [Clock] {
        /// One thread per lane: its four random words at this step.
        #[block(256)]
        fn draw_words as DrawWords(clock: In<Clock>, n: Size<u32>, words: InOut<u32>);

        /// One thread per word: normal, ln, exp and Q16 of it, as bits.
        #[block(256)]
        fn apply_twins as ApplyTwins(n: Size<u32>, words: In<u32>, bits: InOut<u32>);

        /// One thread per word: adds a Q16.16 term to one of a few sums, by integer atomics.
        #[block(256)]
        fn sum_fixed as SumFixed(n: Size<u32>, n_sums: Size<u32>, words: In<u32>, sums: InOut<i32>);

        /// One thread per word: a number of wide range rounded to f16, bf16, e4m3 and e5m2, and back.
        #[block(256)]
        fn round_elements as RoundElements(
            n: Size<u32>, words: In<u32>, halves: InOut<F16>, brains: InOut<Bf16>, fours: InOut<E4m3>,
            fives: InOut<E5m2>, back: InOut<f32>
        );

        /// A grid of tiles transposes every matrix of a stack by way of dynamic shared memory, from word `spare` on.
        #[block(1024)]
        fn transpose_stack as TransposeStack(rows: Size<u32>, columns: Size<u32>, spare: Size<u32>, from: In<u32>, to: InOut<u32>);

        /// One thread: advances the clock.
        #[block(1)]
        fn tick as Tick(clock: InOut<Clock>);
    }
}

/// Result of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Name of the compared quantity.
    pub name: &'static str,
    /// Number of words compared.
    pub words: usize,
    /// Number of words that differ.
    pub differing: usize,
}

/// Result of the self-test.
#[derive(Clone, Debug)]
pub struct Report {
    /// Description of the device.
    pub device: String,
    /// Results of the comparisons.
    pub checks: Vec<Check>,
    /// Resources of each kernel on this device.
    pub facts: Vec<KernelFacts>,
    /// Time of each kernel.
    pub timings: Vec<Timing>,
}

impl Report {
    /// Whether every check compared words and all words are equal.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.words > 0 && c.differing == 0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.device)?;
        for Check { name, words, differing } in &self.checks {
            let verdict = if *differing == 0 { "same bits" } else { "DIFFERENT" };
            writeln!(f, "{verdict}  {name}: {differing} of {words} words differ")?;
        }
        for k in &self.facts {
            writeln!(
                f,
                "{:<12} {:>3} registers  {:>5} B shared  {:>4} B spilled  occupancy {:.0} %",
                k.name,
                k.registers,
                k.shared_bytes,
                k.local_bytes,
                k.occupancy * 100.0
            )?;
        }
        for t in &self.timings {
            let micros = t.nanos as f64 / 1e3 / f64::from(t.launches.max(1));
            writeln!(f, "{:<12} {micros:>8.1} µs a launch ({} measured)", t.name, t.launches)?;
        }
        Ok(())
    }
}

const LANES: u32 = 250_000;
const WORDS: usize = 4 * LANES as usize;
const SUMS: usize = 1_000;
const GRAPH_STEPS: u64 = 50;
/// Start step beyond 32 bits, so that the draws depend on both halves of the step.
const START: Clock = Clock { seed: 0x0123_4567_89ab_cdef, step: 0x1_0000_0002, purpose: Purpose::Noise as u32, pad: 0 };

/// Runs all checks once. `Err` means that the device failed; a device with different results gives a [`Report`] that has not
/// [`passed`](Report::passed).
pub fn run(gpu: &Arc<Gpu>) -> Result<Report, GpuError> {
    let kernels = Kernels::load(gpu)?;
    let mut pass = Pass::measuring();
    let mut clock = Cell::new(gpu, "clock", START)?;
    let mut words = Buf::<u32>::zeros(gpu, "words", WORDS)?;
    let mut pinned = Pinned::zeros(gpu, WORDS)?;

    DrawWords { clock: clock.buf(), n: LANES, words: &mut words }.launch(&kernels, &mut pass, LANES)?;
    words.download(0..WORDS, &mut pinned)?;
    let drawn = pinned.get()?.to_vec();
    let mut checks = vec![compare("draws", &drawn, &expected_words(START))];
    checks.push(check_twins(gpu, &kernels, &mut pass, &words, &drawn)?);
    checks.push(check_sums(gpu, &kernels, &mut pass, &words, &drawn)?);
    checks.push(check_elements(gpu, &kernels, &mut pass, &words, &drawn)?);
    checks.push(check_grid(gpu, &kernels, &mut pass, &words, &drawn)?);
    checks.push(check_graph(gpu, &kernels, &mut clock, &mut words)?);
    gpu.synchronize()?;
    pass.collect()?;
    let facts = gpu.kernel_facts().into_iter().filter(|k| k.module() == Kernels::SPEC.id()).collect();
    Ok(Report { device: gpu.describe(), checks, facts, timings: pass.timings })
}

fn check_twins(
    gpu: &Arc<Gpu>,
    kernels: &Kernels,
    pass: &mut Pass,
    words: &Buf<u32>,
    drawn: &[u32],
) -> Result<Check, GpuError> {
    let mut bits = Buf::zeros(gpu, "bits", 4 * WORDS)?;
    ApplyTwins { n: WORDS as u32, words, bits: &mut bits }.launch(kernels, pass, WORDS as u32)?;
    let expected: Vec<u32> = drawn.iter().flat_map(|w| twins_of(*w)).collect();
    Ok(compare("normal, ln, exp, Q16", &bits.read()?, &expected))
}

fn check_sums(
    gpu: &Arc<Gpu>,
    kernels: &Kernels,
    pass: &mut Pass,
    words: &Buf<u32>,
    drawn: &[u32],
) -> Result<Check, GpuError> {
    let mut sums = Buf::zeros(gpu, "sums", SUMS)?;
    SumFixed { n: WORDS as u32, n_sums: SUMS as u32, words, sums: &mut sums }.launch(kernels, pass, WORDS as u32)?;
    let mut expected = vec![0_i32; SUMS];
    for word in drawn {
        let sum = &mut expected[*word as usize % SUMS];
        *sum = sum.wrapping_add(term_of(*word));
    }
    Ok(compare("order-free sums", &sums.read()?, &expected))
}

fn check_elements(
    gpu: &Arc<Gpu>,
    kernels: &Kernels,
    pass: &mut Pass,
    words: &Buf<u32>,
    drawn: &[u32],
) -> Result<Check, GpuError> {
    let n = WORDS as u32;
    let mut halves = Buf::zeros(gpu, "f16", WORDS)?;
    let mut brains = Buf::zeros(gpu, "bf16", WORDS)?;
    let mut fours = Buf::zeros(gpu, "e4m3", WORDS)?;
    let mut fives = Buf::zeros(gpu, "e5m2", WORDS)?;
    let mut back = Buf::<f32>::zeros(gpu, "back", 4 * WORDS)?;
    RoundElements {
        n,
        words,
        halves: &mut halves,
        brains: &mut brains,
        fours: &mut fours,
        fives: &mut fives,
        back: &mut back,
    }
    .launch(kernels, pass, n)?;
    let numbers: Vec<f32> = drawn.iter().map(|w| signed_unit(*w) * 2_f32.powi((*w % 60) as i32 - 30)).collect();
    fn bits<T: Element>(numbers: &[f32], of: impl Fn(T) -> u32) -> Vec<u32> {
        numbers.iter().map(|x| of(T::from_f32(*x))).collect()
    }
    let mut expected = bits::<F16>(&numbers, |x| x.0.into());
    expected.extend(bits::<Bf16>(&numbers, |x| x.0.into()));
    expected.extend(bits::<E4m3>(&numbers, |x| x.0.into()));
    expected.extend(bits::<E5m2>(&numbers, |x| x.0.into()));
    let values = |x: &f32| {
        let all = [F16::from_f32(*x).to_f32(), Bf16::from_f32(*x).to_f32()];
        let eight = [E4m3::from_f32(*x).to_f32(), E5m2::from_f32(*x).to_f32()];
        all.into_iter().chain(eight).map(f32::to_bits)
    };
    expected.extend(numbers.iter().flat_map(values));
    let mut found: Vec<u32> = halves.read()?.iter().map(|x| x.0.into()).collect();
    found.extend(brains.read()?.iter().map(|x| u32::from(x.0)));
    found.extend(fours.read()?.iter().map(|x| u32::from(x.0)));
    found.extend(fives.read()?.iter().map(|x| u32::from(x.0)));
    found.extend(back.read()?.iter().map(|x| x.to_bits()));
    Ok(compare("f16, bf16, fp8", &found, &expected))
}

/// Transposes stacked matrices by a three-dimensional grid with more shared memory than the default limit.
fn check_grid(
    gpu: &Arc<Gpu>,
    kernels: &Kernels,
    pass: &mut Pass,
    words: &Buf<u32>,
    drawn: &[u32],
) -> Result<Check, GpuError> {
    let [layers, rows, columns, x, y] = [5_u32, 300, 217, 32, 16];
    let shape = [layers, rows, columns].map(|n| n as usize);
    let len: usize = shape.iter().product();
    let mut to = Buf::shaped(gpu, "transposed", [shape[0], shape[2], shape[1]])?;
    let spare = 12_500; // words, which exceed 48 KiB together with the tile
    let blocks = [columns.div_ceil(x), rows.div_ceil(y), layers];
    let grid = Grid::Blocks { blocks, threads: [x, y, 1], shared_bytes: 4 * (spare + y * (x + 1)) };
    TransposeStack { rows, columns, spare, from: &*words.part(0..len)?, to: &mut to }.launch(kernels, pass, grid)?;
    let cell = |l: usize, c: usize, r: usize| drawn[(l * shape[1] + r) * shape[2] + c];
    let matrix = |l| (0..shape[2]).flat_map(move |c| (0..shape[1]).map(move |r| cell(l, c, r)));
    let expected: Vec<u32> = (0..shape[0]).flat_map(matrix).collect();
    // Reads matrix by matrix through views of the stack.
    let mut found = Vec::new();
    for layer in 0..shape[0] {
        found.extend(to.at(layer)?.read()?);
    }
    Ok(compare("3-D grid, shared memory", &found, &expected))
}

/// Captures a graph of one step and replays it, then resets the clock and replays the graph again.
fn check_graph(
    gpu: &Arc<Gpu>,
    kernels: &Kernels,
    clock: &mut Cell<Clock>,
    words: &mut Buf<u32>,
) -> Result<Check, GpuError> {
    // SAFETY: clock and words outlive the graph, which is dropped at the end of this function.
    let mut graph = unsafe {
        Graph::capture(gpu, |pass| {
            DrawWords { clock: clock.buf(), n: LANES, words }.launch(kernels, pass, LANES)?;
            Tick { clock: clock.buf_mut() }.launch(kernels, pass, 1)
        })
    }?;
    for _ in 0..GRAPH_STEPS {
        graph.launch()?;
    }
    let last = Clock { step: START.step + GRAPH_STEPS - 1, ..START };
    let mut found = words.read()?;
    let mut expected = expected_words(last);
    let moved = Clock { seed: 7, step: 3, ..START };
    clock.set(moved)?;
    graph.launch()?;
    found.extend(words.read()?);
    expected.extend(expected_words(moved));
    Ok(compare("replayed graph, rewritten clock", &found, &expected))
}

fn expected_words(at: Clock) -> Vec<u32> {
    let words = |lane| Draw { seed: at.seed, purpose: Purpose::Noise, step: at.step, lane }.words();
    (0..LANES).flat_map(words).collect()
}

fn signed_unit(word: u32) -> f32 {
    2.0 * exact::unit(word) - 1.0
}

/// Returns normal, ln, exp and Q16 of one word, mapped into their domains as by the kernel `apply_twins`.
pub fn twins_of(word: u32) -> [u32; 4] {
    let positive = f32::from_bits(0x0080_0000 + word % 0x7f00_0000);
    [
        exact::normal(word).to_bits(),
        exact::ln(positive).to_bits(),
        exact::exp(signed_unit(word) * 128.0).to_bits(),
        Q16::from_f64(f64::from(signed_unit(word) * 65_536.0)).0.cast_unsigned(),
    ]
}

fn term_of(word: u32) -> i32 {
    Q16::from_f64(f64::from(signed_unit(word))).0
}

fn compare<T: PartialEq>(name: &'static str, found: &[T], expected: &[T]) -> Check {
    let differing = found.iter().zip(expected).filter(|(a, b)| a != b).count();
    Check { name, words: found.len(), differing: differing + found.len().abs_diff(expected.len()) }
}
