//! The window when a device fails: what is said, what is safe, and the way on.

use crate::support::{fake, window};
use egui_kittest::kittest::{NodeT, Queryable};
use neuropil::{
    app::{Start, document::command::UiCommand},
    project::{DeviceChoice, Project},
    sim::{BuildContext, Progress, SimError, Simulation},
};
use std::{sync::Arc, time::Duration};
use window::{Window, assign, open, until};

/// A window whose simulations fail at this step unless they run on the CPU; at step 0 they cannot even be built.
fn fragile(fails_at: u64) -> Window {
    window(fails_at, false)
}

fn window(fails_at: u64, refuses_states: bool) -> Window {
    let builder = move |project: &Project, scene: &BuildContext, _: &Progress| {
        let mut sim = fake::new(scene.seed);
        sim.refuses_states = refuses_states;
        if project.run.device != DeviceChoice::Cpu {
            sim.loses_device_at = fails_at;
        }
        match sim.loses_device_at {
            0 => Err(SimError::Device("wiring needs 3.00 GiB, but only 1.00 GiB is free".into())),
            _ => Ok(Box::new(sim) as Box<dyn Simulation>),
        }
    };
    open(Start { builder: Some(Arc::new(builder)), ..window::start(true) })
}

const WAY_ON: &str = "Continue on CPU";

fn step(w: &Window) -> u64 {
    w.state().session().live.clock.step
}

fn offers_cpu(w: &Window) -> bool {
    w.state().session().live.checkpoints.failure.is_some() && w.query_all_by_label(WAY_ON).next().is_some()
}

#[test]
fn a_device_that_fails_offers_the_cpu() {
    let mut w = fragile(700);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it has failed", offers_cpu);
    assert!((1..=700).contains(&step(&w)), "where the last whole batch ended");
    assert!(w.state().messages().iter().any(|m| m.contains("the GPU is lost")), "{:?}", w.state().messages());
    let in_bar = w.query_all_by_label("Run").any(|node| node.accesskit_node().is_disabled());
    assert!(in_bar, "there is nothing to run");
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, UiCommand::Step);
    assert!(w.state().messages().iter().any(|m| m.contains("continue on the CPU")));
    w.get_all_by_label(WAY_ON).next().expect("in the bar, and in views that have nothing to show").click();
    until(&mut w, "it runs on", |w| w.query_by_label("Pause").is_some() && step(w) > 1000);
    assert!(!offers_cpu(&w));
    let session = w.state().session();
    assert_eq!(session.project.run.device, DeviceChoice::Auto, "the document asks for what it asked for");
    assert!(!session.is_dirty() && session.live.plan_waits(&session.project).is_empty());
}

#[test]
fn it_goes_on_from_the_last_checkpoint_with_its_edits() {
    let mut w = fragile(3000);
    w.state_mut().session_mut().project.run.speed = 0.2;
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| step(w) > 0);
    assign(&mut w, "lif.tau_m=31");
    until(&mut w, "it was taken up", |w| w.state().session().live.run_log().is_some_and(|s| s.log.len() == 1));
    w.state_mut().session_mut().live.checkpoints.every = Some(Duration::from_millis(20));
    until(&mut w, "a state is kept", |w| w.state().session().live.checkpoints.checkpoint().is_some());
    w.state_mut().session_mut().live.checkpoints.every = None;
    let kept = w.state().session().live.checkpoints.checkpoint().expect("kept").clone();
    assert_eq!(kept.state.n_logged, 1);
    assign(&mut w, "lif.tau_m=32");
    until(&mut w, "it has failed", offers_cpu);
    let stopped = step(&w);
    assert!(0 < kept.state.clock.step && kept.state.clock.step < stopped && stopped <= 3000);
    w.get_all_by_label(WAY_ON).next().expect("in the bar, and in views that have nothing to show").click();
    let mut lowest = u64::MAX;
    until(&mut w, "it runs on", |w| {
        let live = &w.state().session().live;
        if live.checkpoints.failure.is_none() && live.clock.step != stopped {
            lowest = lowest.min(live.clock.step);
        }
        live.checkpoints.failure.is_none() && live.clock.step > 3300
    });
    assert!(lowest >= kept.state.clock.step, "{lowest} is before {}", kept.state.clock.step);
    let session = w.state().session();
    let since = session.live.run_log().expect("a past");
    assert_eq!(since.log.len(), 2, "the edit before the state, and the one after it once more");
    assert!(since.log[0].0 <= kept.state.clock.step && since.log[1].0 >= kept.state.clock.step, "{:?}", since.log);
}

#[test]
fn a_state_that_does_not_fit_is_said_and_left_out() {
    let mut w = window(2000, true);
    w.state_mut().session_mut().project.run.speed = 0.2;
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| step(w) > 0);
    w.state_mut().session_mut().live.checkpoints.every = Some(Duration::from_millis(20));
    until(&mut w, "it has failed", offers_cpu);
    assert!(w.state().session().live.checkpoints.recovery_point().is_some());
    w.get_all_by_label(WAY_ON).next().expect("in the bar, and in views that have nothing to show").click();
    until(&mut w, "it runs on", |w| !offers_cpu(w) && step(w) > 0 && step(w) < 1000);
    assert!(w.state().messages().iter().any(|m| m.contains("starts from step 0")), "{:?}", w.state().messages());
    assert!(w.state().session().live.run_log().expect("a past").log.is_empty());
}

#[test]
fn a_simulation_that_does_not_fit_is_offered_on_the_cpu() {
    let mut w = fragile(0);
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it could not be built", offers_cpu);
    assert!(w.query_by_label("Try again").is_some());
    w.query_all_by_label(WAY_ON).last().expect("offered").click();
    until(&mut w, "it runs", |w| w.query_by_label("Pause").is_some() && step(w) > 10);
    assert!(!offers_cpu(&w));
}

/// A library that is missing is no failure: the run goes on, and the window says what is used instead.
#[test]
fn what_a_simulation_does_otherwise_than_asked_is_a_problem() {
    const NOTICE: &str = "compute.gemm: cuBLASLt was not found, own kernels are used instead";
    let builder = |_: &Project, scene: &BuildContext, _: &Progress| {
        let mut sim = fake::new(scene.seed);
        sim.notices = vec![NOTICE.into()];
        Ok(Box::new(sim) as Box<dyn Simulation>)
    };
    let mut w = open(Start { builder: Some(Arc::new(builder)), ..window::start(true) });
    w.run();
    w.get_by_label("Run").click();
    until(&mut w, "it runs", |w| step(w) > 0);
    assert_eq!(w.state().problems().iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), [NOTICE]);
}
