//! Event log: one line of text per event. Events are stored as they are and formatted when the log is read, because a view reads
//! only the newest lines of a large population, which has thousands of events per generation.

use super::events::Events;
use std::fmt::Write as _;

/// Log of the events since the last reading.
#[derive(Default)]
pub struct EventLog {
    pending: Vec<(u64, Events)>,
    /// Number of lines in `pending`.
    n_lines: usize,
}

/// Event described by one line.
enum Line<'a> {
    /// Slots of a fusion, host first.
    Fusion(&'a [u32]),
    Decay(u32),
    Death(u32),
    /// Number of offspring without a free slot.
    Overflow(u32),
}

impl EventLog {
    /// Adds the events of generation `step`.
    pub fn push(&mut self, step: u64, events: &Events) {
        let n_lines = lines(events).count();
        if n_lines > 0 {
            self.n_lines += n_lines;
            self.pending.push((step, events.clone()));
        }
    }

    /// Takes all lines, in order. With a limit in bytes, takes the newest lines that fit, after a line with the number of those
    /// omitted.
    pub fn take(&mut self, limit: Option<usize>) -> String {
        let (pending, n_lines) = (std::mem::take(&mut self.pending), std::mem::take(&mut self.n_lines));
        let limit = limit.unwrap_or(usize::MAX);
        // Lines are formatted newest first, then joined in reverse order.
        let (mut written, mut n_bytes, mut n_written) = (vec![], 0, 0);
        for (step, events) in pending.iter().rev() {
            let mut births = &events.born[..];
            for line in lines(events).rev() {
                let text = line.text(*step, &mut births);
                if n_bytes + text.len() > limit {
                    written.push(format!("… {} earlier events are not shown\n", n_lines - n_written));
                    written.reverse();
                    return written.concat();
                }
                n_bytes += text.len();
                n_written += 1;
                written.push(text);
            }
        }
        written.reverse();
        written.concat()
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn n_bytes(&self) -> usize {
        let slots = |e: &Events| e.fused.len() + e.decayed.len() + 2 * e.born.len() + e.died.len() + e.errors.len();
        self.pending.iter().map(|(_, events)| size_of::<(u64, Events)>() + 4 * slots(events)).sum()
    }
}

/// Returns the lines of one generation, in order.
fn lines(events: &Events) -> impl DoubleEndedIterator<Item = Line<'_>> {
    let fusion = Some(&events.fused[..]).filter(|fused| !fused.is_empty()).map(Line::Fusion);
    let overflow = Some(events.missing).filter(|missing| *missing > 0).map(Line::Overflow);
    let decays = events.decayed.iter().map(|slot| Line::Decay(*slot));
    let deaths = events.died.iter().map(|slot| Line::Death(*slot));
    fusion.into_iter().chain(decays).chain(deaths).chain(overflow)
}

/// Takes the births of the last decay, which are at the end of `births`.
fn take_offspring<'a>(births: &mut &'a [(u32, u32)], parent: u32) -> &'a [(u32, u32)] {
    let n = births.iter().rev().take_while(|(_, other)| *other == parent).count();
    let (others, offspring) = births.split_at(births.len() - n);
    *births = others;
    offspring
}

impl Line<'_> {
    /// Formats the line. The lines of a generation are formatted from last to first, each taking its offspring from `births`.
    fn text(&self, step: u64, births: &mut &[(u32, u32)]) -> String {
        let mut text = String::with_capacity(48);
        // Writing to a `String` cannot fail.
        let _ = match self {
            Self::Fusion([host, absorbed @ ..]) => {
                let _ = write!(text, "{step} fuse {host}");
                for slot in absorbed {
                    let _ = write!(text, " + {slot}");
                }
                writeln!(text, " -> {host}")
            }
            Self::Fusion([]) => Ok(()),
            Self::Decay(parent) => {
                let _ = write!(text, "{step} decay {parent} ->");
                for (child, _) in take_offspring(births, *parent) {
                    let _ = write!(text, " {child}");
                }
                writeln!(text)
            }
            Self::Death(slot) => writeln!(text, "{step} death {slot}"),
            Self::Overflow(missing) => writeln!(text, "{step} overflow: no place for {missing}"),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> EventLog {
        let mut log = EventLog::default();
        let born = vec![(3, 9), (9, 9), (2, 3), (7, 3)];
        log.push(7, &Events { fused: vec![0, 4], decayed: vec![9, 3], born, died: vec![1, 6], ..Events::default() });
        log.push(8, &Events::default());
        log.push(9, &Events { decayed: vec![2], born: vec![(2, 2)], missing: 3, ..Events::default() });
        log
    }

    #[test]
    fn every_event_is_a_line() {
        let mut all = log();
        let want = "7 fuse 0 + 4 -> 0\n7 decay 9 -> 3 9\n7 decay 3 -> 2 7\n7 death 1\n7 death 6\n9 decay 2 -> 2\n\
                    9 overflow: no place for 3\n";
        assert_eq!(all.take(None), want);
        assert_eq!((all.take(None), all.n_bytes()), (String::new(), 0), "taken");
        assert_eq!(log().take(Some(want.len())), want, "all fit");
    }

    #[test]
    fn a_screen_reads_the_newest_lines() {
        let newest = "9 decay 2 -> 2\n9 overflow: no place for 3\n";
        assert_eq!(log().take(Some(newest.len() + 9)), format!("… 5 earlier events are not shown\n{newest}"));
        assert_eq!(log().take(Some(0)), "… 7 earlier events are not shown\n");
    }
}
