//! The engine with a simulation known by heart: what was asked for happens, at its step, and nothing is lost.

use crate::fake;
use fake::{LEN, expected};
use neuropil::{
    engine::{Checkpoint, Command, Engine, EngineCounters, Event, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    sim::{Action, Clock, Frame, ProbeId, Reading, Simulation, Spike, Tap},
};
use neuropil_test_support::PATIENCE;
use std::{
    io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const SPIKES: Tap = Tap::of(0);

fn engine(sim: Box<dyn Simulation>) -> Engine {
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(sim));
    wait(&engine, |e| matches!(e, Event::Loaded(_)));
    engine
}

/// Waits for an event: soon, also on a machine with other work.
fn wait(engine: &Engine, mut wanted: impl FnMut(&Event) -> bool) -> Event {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Ok(event) = engine.events.recv_timeout(Duration::from_millis(100))
            && wanted(&event)
        {
            return event;
        }
    }
    panic!("the event did not come");
}

fn wait_paused(engine: &Engine) -> Clock {
    match wait(engine, |e| matches!(e, Event::Running(false, _))) {
        Event::Running(_, clock) => clock,
        _ => unreachable!(),
    }
}

/// What a sink was given.
#[derive(Default)]
struct Kept {
    spikes: Vec<Spike>,
    rows: Vec<(Vec<u32>, Vec<f32>)>,
    text: String,
    n_blocks: usize,
    log: Vec<(u64, LoggedCommand)>,
    began: Option<Clock>,
    finished: Option<RecordingEnd>,
}

/// A sink that keeps everything, is as slow as told, and fails at a block.
struct Keeper {
    kept: Arc<Mutex<Kept>>,
    slow: Duration,
    fails_at: usize,
}

impl Sink for Keeper {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        self.kept.lock().unwrap().began = Some(start.clock);
        Ok(())
    }
    fn write(&mut self, block: &Frame) -> io::Result<()> {
        std::thread::sleep(self.slow);
        let mut kept = self.kept.lock().unwrap();
        kept.n_blocks += 1;
        if kept.n_blocks > self.fails_at {
            return Err(io::Error::other("the disk is full"));
        }
        for (_, reading) in &block.readings {
            match reading {
                Reading::Spikes(spikes) => kept.spikes.extend(spikes),
                Reading::Text(text) => kept.text.push_str(text),
                Reading::Series(s) if !s.steps.is_empty() => kept.rows.push((s.elements.clone(), s.values.clone())),
                _ => {}
            }
        }
        Ok(())
    }
    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        self.kept.lock().unwrap().log.push((step, what.clone()));
        Ok(())
    }
    fn lanes_changed(&mut self, _: u64, _: ProbeId, _: &[String]) -> io::Result<()> {
        Ok(())
    }
    fn finish(self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        self.kept.lock().unwrap().finished = Some(end.clone());
        Ok(())
    }
}

fn keeper(slow_ms: u64, fails_at: usize) -> (Box<Keeper>, Arc<Mutex<Kept>>) {
    let kept = Arc::new(Mutex::new(Kept::default()));
    (Box::new(Keeper { kept: kept.clone(), slow: Duration::from_millis(slow_ms), fails_at }), kept)
}

#[test]
fn run_to_and_step_are_exact() {
    let engine = engine(fake::boxed());
    for (command, want) in [
        (Command::RunTo(1234), 1234),
        (Command::Step(1), 1235),
        (Command::Step(765), 2000),
        (Command::RunTo(2000), 2000), // already there: still answered
        (Command::RunTo(5), 2000),
        (Command::Step(0), 2000),
        (Command::RunToMultiple(700), 2100),
        (Command::RunToMultiple(700), 2800), // at a multiple: the next one
        (Command::RunToMultiple(1_000), 3000),
    ] {
        engine.send(command);
        assert_eq!(wait_paused(&engine).step, want);
        assert_eq!(EngineCounters::read(&engine.counters.step), want);
    }
}

#[test]
fn batches_change_nothing() {
    let mut digests = vec![];
    for batch in [None, Some(1), Some(7), Some(1000), Some(4096)] {
        let engine = engine(fake::boxed());
        engine.send(Command::Batch(batch));
        let (sink, kept) = keeper(0, usize::MAX);
        engine.send(Command::Record(vec![SPIKES], sink));
        engine.send(Command::RunTo(3000));
        wait_paused(&engine);
        engine.send(Command::StopRecording);
        let Event::Recorded(end) = wait(&engine, |e| matches!(e, Event::Recorded(_))) else { unreachable!() };
        assert_eq!(end.clock.step, 3000);
        assert_eq!(kept.lock().unwrap().spikes, expected(0, 3000, 3), "batch {batch:?}");
        digests.push(end.digest);
    }
    assert!(digests.windows(2).all(|d| d[0] == d[1]));
}

/// A screen shows the newest lines of a log; a recording has all of them.
#[test]
fn a_recording_has_the_whole_log() {
    let log = Tap::of(3);
    for (taps, recorded, shown) in [(vec![SPIKES], "", "newest lines;"), (vec![log.clone()], "all;", "all;")] {
        let engine = engine(fake::boxed());
        engine.send(Command::Subscribe(vec![log.clone()]));
        let (sink, kept) = keeper(0, usize::MAX);
        engine.send(Command::Record(taps, sink));
        engine.send(Command::RunTo(100));
        wait_paused(&engine);
        engine.send(Command::StopRecording);
        wait(&engine, |e| matches!(e, Event::Recorded(_)));
        assert_eq!(kept.lock().unwrap().text.replace(recorded, ""), "");
        let frame = engine.take_frame().expect("a frame");
        assert!(matches!(frame.reading(3), Some(Reading::Text(text)) if text.contains(shown)), "{frame:?}");
    }
}

#[test]
fn a_slow_disk_stalls_the_run_and_loses_nothing() {
    let engine = engine(fake::boxed());
    engine.send(Command::Subscribe(vec![SPIKES]));
    engine.send(Command::Batch(Some(50)));
    let (sink, kept) = keeper(5, usize::MAX);
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::RunTo(5000));
    wait_paused(&engine);
    assert!(EngineCounters::read(&engine.counters.stalled_nanos) > 50_000_000, "100 blocks of 5 ms, 16 of them queued");
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(..)));
    assert_eq!(kept.lock().unwrap().spikes, expected(0, 5000, 3));
    let seen = engine.take_frame().unwrap();
    assert_eq!(seen.reading(0), Some(&Reading::Spikes(expected(0, 5000, 3))), "the screen gets them too");
    assert_eq!(seen.skipped, 0);
}

#[test]
fn a_slow_disk_does_not_shorten_the_batches() {
    let engine = engine(fake::boxed());
    let (sink, kept) = keeper(4, usize::MAX);
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::RunTo(200_000));
    wait_paused(&engine);
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(..)));
    let kept = kept.lock().unwrap();
    assert_eq!(kept.spikes.len(), expected(0, 200_000, 3).len());
    assert!(kept.n_blocks < 4000, "{} blocks", kept.n_blocks);
}

#[test]
fn a_failing_disk_ends_the_recording_and_not_the_run() {
    let engine = engine(fake::boxed());
    engine.send(Command::Batch(Some(10)));
    let (sink, kept) = keeper(0, 5);
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::RunTo(20_000));
    let failed = wait(&engine, |e| matches!(e, Event::RecordingFailed(..) | Event::Running(false, _)));
    assert!(matches!(failed, Event::RecordingFailed(e, _) if e.to_string().contains("full")));
    assert_eq!(wait_paused(&engine).step, 20_000);
    let kept = kept.lock().unwrap();
    assert_eq!(kept.spikes, expected(0, 50, 3));
    assert!(kept.finished.is_some(), "a failed sink is still closed");
}

#[test]
fn frames_that_are_not_taken_are_merged() {
    let engine = engine(fake::boxed());
    engine.send(Command::Subscribe(vec![SPIKES, Tap::elements(1, vec![2, 4]), Tap::of(2)]));
    engine.send(Command::Batch(Some(13)));
    engine.send(Command::RunTo(2600));
    wait_paused(&engine);
    let frame = engine.take_frame().unwrap();
    assert_eq!(frame.clock.step, 2600);
    assert_eq!(frame.reading(0), Some(&Reading::Spikes(expected(0, 2600, 3))));
    let Some(Reading::Series(series)) = frame.reading(1) else { panic!("no series") };
    assert_eq!((series.steps.len(), series.values.len(), series.lanes), (2600, 5200, 2));
    assert_eq!(frame.reading(2), Some(&Reading::field(vec![2600.0; LEN as usize])), "states are replaced");
    assert!(engine.take_frame().is_none());
}

/// Bounds only: how long a step takes depends on the machine.
#[test]
fn the_run_time_leaves_pauses_out() {
    let engine = engine(fake::boxed());
    engine.send(Command::Subscribe(vec![SPIKES]));
    engine.send(Command::Batch(Some(10)));
    let run = |to: u64| {
        engine.send(Command::RunTo(to));
        wait_paused(&engine);
        engine.take_frame().expect("a frame").ran_secs
    };
    let (began, first) = (Instant::now(), run(1_000));
    let pause = Duration::from_millis(400);
    std::thread::sleep(pause);
    let (second, most) = (run(1_010), (began.elapsed() - pause).as_secs_f64());
    assert!(0.0 < first && first < second && second <= most, "{first} s, then {second} s");
    let rewound = Instant::now();
    engine.send(Command::Rewind);
    let again = run(10);
    assert!(again > 0.0 && again <= rewound.elapsed().as_secs_f64(), "{again} s");
}

#[test]
fn changes_are_logged_with_their_step() {
    let engine = engine(fake::boxed());
    let (sink, kept) = keeper(0, usize::MAX);
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::RunTo(100));
    wait_paused(&engine);
    engine.send(Command::Set(fake::change(7)));
    engine.send(Command::RunTo(250));
    wait_paused(&engine);
    let action = Action::on("more", vec![1], vec![]);
    engine.send(Command::Act(action.clone()));
    engine.send(Command::Set(fake::change(-1))); // refused
    engine.send(Command::Set(fake::change(0))); // needs a rebuild
    engine.send(Command::RunTo(300));
    wait(&engine, |e| matches!(e, Event::Applied(250, LoggedCommand::Act(_))));
    wait(&engine, |e| matches!(e, Event::Rejected { .. }));
    wait(&engine, |e| matches!(e, Event::NeedsRebuild(_)));
    wait_paused(&engine);
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(..)));
    let kept = kept.lock().unwrap();
    assert_eq!(kept.log, [(100, LoggedCommand::Set(fake::change(7))), (250, LoggedCommand::Act(action))]);
    let want = [expected(0, 100, 3), expected(100, 250, 7), expected(250, 300, 8)].concat();
    assert_eq!(kept.spikes, want);
}

#[test]
fn disk_and_screen_get_their_own_elements() {
    let engine = engine(fake::boxed());
    let (sink, kept) = keeper(0, usize::MAX);
    engine.send(Command::Batch(Some(5)));
    engine.send(Command::Record(vec![Tap::elements(1, vec![9, 3])], sink));
    engine.send(Command::Subscribe(vec![Tap::elements(1, vec![1, 3])]));
    engine.send(Command::RunTo(10));
    wait_paused(&engine);
    engine.send(Command::StopRecording);
    wait(&engine, |e| matches!(e, Event::Recorded(..)));
    let kept = kept.lock().unwrap();
    let rows: Vec<f32> = kept.rows.iter().flat_map(|(_, v)| v.clone()).collect();
    assert!(kept.rows.iter().all(|(e, _)| *e == [9, 3]), "{:?}", kept.rows);
    assert_eq!(rows[..4], [9000.0, 3000.0, 9001.0, 3001.0]);
    let Some(Reading::Series(seen)) = engine.take_frame().unwrap().reading(1).cloned() else { panic!("no series") };
    assert_eq!((seen.elements, seen.lanes), (vec![1, 3], 2));
}

#[test]
fn quitting_closes_the_recording() {
    for slow in [0, 3] {
        let engine = engine(fake::boxed());
        let (sink, kept) = keeper(slow, usize::MAX);
        engine.send(Command::Batch(Some(20)));
        engine.send(Command::Record(vec![SPIKES], sink));
        engine.send(Command::Play);
        std::thread::sleep(Duration::from_millis(50));
        drop(engine);
        let kept = kept.lock().unwrap();
        let end = kept.finished.clone().expect("finished");
        assert_eq!(kept.spikes, expected(0, end.clock.step, 3));
    }
}

/// A checkpoint of the fake simulation.
fn at_step(step: u64) -> Checkpoint {
    let mut sim = fake::boxed();
    if step > 0 {
        sim.advance(step as u32, &mut neuropil::gpu::Pass::default()).expect("it runs");
    }
    let snapshot = Arc::new(sim.save().expect("it saves"));
    Checkpoint { snapshot, clock: sim.clock(), ..Checkpoint::default() }
}

#[test]
fn jumps_end_the_recording_where_it_was() {
    for command in [Command::Rewind, Command::Restore(at_step(7)), Command::Load(fake::boxed())] {
        let engine = engine(fake::boxed());
        let (sink, kept) = keeper(0, usize::MAX);
        engine.send(Command::Record(vec![SPIKES], sink));
        engine.send(Command::RunTo(100));
        wait_paused(&engine);
        engine.send(command);
        wait(&engine, |e| matches!(e, Event::Recorded(end) if end.clock.step == 100 && end.digest.totals[0].1 == 500));
        assert_eq!(kept.lock().unwrap().spikes.len(), 500);
    }
    let engine = engine(fake::boxed());
    let (sink, kept) = keeper(0, usize::MAX);
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::Restore(Checkpoint::default()));
    wait(&engine, |e| matches!(e, Event::Rejected { .. }));
    assert!(kept.lock().unwrap().finished.is_none(), "a refused state ends nothing");
}

#[test]
fn a_speed_limit_holds_even_below_one_step_per_batch() {
    let engine = engine(fake::boxed());
    engine.send(Command::Speed(Some(0.01))); // 10 steps per second of 1 ms
    let began = Instant::now();
    engine.send(Command::RunTo(5));
    wait_paused(&engine);
    let took = began.elapsed().as_secs_f64();
    assert!(took >= 0.3, "the limit is kept: {took} s");
}

#[test]
fn a_flood_of_commands_does_not_lock_up() {
    let engine = engine(fake::boxed());
    engine.send(Command::Play);
    for i in 0..2000 {
        engine.send(Command::Set(fake::change(1 + i % 9)));
    }
    engine.send(Command::Pause);
    wait_paused(&engine);
}

#[test]
fn failures_are_told_and_leave_the_engine_usable() {
    let mut sim = fake::new();
    sim.diverges_at = 77;
    let engine = engine(Box::new(sim));
    let (sink, kept) = keeper(0, usize::MAX);
    engine.send(Command::Batch(Some(10)));
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::Play);
    wait(&engine, |e| matches!(e, Event::Failed(_)));
    assert!(kept.lock().unwrap().finished.is_some());
    engine.send(Command::Load(fake::boxed()));
    engine.send(Command::RunTo(10));
    wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 10));
}

/// What is heard up to the end of a run that loses its device at step 70, in the middle of its fifth batch.
fn lose(touch: Option<Command>) -> (Engine, Arc<Mutex<Kept>>, Vec<Event>) {
    let mut sim = fake::new();
    sim.loses_device_at = 70;
    let engine = engine(Box::new(sim));
    let (sink, kept) = keeper(0, usize::MAX);
    engine.send(Command::Batch(Some(16)));
    engine.send(Command::Subscribe(vec![SPIKES]));
    engine.send(Command::Record(vec![SPIKES], sink));
    engine.send(Command::Play);
    let mut heard = vec![];
    while !matches!(heard.last(), Some(Event::Running(false, _))) {
        heard.push(engine.events.recv_timeout(PATIENCE).expect("the end of the run"));
    }
    if let Some(command) = touch {
        engine.send(command);
    }
    (engine, kept, heard)
}

#[test]
fn a_lost_device_is_told_once_after_the_recording_is_closed() {
    let (engine, kept, heard) = lose(None);
    let told: Vec<&str> = heard
        .iter()
        .filter_map(|e| match e {
            Event::Recorded(end) if end.clock.step == 64 && end.digest.totals[0].1 == 320 => Some("recorded"),
            Event::Failed(error) if error.is_device() => Some("failed"),
            Event::Running(false, clock) if clock.step == 64 => Some("stopped"),
            Event::Rejected { .. } | Event::RecordingFailed(..) => Some("noise"),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["recorded", "failed", "stopped"]);
    assert_eq!(kept.lock().unwrap().spikes, expected(0, 64, 3), "all that came out whole is on disk");
    assert!(kept.lock().unwrap().finished.is_some());
    assert_eq!(engine.take_frame().unwrap().reading(0), Some(&Reading::Spikes(expected(0, 64, 3))), "and on screen");
}

#[test]
fn after_a_lost_device_nothing_touches_it_and_another_takes_over() {
    for touch in [Command::Play, Command::Subscribe(vec![SPIKES]), Command::Rewind, Command::Save, Command::Step(5)] {
        let (engine, _, _) = lose(Some(touch));
        engine.send(Command::Load(fake::boxed()));
        let mut failed_again = false;
        loop {
            match engine.events.recv_timeout(PATIENCE).expect("the load") {
                Event::Failed(_) | Event::Rejected { .. } => failed_again = true,
                Event::Loaded(_) => break,
                _ => {}
            }
        }
        assert!(!failed_again);
        engine.send(Command::RunTo(10));
        wait(&engine, |e| matches!(e, Event::Running(false, clock) if clock.step == 10));
    }
}

#[test]
fn a_device_that_fails_while_paused_is_a_failure_too() {
    let mut sim = fake::new();
    sim.loses_device_at = 0;
    let _ = sim.advance(1, &mut Default::default());
    let engine = engine(Box::new(sim));
    engine.send(Command::Subscribe(vec![SPIKES]));
    wait(&engine, |e| matches!(e, Event::Failed(error) if error.is_device()));
}

#[test]
fn recording_nothing_is_an_answer() {
    let engine = Engine::spawn(|| {}).unwrap(); // without a simulation
    engine.send(Command::Record(vec![SPIKES], keeper(0, 0).0));
    wait(&engine, |e| matches!(e, Event::RecordingFailed(..)));
}
