//! Reference implementation in f64: queries are computed one after the other, each over all keys that it sees; the state is
//! rounded once per step.

mod rows;

use super::{KeyState, Mode, Presynaptic, Release, release::Draws};
use crate::nn::real::{Loop, Real, wide, wide_loop};
use rows::Row;

/// Computes the logits of consecutive queries of one head of one sequence, and advances the state of its keys.
///
/// Rows have `n_keys = first_query + n_queries` columns; query `first_query + t` sees the keys up to its own position. Keys
/// without a state begin in their first state at the query of their own position. Panics if `state` has keys that the first
/// query does not see.
///
/// | | |
/// |---|---|
/// | `dots` | `[n_queries, n_keys]` |
/// | `logits` | `[n_queries, n_keys]`: `dots + bias - barrier·(t - j)/context`; -∞ where the query does not see the key |
/// | `factor` | the same shape: derivative of the bias by its own dot; for a drawn release, of the expected release |
/// | `draws` | addresses of [`Release::Binomial`]; without them the expected release is used |
pub fn forward<R: Real>(
    op: &Presynaptic,
    first_query: usize,
    n_queries: usize,
    dots: &[R],
    logits: &mut [R],
    factor: Option<&mut [R]>,
    state: &mut KeyState<R>,
    draws: Option<&Draws>,
) {
    wide_loop(Forward { op, first_query, n_queries, dots, logits, factor, state, draws });
}

/// Arguments of [`forward`].
struct Forward<'a, R> {
    op: &'a Presynaptic,
    first_query: usize,
    n_queries: usize,
    dots: &'a [R],
    logits: &'a mut [R],
    factor: Option<&'a mut [R]>,
    state: &'a mut KeyState<R>,
    draws: Option<&'a Draws>,
}

impl<R: Real> Loop for Forward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, first_query, n_queries, dots, logits, mut factor, state, draws } = self;
        let n_keys = first_query + n_queries;
        assert!(state.n_keys() <= first_query + 1, "the state has keys that the first query does not see");
        let mut row = Row::new(op, n_keys);
        for t in 0..n_queries {
            let (query, at) = (first_query + t, t * n_keys..(t + 1) * n_keys);
            let (seen, hidden) = logits[at.clone()].split_at_mut(query + 1);
            hidden.fill(R::neg_infinity());
            let factor = factor.as_deref_mut().map(|factor| {
                let (seen, hidden) = factor[at.clone()].split_at_mut(query + 1);
                hidden.fill(R::zero());
                seen
            });
            let dots = &dots[at][..=query];
            let drawn = match op.release {
                Release::Binomial { fraction } => draws.filter(|draws| draws.is_drawn(fraction, query)),
                Release::Deterministic => None,
            };
            let drawn = drawn.map(|draws| (draws, query));
            state.grow(op, query + 1);
            row.begin(op, dots);
            match op.mode {
                Mode::Off => row.clear(),
                Mode::Static => row.release(op, state, drawn),
                Mode::Scan => {
                    row.release(op, state, drawn);
                    row.advance(op, state);
                }
                Mode::TsodyksMarkram => row.tsodyks_markram(op, state),
            }
            row.fill_unselected();
            row.write(op, query, seen, factor);
        }
    }
}

/// Computes the gradient of the dots: `dlogits·(1 + factor)`.
pub fn backward<R: Real>(factor: &[R], dlogits: &[R], ddots: &mut [R]) {
    wide(|| {
        for ((ddot, dlogit), factor) in ddots.iter_mut().zip(dlogits).zip(factor) {
            *ddot = *dlogit * (R::one() + *factor);
        }
    });
}

/// Returns the number of edges with which a query of `n` keys drives keys; `None` if it drives all keys.
fn selection(op: &Presynaptic, n: usize) -> Option<usize> {
    op.edges.most().filter(|k| *k < n && op.mode != Mode::Off).map(|k| k.max(1))
}
