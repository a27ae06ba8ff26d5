//! A state that became NaN ends the run with a sentence, and its recording at the last whole batch.

use neuropil::{
    engine::{Checkpoint, Command, Engine, Event},
    kinds::Model,
    project::{Project, RunFolder, RunStart, RunWriter, Status},
    sim::{Device, Progress, SimError, snapshot::Section},
};
use neuropil_test_support::temp::TempFolder;
use std::{path::Path, sync::Arc, time::Duration};

#[test]
fn a_run_whose_weights_became_nan_ends_at_the_step() {
    let project = Project { model: Model::by_name("demo").expect("the feature"), ..Project::default() };
    let here = Path::new(".");
    let mut sim =
        project.model.build(&project.build_context(here), &Device::Cpu { threads: 1 }, &Progress::default()).unwrap();
    sim.advance(100, &mut Default::default()).unwrap();
    let mut state = sim.save().unwrap();
    let weights = state.sections.iter_mut().find(|s| s.name == "weights").expect("weights");
    let nan = 0x7fc0_u16.to_le_bytes().repeat(weights.bytes().len() / 2);
    *weights = Section::from_bytes(weights.name.clone(), weights.element, weights.shape.clone(), nan).unwrap();
    let checkpoint = Checkpoint { snapshot: Arc::new(state), clock: sim.clock(), ..Checkpoint::default() };

    let temp = TempFolder::new("diverged");
    let folder = temp.join("run");
    let (taps, _) = project.taps();
    let (device, command) = ("CPU".to_owned(), String::new());
    let start = RunStart {
        project: &project,
        base: here,
        taps: taps.clone(),
        sets: sim.sets(),
        device,
        threads: 1,
        command,
        trial: None,
        trials: 0,
    };
    let writer = RunWriter::create(&folder, start).unwrap();
    let engine = Engine::spawn(|| {}).unwrap();
    engine.send(Command::Load(sim));
    engine.send(Command::Restore(checkpoint));
    engine.send(Command::Record(taps, Box::new(writer)));
    engine.send(Command::Play);
    let error = loop {
        if let Event::Failed(error) = engine.events.recv_timeout(Duration::from_secs(60)).expect("an event") {
            break error;
        }
    };
    assert!(matches!(error, SimError::Diverged(_)));
    let said = error.to_string();
    assert!(said.contains("became NaN or infinite at step 100") && said.contains("experts.learning_rate"), "{said}");
    let run = RunFolder::open(&folder).unwrap();
    assert!(matches!(&run.manifest.status, Status::Failed(why) if *why == said), "{:?}", run.manifest.status);
    assert_eq!(run.manifest.last_step, 100);
}
