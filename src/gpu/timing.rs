//! Time per kernel, or per corresponding loop on the CPU.

use super::KernelFacts;

/// Time spent in one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timing {
    /// Name of the kernel.
    pub name: &'static str,
    /// Number of measured launches.
    pub launches: u32,
    /// Total time, nanoseconds.
    pub nanos: u64,
    /// Time of the longest launch, nanoseconds.
    pub max_nanos: u64,
    /// Bytes moved, where the launcher reports them; else 0.
    pub bytes: u64,
    /// Work items (synaptic events, neurons…), where the launcher reports them; else 0.
    pub items: u64,
    /// Floating-point operations, where the launcher reports them; else 0.
    pub ops: u64,
    /// Distribution of launch times.
    pub spread: Spread,
    /// Largest error against a reference, if the row is one of several methods for the same result.
    pub off: Option<f64>,
}

impl Timing {
    /// Returns the empty row of a kernel.
    pub fn of(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds the times and counts of `other`, and keeps the larger error.
    pub fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.nanos += other.nanos;
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.bytes += other.bytes;
        self.items += other.items;
        self.ops += other.ops;
        self.spread.add(&other.spread);
        self.err(other.off);
    }

    /// Keeps the larger of the current error and `off`.
    pub fn err(&mut self, off: Option<f64>) {
        self.off = self.off.into_iter().chain(off).reduce(f64::max);
    }

    /// Adds one launch of `nanos` nanoseconds.
    pub fn launch(&mut self, nanos: u64) {
        self.launches += 1;
        self.nanos += nanos;
        self.max_nanos = self.max_nanos.max(nanos);
        self.spread.count(nanos, 1);
    }

    /// Returns the mean launch time, nanoseconds.
    pub fn mean_nanos(&self) -> f64 {
        self.nanos as f64 / f64::from(self.launches.max(1))
    }

    /// Returns the median launch time, nanoseconds, within 6 %.
    pub fn p50_nanos(&self) -> u64 {
        self.spread.quantile(0.5).min(self.max_nanos)
    }

    /// Returns the 95th percentile of the launch time, nanoseconds, within 6 %; the longest launch time if there are fewer than
    /// twenty launches.
    pub fn p95_nanos(&self) -> u64 {
        if self.launches < 20 {
            return self.max_nanos;
        }
        self.spread.quantile(0.95).min(self.max_nanos)
    }

    /// Returns the rate of a quantity per second of kernel time; `None` if the quantity or the time is 0.
    pub fn per_sec(&self, quantity: u64) -> Option<f64> {
        (quantity > 0 && self.nanos > 0).then(|| quantity as f64 / (self.nanos as f64 * 1e-9))
    }
}

/// Mergeable histogram of times: eight buckets of equal width per octave, so that a quantile is correct within 6 % (half a
/// bucket). Only non-empty buckets are stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread(Vec<(u16, u32)>);

/// Base-2 logarithm of the number of buckets per octave.
const FINE: u32 = 3;

impl Spread {
    /// Adds `launches` launches of `nanos` nanoseconds each.
    pub fn count(&mut self, nanos: u64, launches: u32) {
        self.fill(bucket_of(nanos), launches);
    }

    fn fill(&mut self, bucket: u16, launches: u32) {
        match self.0.binary_search_by_key(&bucket, |b| b.0) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(launches),
            Err(at) => self.0.insert(at, (bucket, launches)),
        }
    }

    fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(bucket, launches)| self.fill(*bucket, *launches));
    }

    /// Iterates over non-empty buckets, shortest first: start and end (exclusive), nanoseconds, and number of launches.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        self.0.iter().map(|(bucket, launches)| (low_of(*bucket), low_of(bucket + 1), *launches))
    }

    /// Returns the midpoint of the bucket that contains the quantile, nanoseconds; 0 when empty.
    pub fn quantile(&self, q: f64) -> u64 {
        let all: u64 = self.0.iter().map(|b| u64::from(b.1)).sum();
        let rank = (q * all as f64).ceil().max(1.0) as u64;
        let mut sum = 0;
        let reached = self.0.iter().find(|b| {
            sum += u64::from(b.1);
            sum >= rank
        });
        reached.map_or(0, |b| middle_of(b.0))
    }
}

/// Returns the bucket of a time. Times below 8 ns have one bucket per nanosecond; for longer times, the three bits after the
/// leading one select the bucket within the octave.
const fn bucket_of(nanos: u64) -> u16 {
    let octave = (nanos | 1).ilog2().saturating_sub(FINE);
    ((octave << FINE) as u64 + (nanos >> octave)) as u16
}

const fn octave_of(bucket: u16) -> u32 {
    (bucket >> FINE).saturating_sub(1) as u32
}

const fn low_of(bucket: u16) -> u64 {
    let octave = octave_of(bucket);
    (bucket as u64 - ((octave as u64) << FINE)) << octave
}

const fn middle_of(bucket: u16) -> u64 {
    low_of(bucket) + (1 << octave_of(bucket)) / 2
}

/// Row of the timing table in display units, as `--json` writes it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// Name of the kernel.
    pub name: &'static str,
    /// Number of measured launches.
    pub launches: u32,
    /// Share of all measured time, 0 to 1.
    pub share: f64,
    /// Mean launch time, µs (event overhead subtracted).
    pub mean_us: f64,
    /// Median launch time, µs, within 6 %.
    pub p50_us: f64,
    /// 95th percentile of the launch time, µs, within 6 %.
    pub p95_us: f64,
    /// Time of the longest launch, µs.
    pub max_us: f64,
    /// Bytes moved per second of kernel time; `None` if the launcher does not report them.
    pub bytes_per_s: Option<f64>,
    /// Floating-point operations per second of kernel time; `None` if the launcher does not report them.
    pub ops_per_s: Option<f64>,
    /// Work items (neurons, synaptic events) per second of kernel time; `None` if the launcher does not report them.
    pub items_per_s: Option<f64>,
    /// Registers that one thread uses; `None` for a loop on the CPU.
    pub registers: Option<u32>,
    /// Shared memory per block, bytes; `None` for a loop on the CPU.
    pub shared_bytes: Option<u32>,
    /// Share of a multiprocessor's threads that can be resident, 0 to 1; `None` for a loop on the CPU.
    pub occupancy: Option<f32>,
}

/// Returns the timing table with the resources of the kernels, largest share first.
pub fn report(timings: &[Timing], kernels: &[KernelFacts]) -> Vec<Row> {
    let total = timings.iter().map(|t| t.nanos).sum::<u64>().max(1) as f64;
    let mut rows: Vec<Row> = timings.iter().map(|t| row(t, total, kernels.iter().find(|k| k.name == t.name))).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.name.cmp(b.name)));
    rows
}

fn row(t: &Timing, total: f64, facts: Option<&KernelFacts>) -> Row {
    Row {
        name: t.name,
        launches: t.launches,
        share: t.nanos as f64 / total,
        mean_us: t.mean_nanos() * 1e-3,
        p50_us: t.p50_nanos() as f64 * 1e-3,
        p95_us: t.p95_nanos() as f64 * 1e-3,
        max_us: t.max_nanos as f64 * 1e-3,
        bytes_per_s: t.per_sec(t.bytes),
        ops_per_s: t.per_sec(t.ops),
        items_per_s: t.per_sec(t.items),
        registers: facts.map(|f| f.registers),
        shared_bytes: facts.map(|f| f.shared_bytes),
        occupancy: facts.map(|f| f.occupancy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_hold_their_middle() {
        let mut last = 0;
        for exponent in 0..60 {
            for nanos in [1_u64 << exponent, (1 << exponent) + (1 << exponent) / 3, (2 << exponent) - 1] {
                let bucket = bucket_of(nanos);
                assert!(bucket >= last, "{nanos}");
                last = bucket;
                let middle = middle_of(bucket);
                assert_eq!(bucket_of(middle), bucket, "{nanos}");
                assert!((middle as f64 - nanos as f64).abs() <= nanos as f64 / 16.0 + 0.5, "{nanos}: {middle}");
            }
        }
    }

    #[test]
    fn a_quantile_of_merged_times_is_that_of_all() {
        let mut times: Vec<u64> = (0..2000_u64).map(|i| 3_000 + (i * 7919) % 2000 * 11).collect();
        let (mut a, mut b) = (Timing::of("k"), Timing::of("k"));
        for (i, nanos) in times.iter().enumerate() {
            if i % 3 == 0 { a.launch(*nanos) } else { b.launch(*nanos) }
        }
        a.add(&b);
        times.sort_unstable();
        let exact = times[1899] as f64;
        assert_eq!((a.launches, a.max_nanos), (2000, times[1999]));
        assert!((a.p95_nanos() as f64 / exact - 1.0).abs() < 0.0625, "{} for {exact}", a.p95_nanos());
        assert_eq!(Timing::of("none").p95_nanos(), 0);
    }

    #[test]
    fn one_stray_launch_is_the_maximum_and_not_the_p95() {
        let mut timing = Timing::of("k");
        (0..99).for_each(|_| timing.launch(1_000));
        timing.launch(50_000);
        assert_eq!(timing.max_nanos, 50_000);
        assert!((940..=1_060).contains(&timing.p95_nanos()), "{}", timing.p95_nanos());
        let mut once = Timing::of("k");
        once.launch(12_950);
        assert_eq!(once.p95_nanos(), 12_950, "of one launch it is that launch");
    }

    #[test]
    fn a_report_has_the_facts_of_its_kernels() {
        let facts = KernelFacts {
            file: "a.cu",
            variant: "",
            name: "deliver",
            block: 128,
            registers: 32,
            shared_bytes: 1024,
            local_bytes: 0,
            blocks_per_multiprocessor: 16,
            occupancy: 1.0,
        };
        let (mut deliver, mut other) = (Timing::of("deliver"), Timing::of("other"));
        deliver.launch(3_000);
        (deliver.items, deliver.bytes, deliver.ops) = (6, 12, 24);
        other.launch(1_000);
        let rows = report(&[other, deliver], &[facts]);
        assert_eq!((rows[0].name, rows[0].share, rows[0].registers), ("deliver", 0.75, Some(32)));
        assert!((rows[0].items_per_s.unwrap() - 2e6).abs() < 1.0 && (rows[0].bytes_per_s.unwrap() - 4e6).abs() < 1.0);
        assert!((rows[0].ops_per_s.unwrap() - 8e6).abs() < 1.0 && (rows[0].p50_us / 3.0 - 1.0).abs() < 0.0625);
        assert_eq!((rows[1].registers, rows[1].items_per_s), (None, None));
    }
}
