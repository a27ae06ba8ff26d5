//! `neuropil replay`: repeats a run and compares the recorded streams.

use super::{
    args::ReplayArgs,
    device,
    error::CliError,
    experiment_info,
    progress::ProgressLine,
    run::{is_own, refuse_outside},
    session, signal,
    stdout::print_line,
};
use crate::{
    data::counted,
    experiment::is_experiment,
    project::{
        RunFolder, outside_paths_of_run, provenance,
        replay::{ReplayResult, replay_on},
    },
    sim::{Progress, SimError, Simulation},
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

pub(super) fn replay(args: &ReplayArgs) -> Result<(), CliError> {
    if is_experiment(&args.run) {
        return experiment_info::replay(args);
    }
    if args.condition.is_some() {
        return Err(CliError::Usage(format!("--condition: {} is not an experiment", args.run.display())));
    }
    signal::listen();
    let run = RunFolder::open(&args.run)?;
    for note in run.notes.iter().chain(&provenance::changed(&run.manifest.data)) {
        eprintln!("neuropil: {note}");
    }
    if !args.allow_outside && !is_own(&args.run) {
        refuse_outside(&outside_paths_of_run(&run, &run.project()?), "run")?;
    }
    let trials = run.trials()?;
    if run.manifest.trials as usize > trials.len() {
        let all = counted(run.manifest.trials, "trial", "trials");
        eprintln!("neuropil: {} of {all} exist", trials.len());
    }
    let mut results = vec![];
    for trial in &trials {
        results.push((trial.trial, one(trial, args)?));
    }
    let different = results.iter().find(|(_, result)| matches!(result, ReplayResult::Differs(_)));
    print(&run, &results, args.json);
    match different {
        None => Ok(()),
        Some((None, _)) => Err(CliError::Failed("the replay differs from the recording".into())),
        Some((Some(k), _)) => Err(CliError::Failed(format!("the replay of trial {k} differs from the recording"))),
    }
}

fn one(run: &RunFolder, args: &ReplayArgs) -> Result<ReplayResult, CliError> {
    let mut project = run.project()?;
    project.seed = run.manifest.setup_seed;
    let (gpu, threads) = (args.device.gpu.unwrap_or(project.run.gpu), args.threads.unwrap_or(project.run.threads));
    let mut chosen = device::choose(args.device.choice, gpu, threads)?;
    let meter = ProgressLine::new();
    let prepared = session::prepare_with(&project, run.build_context(&project), args.force, &meter)?;
    let sim = session::start(&*prepared, run.manifest.seed, &mut chosen)?;
    compare_on_thread(run.clone(), sim, chosen.name, &meter)
}

/// Compares a run with its replay on a separate thread, so that interrupts are handled. Fails if the simulation fails or
/// the job is cancelled.
fn compare_on_thread(
    run: RunFolder,
    mut sim: Box<dyn Simulation>,
    device: String,
    meter: &ProgressLine,
) -> Result<ReplayResult, CliError> {
    let _closing = signal::closing();
    let progress = Arc::new(Progress::default());
    let shared = progress.clone();
    let (sender, receiver) = channel::<Result<ReplayResult, SimError>>();
    let job = move || drop(sender.send(replay_on(&run, &mut *sim, &device, &shared)));
    std::thread::Builder::new().name("replay".into()).spawn(job)?;
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(verdict) => return Ok(verdict?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(_) => return Err(CliError::Failed("an internal error stopped the replay".into())),
        }
        if signal::interrupted() {
            progress.cancel();
        }
        let (stage, fraction) = progress.now();
        meter.update(f64::from(fraction), 1.0, || stage);
    }
}

fn print(run: &RunFolder, results: &[(Option<u32>, ReplayResult)], as_json: bool) {
    if as_json {
        let list: Vec<_> = results
            .iter()
            .map(|(_, result)| match result {
                ReplayResult::Identical { steps, compared, not_compared, digest } => {
                    let streams = compared.iter().map(|c| json!({ "probe": c.probe, "n": c.n, "unit": c.unit }));
                    json!({
                        "identical": true, "steps": steps, "compared": result.n_spikes(), "hash": digest.hash,
                        "streams": streams.collect::<Vec<_>>(), "not_compared": not_compared,
                    })
                }
                ReplayResult::Differs(what) => json!({ "identical": false, "first_difference": what }),
            })
            .collect();
        let identical = results.iter().all(|(_, result)| matches!(result, ReplayResult::Identical { .. }));
        print_line!("{:#}", json!({ "run": run.path.display().to_string(), "identical": identical, "runs": list }));
        return;
    }
    for (trial, result) in results {
        let which = trial.map_or_else(String::new, |k| format!("trial {k}: "));
        print_line!("{which}{}", result.text());
    }
}
