//! The arguments of `neuropil bench`.

use super::{
    args::{DeviceArg, duration_ms},
    suggest::DeviceParser,
};
use clap::Args as Group;
use std::path::PathBuf;

#[derive(Group, Debug)]
#[command(group(clap::ArgGroup::new("measured").multiple(true)))]
pub(super) struct BenchArgs {
    /// Name of the kind; `device` measures bandwidth, arithmetic and launches for the roofline; `window` measures the
    /// UI thread at 1 and 30 million spikes per second, and with --examples or --project the cost of the window while
    /// it runs projects; `drawing` measures frames of the 3D view and of the raster on the graphics processor and on
    /// the software renderer, and compares their pictures; `taps` measures the cost of five readings at 60 Hz in a
    /// project; `project` measures the speed of a project, the rates of its populations, and on a GPU its energy;
    /// `transformer` measures operations against their roofline and training steps, beside the fastest of several
    /// settings of PyTorch if `python3` has it; `synaptic` measures training steps, and with --text the losses of
    /// variants; `evolution` measures generations.
    #[arg(default_value = "spiking")]
    pub kind: String,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Folder with a network; by default generated networks are used.
    #[arg(long, value_name = "DIR")]
    pub network: Option<PathBuf>,
    /// Device to measure.
    #[arg(long, value_parser = DeviceParser, default_value = "auto")]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Simulated time per measurement, with a unit.
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true, value_name = "TIME")]
    pub duration: Option<f64>,
    /// Measurements per case; the median is reported.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Name of the only case to measure.
    #[arg(long, value_name = "CASE")]
    pub only: Option<String>,
    /// Text of `bench synaptic`: variants of the model train on it, one seed per repeat, and their held-out losses are
    /// compared.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Training steps of a variant with --text.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Simulated time before the first measurement of `bench project`, with a unit.
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true, value_name = "TIME")]
    pub warm_up: Option<f64>,
    /// Trials that `bench project` steps together, with the seeds that follow the project's; the speed counts all of them. `bench
    /// window` measures each project with one trial and with this many.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub trials: u32,
    /// Project file of `bench project`, `bench taps` or `bench window`; of `bench window` several.
    #[arg(long, value_name = "FILE", group = "measured")]
    pub project: Vec<PathBuf>,
    /// `bench window` with every example that starts without files; --only takes the name of one, or of a kind.
    #[arg(long, group = "measured")]
    pub examples: bool,
    /// Change a parameter of --project or --examples.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "measured")]
    pub set: Vec<String>,
    /// Folder for the pictures that `bench drawing` compares.
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
}
