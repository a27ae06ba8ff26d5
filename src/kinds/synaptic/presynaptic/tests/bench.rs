//! Time per edge; not asserted. `cargo test --release --lib presynaptic -- --ignored --nocapture`

use super::*;
use std::time::Instant;

#[test]
#[ignore = "measures"]
fn nanoseconds_per_edge() {
    let n = 128;
    let dots: Vec<f32> = dots(1, n, n, 3.0);
    let (mut logits, mut factor) = (vec![0.0; n * n], vec![0.0; n * n]);
    for op in variants(n) {
        let mut state = KeyState::fresh(&op, n);
        let mut measure = || {
            let start = Instant::now();
            for _ in 0..20 {
                state.reset(&op);
                forward(&op, 0, n, &dots, &mut logits, Some(&mut factor), &mut state, None);
            }
            start.elapsed().as_secs_f64() * 1e9 / 20.0 / (n * (n + 1) / 2) as f64
        };
        let best = (0..10).map(|_| measure()).fold(f64::INFINITY, f64::min);
        println!("{:?} {:?}: {best:.1} ns per edge", op.mode, op.edges);
    }
}
