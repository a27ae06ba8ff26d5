//! Definition of the kind: a step, splits and merges.

use super::{
    params::{Params, SplitRule},
    source::{self, N_SYMBOLS, Source},
};
use crate::{
    num::{
        exact,
        halves::bf16_bits,
        hash::StreamHash,
        rng::{Draw, Purpose},
    },
    params::Distribution,
    sim::{AttributeValue, Birth, Death, EndCause, LifeEvent, SimError},
};
use std::collections::VecDeque;

/// Number of weights per row of a table: a logit per symbol, padded.
pub const ROW: usize = 32;
/// Number of weights per table: a row per symbol, padded.
pub const TABLE: usize = 1024;
/// Approximate number of tokens in the running mean of an expert's load.
const LOAD_TOKENS: f32 = 256.0;

/// A predictor of the next symbol for the symbols that it owns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expert {
    /// Id of the expert; never reused.
    pub id: u64,
    /// Index of the expert's table in the weights.
    pub slot: u32,
    /// Step at which the expert was created.
    pub born: u64,
    /// Fraction of the recent tokens that it predicted.
    pub load: f32,
}

/// A prediction and its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Id of the expert that predicted.
    pub expert: u64,
    /// Symbol that followed.
    pub symbol: u8,
    /// Loss: negative logarithm of its predicted probability, nats.
    pub loss: f32,
    /// The three most probable symbols with their probabilities.
    pub best: [(u8, f32); 3],
}

/// Number of predictions kept for the stream of tokens.
pub const N_RECENT: usize = 128;

/// State of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Number of tokens read.
    pub step: u64,
    /// Last symbol that was read.
    pub symbol: u8,
    /// Experts, in the order of their elements.
    pub experts: Vec<Expert>,
    /// Index of the expert that owns a symbol.
    pub owner: [u16; N_SYMBOLS],
    /// Id of the next expert.
    pub next_id: u64,
    /// Tables as bits of bfloat16: those of all slots on the CPU; on a GPU a copy of those that experts can have.
    pub weights: Vec<u16>,
    /// Running mean of the loss, nats.
    pub loss: f32,
    /// Most recent predictions, oldest first.
    pub recent: VecDeque<Prediction>,
    /// Hash of all predictions.
    pub hash: StreamHash,
}

/// The three most probable symbols.
fn best(p: &[f32; N_SYMBOLS]) -> [(u8, f32); 3] {
    let mut best = [(0, -1.0); 3];
    for (symbol, p) in (0..).zip(p) {
        let place = best.iter().position(|(_, known)| known < p).unwrap_or(best.len());
        if place < best.len() {
            best[place..].rotate_right(1);
            best[place] = (symbol, *p);
        }
    }
    best
}

fn widen(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to bfloat16 stochastically: up with a probability equal to the truncated fraction, so that small steps are not lost.
fn round_randomly(x: f32, word: u16) -> u16 {
    (x.to_bits().wrapping_add(u32::from(word)) >> 16) as u16
}

/// Draws the weights of tables; padding stays 0.
fn draw_weights(tables: &mut [u16], distribution: Distribution, seed: u64) {
    if distribution.as_constant() == Some(0.0) {
        return;
    }
    let is_weight = |i: &usize| i % TABLE < N_SYMBOLS * ROW && i % ROW < N_SYMBOLS;
    for i in (0..tables.len()).filter(is_weight) {
        let draw = Draw { seed, purpose: Purpose::Start, step: 0, lane: i as u32 };
        tables[i] = bf16_bits(distribution.draw(draw) as f32);
    }
}

impl State {
    /// Creates the state at step 0, with `n_weights` weights.
    pub fn new(params: &Params, seed: u64, n_weights: usize) -> Self {
        let n = params.experts.n_start.clamp(1, N_SYMBOLS as u32);
        let expert = |i: u32| Expert { id: i.into(), slot: i, born: 0, load: 1.0 / n as f32 };
        let mut weights = vec![0; n_weights];
        draw_weights(&mut weights[..n as usize * TABLE], params.initial_weight(), seed);
        Self {
            step: 0,
            symbol: 0,
            experts: (0..n).map(expert).collect(),
            owner: std::array::from_fn(|symbol| (symbol % n as usize) as u16),
            next_id: n.into(),
            weights,
            loss: (N_SYMBOLS as f32).ln(),
            recent: VecDeque::new(),
            hash: StreamHash::default(),
        }
    }

    fn row(&self, expert: usize, symbol: u8) -> std::ops::Range<usize> {
        let start = self.experts[expert].slot as usize * TABLE + usize::from(symbol) * ROW;
        start..start + N_SYMBOLS
    }

    /// Weights of an expert.
    pub fn table(&self, expert: usize) -> impl Iterator<Item = f32> + '_ {
        (0..N_SYMBOLS as u8).flat_map(move |symbol| self.weights[self.row(expert, symbol)].iter().map(|w| widen(*w)))
    }

    /// Probabilities of the next symbol after `symbol`: softmax of its row.
    pub fn predict(&self, expert: usize, symbol: u8) -> [f32; N_SYMBOLS] {
        let mut p = [0.0; N_SYMBOLS];
        for (p, w) in p.iter_mut().zip(&self.weights[self.row(expert, symbol)]) {
            *p = exact::exp(widen(*w));
        }
        let sum: f32 = p.iter().sum();
        p.map(|p| p / sum)
    }

    /// Reads one token: predicts, learns and counts. Returns the index of the expert. On `Err` the state is unchanged.
    pub fn step(&mut self, source: &Source, seed: u64, learning_rate: f32) -> Result<usize, SimError> {
        let draw = Draw { seed, purpose: Purpose::Stimulus, step: self.step, lane: 0 };
        let (from, symbol) = (self.symbol, source.next(self.step, self.symbol, draw.words()[0]));
        let expert = usize::from(self.owner[usize::from(from)]);
        let p = self.predict(expert, from);
        if !(p.iter().sum::<f32>() + self.loss + self.experts[expert].load).is_finite() {
            return Err(self.non_finite());
        }
        let loss = -exact::ln(p[usize::from(symbol)].max(f32::MIN_POSITIVE));
        self.learn(expert, from, symbol, &p, learning_rate, seed);
        Ok(self.count(Prediction { expert: 0, symbol, loss, best: best(&p) }))
    }

    /// Error: the expert of the next token predicts NaN.
    pub fn non_finite(&self) -> SimError {
        let expert = self.experts[usize::from(self.owner[usize::from(self.symbol)])];
        let what = format!("the weights of {}", name(expert.id));
        SimError::non_finite(&what, self.step, "lower experts.learning_rate")
    }

    /// Counts the next token, which the owner of the last symbol predicted. Returns the index of the expert.
    pub fn count(&mut self, outcome: Prediction) -> usize {
        let expert = usize::from(self.owner[usize::from(self.symbol)]);
        for (i, other) in self.experts.iter_mut().enumerate() {
            other.load += (f32::from(u8::from(i == expert)) - other.load) / LOAD_TOKENS;
        }
        self.loss += (outcome.loss - self.loss) / LOAD_TOKENS;
        self.hash.push_spike(self.step as u32, self.experts[expert].id as u32);
        self.hash.push(outcome.loss.to_bits());
        if self.recent.len() == N_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Prediction { expert: self.experts[expert].id, ..outcome });
        self.symbol = outcome.symbol;
        self.step += 1;
        expert
    }

    fn learn(&mut self, expert: usize, from: u8, symbol: u8, p: &[f32; N_SYMBOLS], rate: f32, seed: u64) {
        let row = self.row(expert, from);
        let words = |block: usize| Draw { seed, purpose: Purpose::Noise, step: self.step, lane: block as u32 }.words();
        let words: [[u32; 4]; N_SYMBOLS.div_ceil(8)] = std::array::from_fn(words);
        for (j, w) in self.weights[row].iter_mut().enumerate() {
            let gradient = p[j] - f32::from(u8::from(j == usize::from(symbol)));
            let word = words[j / 8][j % 8 / 2] >> (16 * (j % 2));
            // The limits keep logits in the range where exp is finite.
            *w = round_randomly((widen(*w) - rate * gradient).clamp(-60.0, 60.0), word as u16);
        }
    }

    /// Index of the expert that splits: selected by the rule among those that own at least two symbols.
    fn parent(&self, rule: &SplitRule) -> Option<usize> {
        let owned = |i: usize| self.owner.iter().filter(|o| usize::from(**o) == i).count();
        let expert = |i: &usize| &self.experts[*i];
        let can_split = (0..self.experts.len()).filter(|i| owned(*i) > 1);
        match rule {
            SplitRule::Load(rule) => can_split
                .filter(|i| f64::from(expert(i).load) >= rule.minimum)
                .max_by(|a, b| expert(a).load.total_cmp(&expert(b).load)),
            SplitRule::Age(rule) => can_split
                .filter(|i| self.step - expert(i).born >= rule.minimum.into())
                .filter(|i| rule.idle || self.recent.iter().any(|seen| seen.expert == expert(i).id))
                .min_by_key(|i| expert(i).born),
        }
    }

    /// Splits an expert: two new experts share its symbols. Returns the death and the births.
    pub fn split(&mut self, rule: &SplitRule) -> Vec<LifeEvent> {
        let Some(parent) = self.parent(rule) else { return vec![] };
        let old = self.experts[parent];
        let slot = self.free_slot();
        let (from, to) = (old.slot as usize * TABLE, slot as usize * TABLE);
        self.weights.copy_within(from..from + TABLE, to);
        let half = Expert { load: old.load / 2.0, born: self.step, ..old };
        let ids = [self.next_id, self.next_id + 1];
        self.next_id += 2;
        self.experts[parent] = Expert { id: ids[0], ..half };
        self.experts.push(Expert { id: ids[1], slot, ..half });
        let child = self.experts.len() as u16 - 1;
        let symbols = self.owner.iter_mut().filter(|o| usize::from(**o) == parent);
        symbols.skip(1).step_by(2).for_each(|o| *o = child);
        let birth = |i: usize| LifeEvent::Birth(self.birth(i, vec![old.id]));
        let death = self.death(&old, EndCause::Split);
        vec![LifeEvent::Death(death), birth(parent), birth(usize::from(child))]
    }

    /// Merges experts, given by at least two ascending indices, into a new one at the first index: it owns all their symbols,
    /// with the rows of their former owners.
    pub fn merge(&mut self, chosen: &[usize]) -> Vec<LifeEvent> {
        let [first, others @ ..] = chosen else { return vec![] };
        let ended = |i: &usize| LifeEvent::Death(self.death(&self.experts[*i], EndCause::Merged));
        let mut events: Vec<LifeEvent> = chosen.iter().map(ended).collect();
        let parents: Vec<u64> = chosen.iter().map(|i| self.experts[*i].id).collect();
        for symbol in 0..N_SYMBOLS as u8 {
            let owner = usize::from(self.owner[usize::from(symbol)]);
            if others.contains(&owner) {
                let (from, to) = (self.row(owner, symbol), self.row(*first, symbol).start);
                self.weights.copy_within(from, to);
                self.owner[usize::from(symbol)] = *first as u16;
            }
        }
        let load = chosen.iter().map(|i| self.experts[*i].load).sum();
        self.experts[*first] = Expert { id: self.next_id, born: self.step, load, ..self.experts[*first] };
        self.next_id += 1;
        for gone in others.iter().rev() {
            self.experts.remove(*gone);
            self.owner.iter_mut().filter(|o| usize::from(**o) > *gone).for_each(|o| *o -= 1);
        }
        events.push(LifeEvent::Birth(self.birth(*first, parents)));
        events
    }

    /// Birth event of the expert at an index.
    pub fn birth(&self, index: usize, parents: Vec<u64>) -> Birth {
        let expert = self.experts[index];
        let name = name(expert.id);
        let mut owned = (0..N_SYMBOLS as u8).filter(|s| usize::from(self.owner[usize::from(*s)]) == index);
        let first =
            owned.next().map(|symbol| ("first_symbol".into(), AttributeValue::Text(source::name(symbol).into())));
        let n = owned.count() + usize::from(first.is_some());
        let attributes = first.into_iter().chain([("symbols".into(), AttributeValue::Number(n as f32))]).collect();
        let slot = Some(index as u32);
        Birth { step: self.step, child: expert.id, parents, slot, name, attributes, ..Birth::default() }
    }

    fn death(&self, expert: &Expert, end: EndCause) -> Death {
        let age = AttributeValue::Number((self.step - expert.born) as f32);
        let attributes = [("age_at_end".into(), age)].into_iter().collect();
        Death { step: self.step, gone: expert.id, end, health: Some(expert.load), attributes }
    }

    fn free_slot(&self) -> u32 {
        (0..).find(|slot| self.experts.iter().all(|e| e.slot != *slot)).unwrap_or_default()
    }

    /// Generates a text: each symbol is drawn from the prediction after the previous one.
    pub fn generate(&self, length: u32, seed: u64) -> String {
        let mut at = self.position();
        let next = |lane: u32| {
            let (symbol, letter) = at.draw(lane, seed);
            at.symbol = symbol;
            letter
        };
        (0..length).map(next).collect()
    }

    /// Position after the last symbol, from which texts continue.
    pub fn position(&self) -> Position<'_> {
        Position { state: self, symbol: self.symbol }
    }
}

/// A position in a text other than the stream.
pub struct Position<'a> {
    state: &'a State,
    /// Last symbol before the position.
    pub symbol: u8,
}

impl Position<'_> {
    /// Probabilities of the next symbol.
    pub fn probabilities(&self) -> [f32; N_SYMBOLS] {
        self.state.predict(usize::from(self.state.owner[usize::from(self.symbol)]), self.symbol)
    }

    /// Draws the next symbol. Returns it with its character.
    pub fn draw(&self, lane: u32, seed: u64) -> (u8, char) {
        let word = Draw { seed, purpose: Purpose::Choice, step: self.state.step, lane }.words()[0];
        let mut rest = word as f32 / u32::MAX as f32;
        let drawn = self.probabilities().iter().position(|p| {
            rest -= p;
            rest < 0.0
        });
        let symbol = drawn.unwrap_or(N_SYMBOLS - 1) as u8;
        (symbol, super::source::text(symbol))
    }
}

/// Name of the expert with this id.
pub fn name(id: u64) -> String {
    format!("Expert {id}")
}
