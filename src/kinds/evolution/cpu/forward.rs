//! Forward pass of several members. Row-wise operations follow each other for the rows of a member, which stay in the cache.

use super::{
    LayerValues, Members, Observation,
    pass::{Pass, Shared},
    sequence::Sequence,
};
use crate::{
    kinds::evolution::{
        model::{Role, Vector},
        network::Network,
    },
    nn::{
        delta_rule::{cpu::Step, lanes::Chunks},
        quantized::cpu as quantized,
        real::wide_fn,
    },
};
use std::ops::Range;

/// Values of all rows, reused between passes.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Residual stream and normalised rows, `[rows, H]`.
    x: Vec<i8>,
    y: Vec<i8>,
    /// Queries, keys, values and outputs of attention, `[rows, H]`.
    pub query: Vec<f32>,
    pub key: Vec<f32>,
    pub value: Vec<f32>,
    pub output: Vec<f32>,
    /// Gates, and scalars of the delta rule, one per row.
    pub gates: Vec<f32>,
    pub steps: Vec<Step<f32>>,
    /// Hidden layer of the MLP before and after GELU, `[rows, F]`.
    up: Vec<f32>,
    hidden: Vec<i8>,
    /// Output of the input projection, and of the MLP, `[rows, H]`.
    down: Vec<f32>,
    /// Logits, `[rows, V]`.
    pub logits: Vec<f32>,
    /// Elements of a vector with their perturbation.
    vector: Vec<f32>,
    /// Integer sums of products.
    sums: Vec<i32>,
    /// Memory of sequences side by side.
    pub chunks: Chunks,
}

impl Buffers {
    fn resize(&mut self, network: &Network, rows: usize) {
        let (width, hidden) = (network.sizes.width, network.sizes.width * network.sizes.mlp_multiple);
        [&mut self.x, &mut self.y].into_iter().for_each(|all| all.resize(rows * width, 0));
        let floats = [&mut self.query, &mut self.key, &mut self.value, &mut self.output, &mut self.down];
        floats.into_iter().for_each(|all| all.resize(rows * width, 0.0));
        self.gates.resize(rows, 0.0);
        self.steps.resize(rows, Step::default());
        self.up.resize(rows * hidden, 0.0);
        self.hidden.resize(rows * hidden, 0);
        self.logits.resize(rows * network.sizes.vocabulary, 0.0);
    }
}

/// Returns the values of some rows of `width` values.
fn of<T>(all: &[T], rows: &Range<usize>, width: usize) -> Range<usize> {
    debug_assert!(rows.end * width <= all.len());
    rows.start * width..rows.end * width
}

impl Network {
    /// Computes the logits of every row into `buffers`. With `continued`, the attention state of each layer, the tokens continue a
    /// single sequence; if it is empty, every sequence begins at its first token. `observe` receives the values of each
    /// layer and of the head.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub(super) fn forward(
        &self,
        (shared, members): (&Shared, Members<'_>),
        tokens: &[u16],
        continued: &mut [Sequence],
        buffers: &mut Buffers,
        mut observe: Option<&mut dyn FnMut(Observation<'_>)>,
    ) {
        let pass = Pass { sizes: &self.sizes, members, shared, rows: tokens.len() / members.list.len().max(1) };
        let spans: Vec<Range<usize>> = pass.spans();
        buffers.resize(self, tokens.len());
        let first = continued.first().map_or(0, Sequence::n_steps);
        spans.iter().for_each(|span| self.inputs(&pass, span, (tokens, first), buffers));
        for layer in 0..self.sizes.layers {
            let before = if observe.is_some() { buffers.x.clone() } else { vec![] };
            spans.iter().for_each(|span| self.project(&pass, span, layer, buffers));
            self.attend(buffers, continued.get_mut(layer));
            let input = if observe.is_some() { buffers.y.clone() } else { vec![] };
            spans.iter().for_each(|span| self.mlp(&pass, span, layer, buffers));
            if let Some(observe) = &mut observe {
                observe(Observation::Layer(buffers.layer(layer, &before, &input)));
            }
        }
        spans.iter().for_each(|span| self.head(&pass, span, buffers));
        if let Some(observe) = &mut observe {
            observe(Observation::Head { x: &buffers.x, y: &buffers.y, logits: &buffers.logits });
        }
    }

    /// Computes the residual stream after embedding, input projection and positions, of sequences that begin at position `first`.
    fn inputs(&self, pass: &Pass<'_>, span: &Range<usize>, (tokens, first): (&[u16], usize), buffers: &mut Buffers) {
        let (width, scales, rows) = (self.sizes.width, &self.scales, pass.rows_of(span));
        let Buffers { x, y, down, vector, sums, .. } = buffers;
        let part = of(x, &rows, width);
        pass.embed(span, &tokens[rows], scales.is_live, &mut y[part.clone()]);
        let shift = if scales.is_live { pass.members.shift } else { 0 };
        pass.product((Role::Input, 0), span, (&y[part.clone()], shift), &mut down[part.clone()], sums);
        let of_member = (pass.rows * width).max(1);
        vector.resize((self.sizes.steps * width).min(of_member), 0.0);
        let members = x[part.clone()].chunks_exact_mut(of_member).zip(down[part].chunks_exact(of_member));
        for (member, (x, z)) in span.clone().zip(members) {
            pass.vector(member, Vector::Positions, first * width, vector);
            quantized::position_gelu(z, vector, scales.activation, x);
        }
    }

    /// Computes queries, keys, values and gates of a layer.
    fn project(&self, pass: &Pass<'_>, span: &Range<usize>, layer: usize, buffers: &mut Buffers) {
        let (width, rows) = (self.sizes.width, pass.rows_of(span));
        let Buffers { x, y, query, key, value, gates, sums, .. } = buffers;
        let part = of(x, &rows, width);
        quantized::norm_rows(&x[part.clone()], width, self.scales.norm, &mut y[part.clone()]);
        let input = (&y[part.clone()], 0);
        for (role, to) in [(Role::Query, query), (Role::Key, key), (Role::Value, value)] {
            pass.product((role, layer), span, input, &mut to[part.clone()], sums);
        }
        let gates = &mut gates[rows];
        pass.product((Role::Gate, layer), span, input, gates, sums);
        for (member, gates) in span.clone().zip(gates.chunks_exact_mut(pass.rows.max(1))) {
            let mut bias = [0.0];
            pass.vector(member, Vector::GateBias, layer, &mut bias);
            gates.iter_mut().for_each(|gate| *gate += bias[0]);
        }
    }

    /// Adds attention and the MLP of a layer to the residual stream.
    fn mlp(&self, pass: &Pass<'_>, span: &Range<usize>, layer: usize, buffers: &mut Buffers) {
        let (width, scales, rows) = (self.sizes.width, &self.scales, pass.rows_of(span));
        let Buffers { x, y, output, up, hidden, down, sums, .. } = buffers;
        let (part, wide) = (of(x, &rows, width), of(hidden, &rows, width * self.sizes.mlp_multiple));
        let (x, y, down) = (&mut x[part.clone()], &mut y[part.clone()], &mut down[part.clone()]);
        match scales.is_live {
            true => quantized::add_normalised_rows(x, &output[part], width, scales.residual),
            false => quantized::add(x, &output[part], scales.residual),
        }
        quantized::norm_rows(x, width, scales.norm, y);
        pass.product((Role::Up, layer), span, (y, 0), &mut up[wide.clone()], sums);
        quantized::gelu(&up[wide.clone()], scales.mlp_activation, &mut hidden[wide.clone()]);
        pass.product((Role::Down, layer), span, (&hidden[wide], 0), down, sums);
        quantized::add(x, down, scales.mlp_residual);
    }

    /// Computes the logits.
    fn head(&self, pass: &Pass<'_>, span: &Range<usize>, buffers: &mut Buffers) {
        let (width, vocabulary, rows) = (self.sizes.width, self.sizes.vocabulary, pass.rows_of(span));
        let Buffers { x, y, logits, vector, sums, .. } = buffers;
        let (part, wide) = (of(x, &rows, width), of(logits, &rows, vocabulary));
        quantized::norm_rows(&x[part.clone()], width, self.scales.norm, &mut y[part.clone()]);
        let logits = &mut logits[wide];
        pass.product((Role::Head, 0), span, (&y[part], 0), logits, sums);
        vector.resize(vocabulary, 0.0);
        for (member, logits) in span.clone().zip(logits.chunks_exact_mut((pass.rows * vocabulary).max(1))) {
            pass.vector(member, Vector::HeadBias, 0, vector);
            add_to_rows(logits, vector);
        }
    }
}

impl Buffers {
    fn layer<'a>(&'a self, layer: usize, x: &'a [i8], y: &'a [i8]) -> LayerValues<'a> {
        LayerValues {
            layer,
            x,
            y,
            query: &self.query,
            key: &self.key,
            value: &self.value,
            steps: &self.steps,
            output: &self.output,
            y_mlp: &self.y,
            hidden: &self.hidden,
            mlp_output: &self.down,
        }
    }
}

wide_fn! {
    fn add_to_rows(rows: &mut [f32], addends: &[f32]) {
        for row in rows.chunks_exact_mut(addends.len().max(1)) {
            for (x, addend) in row.iter_mut().zip(addends) {
                *x += addend;
            }
        }
    }
}
