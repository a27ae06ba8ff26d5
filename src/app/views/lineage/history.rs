//! Updates of the lines outside of the UI thread. Events wait in a queue; jobs on the pool apply them and make versions.

use super::{
    attributes,
    forest::{DROPPED, Forest},
};
use crate::{
    app::kit::pool::{self, PoolJob},
    sim::{LifeEvent, ProbeId},
};
use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Minimum time between two versions during a run, seconds. Each copies the blocks of lines that have changed.
const VERSION_SECS: f64 = 0.1;
/// Maximum number of waiting events. A thread that exceeds it applies them itself, so that memory is bounded and no event is
/// lost.
const MAX_WAITING: usize = 1 << 19;

/// Property that colours the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineColor {
    #[default]
    Founder,
    /// The last value of a field.
    Field(ProbeId),
    /// An attribute of births and deaths, by name.
    Attribute(&'static str),
}

impl LineColor {
    pub const fn field(self) -> Option<ProbeId> {
        if let Self::Field(field) = self { Some(field) } else { None }
    }
}

/// Lines of one generation, with the values that colour them.
#[derive(Default)]
pub struct ForestVersion {
    /// Number of updates that the version contains.
    pub generation: u64,
    /// Number of times that lines were dropped. The line indices of two versions with the same number are consistent.
    pub n_drops: u64,
    /// The lines and their totals.
    pub forest: Forest,
    /// The property that the values belong to.
    pub color: LineColor,
    /// Value of each line: the last value of the field, or the attribute; NaN for lines without one. It may be shorter than the
    /// lines.
    pub values: Arc<Vec<f32>>,
    /// Distinct texts of the attribute, in order of appearance; empty for numbers.
    pub texts: Arc<Vec<String>>,
}

/// Change of the lines or of their colours.
enum Update {
    Events(Arc<Vec<LifeEvent>>),
    /// The latest values of a field, by slot.
    Field(ProbeId, Arc<Vec<f32>>),
    Color(LineColor),
}

#[derive(Default)]
struct Queue {
    updates: Vec<Update>,
    n_events: usize,
    /// Whether a job was started that has not yet taken the updates.
    has_job: bool,
}

/// State of the lines that updates change.
#[derive(Default)]
struct Keeper {
    now: ForestVersion,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Only jobs lock it, except if too many events wait.
    keeper: Mutex<Keeper>,
}

/// Lines of a view: the latest version, and the queue of updates to newer ones.
#[derive(Default)]
pub struct History {
    shared: Arc<Shared>,
    /// Context of the window, after the view was first drawn. Finished jobs wake it.
    window: Option<egui::Context>,
    generation: u64,
    making: PoolJob<u64, ForestVersion>,
    /// Time at which the last version was requested, seconds.
    requested: f64,
    /// The latest finished version.
    pub version: Arc<ForestVersion>,
}

impl History {
    /// Adds births and deaths.
    pub fn add(&mut self, events: &Arc<Vec<LifeEvent>>) {
        self.push(Update::Events(events.clone()), events.len());
    }

    /// Adds values of the field that colours the lines.
    pub fn add_field(&mut self, field: ProbeId, values: &Arc<Vec<f32>>) {
        self.push(Update::Field(field, values.clone()), 0);
    }

    /// Changes the property that colours the lines.
    pub fn color_by(&mut self, color: LineColor) {
        self.push(Update::Color(color), 0);
    }

    /// Takes a finished version, and requests the next one if updates are missing.
    pub fn update(&mut self, ctx: &egui::Context, is_running: bool) {
        self.window.get_or_insert_with(|| ctx.clone());
        if let Some((_, made)) = self.making.poll() {
            pool::discard(mem::replace(&mut self.version, Arc::new(made)));
        }
        let time = ctx.input(|i| i.time);
        let is_due = !is_running || time - self.requested >= VERSION_SECS || self.version.generation == 0;
        if self.is_behind() && is_due && self.making.is_free(&self.generation) {
            self.requested = time;
            let shared = self.shared.clone();
            self.making.start(ctx, self.generation, move || shared.apply_waiting().version());
        }
    }

    /// Whether the latest version lacks updates.
    pub fn is_behind(&self) -> bool {
        self.version.generation != self.generation
    }

    fn push(&mut self, update: Update, n_events: usize) {
        self.generation += 1;
        let mut queue = lock(&self.shared.queue);
        queue.updates.push(update);
        queue.n_events += n_events;
        let is_full = queue.n_events > MAX_WAITING;
        let needs_job = !mem::replace(&mut queue.has_job, true);
        drop(queue);
        if is_full {
            drop(self.shared.apply_waiting());
        } else if needs_job {
            let shared = self.shared.clone();
            pool::spawn_for(self.window.as_ref(), move || drop(shared.apply_waiting()));
        }
    }
}

impl Shared {
    /// Applies the waiting updates. Another job that starts meanwhile waits for the keeper.
    fn apply_waiting(&self) -> MutexGuard<'_, Keeper> {
        let mut keeper = lock(&self.keeper);
        let waiting = mem::take(&mut *lock(&self.queue));
        keeper.now.generation += waiting.updates.len() as u64;
        waiting.updates.into_iter().for_each(|update| keeper.apply(update));
        keeper
    }
}

impl Keeper {
    fn apply(&mut self, update: Update) {
        let now = &mut self.now;
        match update {
            Update::Events(events) => {
                now.forest.absorb(&events);
                if let Some(most) = now.forest.excess() {
                    let new_index = now.forest.drop_lines(most);
                    retain_lines(Arc::make_mut(&mut now.values), &new_index);
                    now.n_drops += 1;
                }
            }
            Update::Field(field, values) if now.color == LineColor::Field(field) => {
                let of_lines = Arc::make_mut(&mut now.values);
                of_lines.resize(now.forest.lines.len(), f32::NAN);
                for (slot, line) in now.forest.living() {
                    if let Some(value) = values.get(slot as usize).filter(|v| v.is_finite()) {
                        of_lines[line as usize] = *value;
                    }
                }
            }
            Update::Field(..) => {}
            Update::Color(color) => {
                now.color = color;
                (now.values, now.texts) = (Arc::default(), Arc::default());
            }
        }
    }

    fn version(&mut self) -> ForestVersion {
        let now = &mut self.now;
        if let LineColor::Attribute(name) = now.color {
            attributes::values(name, &now.forest, Arc::make_mut(&mut now.values), Arc::make_mut(&mut now.texts));
        }
        let (values, texts) = (now.values.clone(), now.texts.clone());
        ForestVersion { forest: now.forest.snapshot(), values, texts, ..*now }
    }
}

/// Removes the values of dropped lines. There may be fewer values than lines.
fn retain_lines(values: &mut Vec<f32>, new_index: &[u32]) {
    let mut index = new_index.iter();
    values.retain(|_| index.next().is_some_and(|new| *new != DROPPED));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{
        super::forest::tests::{birth, death},
        *,
    };
    use crate::sim::{Birth, EndCause};
    use std::{
        sync::mpsc,
        time::{Duration, Instant},
    };

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Returns the births of one frame, and deaths of half of the individuals.
    fn events(frame: u64, n: u64) -> Arc<Vec<LifeEvent>> {
        let parents: Vec<u64> = if frame == 0 { vec![] } else { vec![(frame - 1) * n] };
        let born = (frame * n..(frame + 1) * n).map(|id| birth(frame, id, &parents, (id % n) as u32));
        Arc::new(born.chain((0..n / 2).map(|i| death(frame, frame * n + 2 * i + 1, EndCause::Died))).collect())
    }

    /// Updates until the version contains all updates.
    fn catch_up(history: &mut History, ctx: &egui::Context) {
        let since = Instant::now();
        while history.is_behind() {
            history.update(ctx, false);
            assert!(since.elapsed() < PATIENCE, "no version");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_window_does_not_wait_until_events_are_applied() {
        let (ctx, shared, (sender, receiver)) =
            (egui::Context::default(), Arc::new(Shared::default()), mpsc::channel());
        let busy = lock(&shared.keeper); // A job holds the lock for a long time.
        let mut history = History { shared: shared.clone(), ..History::default() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for frame in 0..20 {
                    history.add(&events(frame, 100));
                    history.update(&ctx, frame % 2 == 0);
                }
                sender.send(()).ok();
            });
            let is_done = receiver.recv_timeout(PATIENCE).is_ok();
            drop(busy);
            assert!(is_done, "it waits for the job");
        });
        assert_eq!(history.version.generation, 0, "the last version is drawn meanwhile");
        catch_up(&mut history, &ctx);
        let mut at_once = Forest::default();
        (0..20).for_each(|frame| at_once.absorb(&events(frame, 100)));
        let made = &history.version.forest;
        assert!(made.lines.iter().eq(at_once.lines.iter()) && made.lines.len() == 2000);
        assert_eq!((made.totals, made.n_alive, made.since), (at_once.totals, at_once.n_alive, at_once.since));
    }

    #[test]
    fn events_beyond_the_limit_are_applied_by_the_thread_that_adds_them() {
        let (mut history, same) = (History::default(), events(0, 1000));
        lock(&history.shared.queue).has_job = true; // A job was started, but does not run.
        let n_waiting = |history: &History| lock(&history.shared.queue).n_events;
        while n_waiting(&history) + same.len() <= MAX_WAITING {
            history.add(&same);
        }
        assert_eq!(lock(&history.shared.keeper).now.generation, 0);
        history.add(&same);
        assert_eq!((n_waiting(&history), lock(&history.shared.keeper).now.generation), (0, history.generation));
    }

    #[test]
    fn a_version_is_made_again_after_a_panic() {
        let (ctx, mut history) = (egui::Context::default(), History::default());
        let shared = history.shared.clone();
        let panics = move || {
            let _held = lock(&shared.keeper);
            panic!("on purpose");
        };
        std::thread::Builder::new().name("panics".into()).spawn(panics).unwrap().join().unwrap_err();
        history.add(&events(0, 10));
        catch_up(&mut history, &ctx);
        assert_eq!(history.version.forest.lines.len(), 10);
    }

    /// Names are so long that lines are dropped after some frames.
    #[test]
    fn values_of_a_field_follow_dropped_lines() {
        let (mut keeper, n) = (Keeper::default(), 1000);
        keeper.apply(Update::Color(LineColor::Field(3)));
        for step in 0..60_u64 {
            let named = |child: u64| {
                let (slot, name) = (Some((child % n) as u32), "n".repeat(1000));
                LifeEvent::Birth(Birth { step, child, slot, name, ..Birth::default() })
            };
            keeper.apply(Update::Events(Arc::new((step * n..(step + 1) * n).map(named).collect())));
            // The value of a slot is the id of its individual.
            let values = (0..n).map(|slot| (step * n + slot) as f32).collect();
            keeper.apply(Update::Field(3, Arc::new(values)));
            keeper.apply(Update::Field(4, Arc::new(vec![0.0; n as usize])));
        }
        let version = keeper.version();
        assert!(version.n_drops > 0 && version.forest.totals.dropped > 0);
        assert!(version.forest.lines.iter().map(|line| line.id as f32).eq(version.values.iter().copied()));
        keeper.apply(Update::Color(LineColor::Founder));
        assert!(keeper.version().values.is_empty());
    }
}
