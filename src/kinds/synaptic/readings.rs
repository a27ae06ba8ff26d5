//! Readings of experts: fields over slots, gates, routing decisions, the map.

use super::{
    backend::SlotAverage,
    experts::{
        FEATURES, GENES, Phenotype, RouterState, Routing,
        inspect::{self, TERM_NAMES},
        projection::Projection,
    },
    life::health::{health, of_one},
    probes::{self, PROBES},
    sets,
    simulation::SynapticSim,
};
use crate::{
    kinds::language::{backend::StateBuffer, measure::number},
    nn::parameters::ViewId,
    sim::{Axis, Link, Matrix, ProbeId, Reading, Shape, SimError, Tap, TapArgs, Tokens},
};
use std::{ops::Range, sync::Arc};

/// Values of the slots of all layers.
#[derive(Default)]
pub struct ExpertValues {
    /// Router states by layer.
    pub routers: Vec<RouterState>,
    /// Load relative to the fair load.
    pub load: Vec<f32>,
    /// Energy of the experts, 0..=1.
    pub energy: Vec<f32>,
    /// Health of the experts, 0..=1.
    pub health: Vec<f32>,
}

/// Cached routing of a text in a layer.
pub struct Routed {
    /// Step and layer.
    at: (u64, usize),
    tokens: Vec<u32>,
    routing: Routing<f32>,
}

/// Scales a token share so that a balanced load is 1.
fn fair_load(n_alive: usize, top_k: usize) -> f32 {
    n_alive.max(1) as f32 / top_k as f32
}

impl SynapticSim {
    /// Reads a probe of experts; `None` if another function reads the probe. Fails if the device fails.
    pub(super) fn expert_reading(&mut self, tap: &Tap) -> Result<Option<Reading>, SimError> {
        Ok(Some(match (tap.probe, PROBES[usize::from(tap.probe)].shape) {
            (probes::LINEAGE, _) => Reading::lineage(self.own.lives.identities.take()),
            (probes::LOG, _) => Reading::Text(self.own.lives.take_log()),
            (probe, Shape::Field { over: probes::EXPERTS, .. }) => Reading::field(self.expert_field(probe)?),
            (probes::SIMILARITY, _) => Reading::Links(Arc::new(self.similarity()?)),
            (probes::GATES, _) => Reading::Matrix(self.gates(number(&tap.args, "layer"))?),
            _ => return Ok(None),
        }))
    }

    /// Reads how routers, attention and synapses process the shown text. Fails if the device fails.
    pub(super) fn text_reading(&mut self, tap: &Tap) -> Result<Reading, SimError> {
        Ok(match tap.probe {
            probes::ROUTED => Reading::Tokens(Arc::new(self.routed(number(&tap.args, "layer"))?)),
            probes::DECISION => Reading::Matrix(self.decision(&tap.args)?),
            probes::ROUTES => Reading::Links(Arc::new(self.routes()?)),
            probes::MAP_1..=probes::MAP_ENERGY => Reading::field(self.map_field(tap.probe)?),
            _ => Reading::Matrix(self.synapse_reading(tap, &self.shown_tokens())?),
        })
    }

    /// Reads the values of a parameter from the backend. Fails if the device fails.
    pub(super) fn weight(&self, id: ViewId) -> Result<Vec<f32>, SimError> {
        let view = self.layout.map.view(id);
        let mut values = vec![0.0; view.len()];
        self.backend.read(StateBuffer::Weights, view.start, &mut values)?;
        Ok(values)
    }

    pub(super) fn expert_values(&self) -> Result<ExpertValues, SimError> {
        let mut all = ExpertValues::default();
        let fair = |state: &RouterState| fair_load(state.n_alive(), self.config.top_k);
        for layer in 0..self.config.layers {
            let state = self.backend.router(layer)?;
            let healths = health(&state.fatigue, &state.energy, &state.alive, self.config.top_k);
            all.load.extend(state.fatigue.iter().map(|fatigue| fatigue * fair(&state)));
            all.energy.extend(&state.energy);
            all.health.extend(healths.iter().map(|health| *health as f32));
            all.routers.push(state);
        }
        Ok(all)
    }

    /// Returns the load, energy or health of slots that are numbered over all layers; copies only those from a device.
    /// Fails if the device fails.
    pub(super) fn slot_values(&self, probe: ProbeId, slots: &Range<usize>) -> Result<Vec<f32>, SimError> {
        let (e, lives) = (self.config.experts, &self.own.lives.identities);
        let read = |average| match slots.is_empty() {
            true => Ok(vec![]),
            false => self.backend.slots(average, slots.clone()),
        };
        let alive =
            |layer: usize| -> Vec<u8> { (0..e).map(|slot| u8::from(lives.occupant(layer, slot).is_some())).collect() };
        if probe == probes::ENERGY_OF {
            return read(SlotAverage::Energy);
        }
        let fatigue = read(SlotAverage::Fatigue)?;
        let energy = if probe == probes::HEALTH_OF { read(SlotAverage::Energy)? } else { vec![] };
        let mut values = vec![];
        for (i, slot) in slots.clone().enumerate() {
            let alive = alive(slot / e);
            let n_alive = alive.iter().filter(|a| **a != 0).count();
            values.push(match energy.get(i) {
                Some(energy) if alive[slot % e] != 0 => of_one(fatigue[i], *energy, n_alive, self.config.top_k) as f32,
                Some(_) => 0.0,
                None => fatigue[i] * fair_load(n_alive, self.config.top_k),
            });
        }
        Ok(values)
    }

    fn expert_field(&mut self, probe: ProbeId) -> Result<Vec<f32>, SimError> {
        let now = self.expert_values()?;
        let of_routers = |value: fn(&RouterState) -> Vec<f32>| now.routers.iter().flat_map(value).collect();
        let gene = |i: usize| -> Result<Vec<f32>, SimError> {
            let value = |genes: &[f32]| Phenotype::of(genes).values()[i] as f32;
            Ok(self.genomes()?.chunks_exact(GENES).map(value).collect())
        };
        Ok(match probe {
            probes::LOAD => now.load,
            probes::ENERGY => now.energy,
            probes::HEALTH => now.health,
            probes::FATIGUE => of_routers(|state| state.fatigue.clone()),
            probes::ALIVE => of_routers(|state| state.alive.iter().map(|a| f32::from(*a)).collect()),
            probes::AGE => {
                let ages = |layer| self.own.lives.identities.ages(layer, self.state.step);
                (0..self.config.layers).flat_map(ages).map(|age| age as f32).collect()
            }
            probes::FROZEN => self.own.lives.identities.frozen().iter().map(|f| f32::from(u8::from(*f))).collect(),
            probes::FATIGUE_RATE..=probes::PP1_GAIN => gene(usize::from(probe - probes::FATIGUE_RATE))?,
            probes::AXIS_1..=probes::AXIS_3 => {
                let (axis, mut values) = (usize::from(probe - probes::AXIS_1), vec![]);
                for (layer, state) in now.routers.iter().enumerate() {
                    let projection = self.projection(layer, state);
                    values
                        .extend((0..self.config.experts).map(|slot| projection.position(state.embedding(slot))[axis]));
                }
                values
            }
            _ => {
                self.take_scores()?;
                self.scores_field(probe, &now.routers)
            }
        })
    }

    /// Returns the projection of a layer's features to three dimensions, with axes close to those of the previous reading.
    fn projection(&mut self, layer: usize, state: &RouterState) -> Projection {
        self.own.axes.resize(self.config.layers, None);
        let projection = Projection::new(&state.embeddings, &state.alive, self.own.axes[layer].as_ref());
        self.own.axes[layer] = Some(projection.axes);
        projection
    }

    /// Returns the cosine similarities of the embeddings of living experts, within each layer. Fails if the device fails.
    fn similarity(&self) -> Result<Vec<Link>, SimError> {
        let (n, mut links) = (self.config.experts, vec![]);
        for layer in 0..self.config.layers {
            let state = self.backend.router(layer)?;
            let living: Vec<usize> = (0..n).filter(|slot| state.alive[*slot] != 0).collect();
            for (i, a) in living.iter().enumerate() {
                for b in &living[i + 1..] {
                    let weight = state.embedding(*a).iter().zip(state.embedding(*b)).map(|(a, b)| a * b).sum();
                    links.push(Link { from: (layer * n + a) as u32, to: (layer * n + b) as u32, weight });
                }
            }
        }
        Ok(links)
    }

    /// Returns the names of the experts in the slots of a layer.
    fn expert_names(&self, layer: usize) -> Vec<String> {
        (0..self.config.experts).map(|slot| self.own.lives.identities.name(layer, slot)).collect()
    }

    /// Returns the gates of the last tokens of the last step, a row per expert; empty before the first step. Fails if the
    /// device fails.
    fn gates(&self, layer: usize) -> Result<Matrix, SimError> {
        let steps = self.backend.expert_steps()?;
        let Some(selection) = steps.get(layer).map(|step| &step.selection) else { return Ok(Matrix::default()) };
        let n = selection.gates.len() / selection.top_k.max(1);
        let mut values = vec![0.0; self.config.experts * n];
        for (i, (expert, gate)) in selection.experts.iter().zip(&selection.gates).enumerate() {
            values[*expert as usize * n + i / selection.top_k] = *gate;
        }
        let read = self.last_tokens();
        let names = self.token_names(&read[read.len().saturating_sub(n)..]);
        let columns = if names.len() == n { Axis::named(names) } else { Axis::numbered(n as u32) };
        Ok(Matrix { rows: Axis::named(self.expert_names(layer)), columns, values: Arc::new(values) })
    }

    /// Returns the routing of the shown text in a layer, computed once for all readings of a step. Fails if the device
    /// fails.
    fn routing(&mut self, layer: usize) -> Result<Arc<Routed>, SimError> {
        let (step, tokens) = (self.state.step, self.shown_tokens());
        let is_same = |known: &&Arc<Routed>| known.at == (step, layer) && known.tokens == tokens;
        if let Some(known) = self.own.routed.iter().find(is_same) {
            return Ok(known.clone());
        }
        let routing = self.backend.decisions(&tokens, layer)?;
        let new = Arc::new(Routed { at: (step, layer), tokens, routing });
        self.own.routed.retain(|known| known.at.0 == step && known.at.1 != layer);
        self.own.routed.push(new.clone());
        Ok(new)
    }

    fn routed(&mut self, layer: usize) -> Result<Tokens, SimError> {
        let (known, k) = (self.routing(layer)?, self.config.top_k);
        let (tokens, routing) = (&known.tokens, &known.routing);
        let candidates = |token: usize| {
            let slots = token * k..(token + 1) * k;
            slots
                .map(|i| (self.own.lives.identities.name(layer, routing.indices[i] as usize), routing.gates[i]))
                .collect()
        };
        Ok(Tokens {
            step: self.state.step,
            texts: self.token_names(tokens),
            values: routing.gates.iter().step_by(k).copied().collect(),
            names: self.expert_names(layer),
            categories: routing.indices.iter().step_by(k).copied().collect(),
            candidates: (0..tokens.len()).map(candidates).collect(),
        })
    }

    fn decision(&mut self, args: &TapArgs) -> Result<Matrix, SimError> {
        let layer = number(args, "layer");
        let known = self.routing(layer)?;
        let (tokens, routing) = (&known.tokens, &known.routing);
        let router = self.params.dynamics(&self.config).router;
        let token = number(args, "token").min(tokens.len().saturating_sub(1));
        let mut values = vec![];
        for decision in inspect::decisions(&router, routing, token) {
            values.extend(decision.terms());
            values.extend([decision.logit, decision.gate].map(|x| if x.is_finite() { x } else { f32::NAN }));
        }
        let names = TERM_NAMES.iter().copied().chain(["Logit", "Gate"]);
        let columns = Axis::named(names.map(str::to_owned).collect());
        Ok(Matrix { rows: Axis::named(self.expert_names(layer)), columns, values: Arc::new(values) })
    }

    /// Returns the number of elements of a layer in the map: its experts, then its tokens.
    fn map_layer_len(&self) -> usize {
        self.config.experts + sets::map_tokens(&self.config)
    }

    fn routes(&mut self) -> Result<Vec<Link>, SimError> {
        let (k, n, mut links) = (self.config.top_k, sets::map_tokens(&self.config), vec![]);
        for layer in 0..self.config.layers {
            let first = (layer * self.map_layer_len()) as u32;
            let known = self.routing(layer)?;
            let (tokens, routing) = (&known.tokens, &known.routing);
            let begin = tokens.len().saturating_sub(n);
            for token in begin..tokens.len() {
                let from = first + (self.config.experts + token - begin) as u32;
                for i in token * k..(token + 1) * k {
                    links.push(Link { from, to: first + routing.indices[i], weight: routing.gates[i] });
                }
            }
        }
        Ok(links)
    }

    /// Returns a field over the map. Missing tokens have no position (NaN); all tokens have load 0.1 and no energy (NaN).
    /// Fails if the device fails.
    fn map_field(&mut self, probe: ProbeId) -> Result<Vec<f32>, SimError> {
        let now = self.expert_values()?;
        let (e, n, mut values) = (self.config.experts, sets::map_tokens(&self.config), vec![]);
        for (layer, state) in now.routers.iter().enumerate() {
            let slots = layer * e..(layer + 1) * e;
            let (of_experts, of_token) = match probe {
                probes::MAP_LOAD => (now.load[slots].to_vec(), 0.1),
                probes::MAP_ENERGY => (now.energy[slots].to_vec(), f32::NAN),
                _ => {
                    let axis = usize::from(probe - probes::MAP_1);
                    let projection = self.projection(layer, state);
                    let known = self.routing(layer)?;
                    let (tokens, routing) = (&known.tokens, &known.routing);
                    let place = |features: &[f32]| projection.position(features)[axis];
                    values.extend((0..e).map(|slot| place(state.embedding(slot))));
                    let begin = tokens.len().saturating_sub(n);
                    let at = |token: usize| {
                        let features = &routing.features[token * FEATURES..][..FEATURES];
                        let unit: Vec<f32> = features.iter().map(|x| x * routing.inverse_norms[token]).collect();
                        place(&unit)
                    };
                    values.extend((begin..tokens.len()).map(at));
                    values.resize((layer + 1) * self.map_layer_len(), f32::NAN);
                    continue;
                }
            };
            values.extend(of_experts);
            values.resize((layer + 1) * self.map_layer_len(), of_token);
        }
        Ok(values)
    }
}
