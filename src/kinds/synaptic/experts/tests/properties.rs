use super::*;

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work)
}

#[test]
fn gates_sum_to_one_and_every_assignment_has_one_row() {
    let mut layer = Layer::<f32>::new(333, (7, 3), (8, 4));
    layer.state.alive[2] = 0;
    let routing = layer.route();
    assert_eq!(routing.counts.iter().sum::<u32>() as usize, 3 * 333);
    assert_eq!(routing.counts[2], 0);
    for t in 0..333 {
        let slots = 3 * t..3 * t + 3;
        let sum: f32 = routing.gates[slots.clone()].iter().sum();
        assert!((sum - 1.0).abs() < 3e-7, "{t}: {sum}");
        let mut of = routing.indices[slots].to_vec();
        let logits: Vec<f32> = of.iter().map(|e| routing.logits[t * 7 + *e as usize]).collect();
        assert!(logits.is_sorted_by(|a, b| a >= b), "{logits:?}");
        let smallest = logits[2];
        assert_eq!(routing.logits[t * 7..][..7].iter().filter(|l| **l > smallest).count(), 2, "the largest are taken");
        of.sort_unstable();
        of.dedup();
        assert_eq!(of.len(), 3);
    }
    for e in 0..7 {
        let group = routing.group(e);
        assert!(group.is_sorted() && group.len() == routing.counts[e] as usize);
        assert!(group.iter().all(|a| routing.indices[*a as usize] == e as u32));
    }
    assert!((0..999).all(|a| routing.order[routing.ranks[a] as usize] == a as u32));
}

#[test]
fn ties_go_to_the_lower_index() {
    let mut layer = Layer::<f32>::new(4, (5, 2), (8, 4));
    layer.weights[0].fill(0.0);
    layer.router = Router { align: 0.0, metabolic_bias: 0.0, gene: 0.0, ..layer.router };
    layer.state.alive[0] = 0;
    let routing = layer.route();
    assert_eq!(routing.indices, [1, 2, 1, 2, 1, 2, 1, 2]);
    assert!(routing.gates.iter().all(|gate| *gate == 0.5));
}

#[test]
fn too_few_living_experts_are_refused() {
    let mut layer = Layer::<f32>::new(4, (3, 2), (8, 4));
    layer.state.alive = vec![0, 1, 0];
    let error = forward(&layer.router, &layer.x, layer.router_weights(), &layer.state, &mut Routing::default());
    assert_eq!(error, Err(ExpertsError::TooFewAlive { top_k: 2, alive: 1 }));
    layer.state.fatigue.pop();
    assert!(forward(&layer.router, &layer.x, layer.router_weights(), &layer.state, &mut Routing::default()).is_err());
}

/// Moves block `e` of every buffer to block `to[e]`.
fn permute<T: Copy>(x: &mut [T], to: &[usize]) {
    let (old, size) = (x.to_vec(), x.len() / to.len());
    for (from, to) in to.iter().enumerate() {
        x[to * size..][..size].copy_from_slice(&old[from * size..][..size]);
    }
}

#[test]
fn permuted_experts_permute_gates_and_leave_the_output() {
    let mut layer = Layer::<f64>::new(40, (6, 2), (8, 4));
    let routing = layer.route();
    let (out, _) = layer.output(&routing);
    let to = [3, 5, 0, 1, 4, 2];
    for i in [0, 2, 3, 4, 5, 6] {
        permute(&mut layer.weights[i], &to);
    }
    let mut state = layer.state.clone();
    for values in [&mut state.embeddings, &mut state.fatigue, &mut state.energy, &mut state.balance] {
        permute(values, &to);
    }
    let mut want = layer.state.clone();
    let statistics = LoadStatistics::of(&layer.router, &routing);
    layer.state = state;
    let permuted = layer.route();
    let (other, _) = layer.output(&permuted);
    assert_eq!(bits(&other), bits(&out));
    assert_eq!(bits(&permuted.gates), bits(&routing.gates));
    assert!(routing.indices.iter().zip(&permuted.indices).all(|(a, b)| to[*a as usize] == *b as usize));
    // The permutation also permutes the update of the state, up to the order of sums.
    let genome = layer.weights[2].clone();
    let mut first = genome.clone();
    (0..6).for_each(|e| first[e * GENES..][..GENES].copy_from_slice(&genome[to[e] * GENES..][..GENES]));
    update_state(&layer.router, &statistics, &first, &mut want);
    update_state(&layer.router, &LoadStatistics::of(&layer.router, &permuted), &genome, &mut layer.state);
    permute(&mut want.embeddings, &to);
    permute(&mut want.energy, &to);
    permute(&mut want.fatigue, &to);
    assert_eq!((&want.energy, &want.fatigue), (&layer.state.energy, &layer.state.fatigue));
    assert!(want.embeddings.iter().zip(&layer.state.embeddings).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn threads_and_parts_change_no_bit() {
    let layer = Layer::<f32>::new(517, (6, 2), (24, 40));
    let dout = numbers(layer.x.len(), 52);
    let run = |threads: usize| {
        in_pool(threads, || {
            let routing = layer.route();
            let (out, _) = layer.output(&routing);
            let (gradients, dgates) = layer.gradients(&dout, 0.01);
            let mut state = layer.state.clone();
            let statistics = LoadStatistics::of(&layer.router, &routing);
            update_state(&layer.router, &statistics, &layer.weights[2], &mut state);
            (bits(&out), gradients.map(|g| bits(&g)), bits(&dgates), state)
        })
    };
    let one = run(1);
    assert!(run(3) == one && run(2) == one);
}

#[test]
fn an_expert_without_tokens_is_no_special_case() {
    let mut layer = Layer::<f64>::new(5, (6, 1), (8, 4));
    layer.weights[0].fill(0.0);
    layer.router = Router { align: 0.0, metabolic_bias: 0.0, gene: 0.0, ..layer.router };
    let routing = layer.route();
    assert_eq!(routing.counts, [5, 0, 0, 0, 0, 0]);
    assert_eq!(aux_loss(&routing), 6.0, "all tokens on one of six experts");
    let (out, _) = layer.output(&routing);
    let (w1, b1, w2, b2) = (&layer.weights[3], &layer.weights[4], &layer.weights[5], &layer.weights[6]);
    for t in 0..5 {
        let x = &layer.x[t * 8..][..8];
        let unit = |h: usize| (0..8).map(|c| w1[h * 8 + c] * x[c]).sum::<f64>() + b1[h];
        for c in 0..8 {
            let y = (0..4).map(|h| w2[c * 4 + h] * unit(h).max(0.0).powi(2)).sum::<f64>() + b2[c];
            assert!((out[t * 8 + c] - y).abs() < 1e-14, "{t} {c}");
        }
    }
    let (gradients, _) = layer.gradients(&vec![1.0; 40], 0.0);
    assert!(gradients[3][32..].iter().all(|g| *g == 0.0));
    assert!(gradients[3][..32].iter().any(|g| *g != 0.0));
}

#[test]
fn metabolism_stays_in_bounds_and_reaches_its_equilibria() {
    for skew in [0.0, 30.0] {
        let mut layer = Layer::<f32>::new(64, (16, 1), (8, 4));
        layer.router = Router { align: 0.0, metabolic_bias: 0.0, gene: 0.0, ..layer.router };
        // With a nonzero mean input, skewed router weights send tokens to expert 3.
        layer.weights[0][3 * 8..4 * 8].iter_mut().for_each(|w| *w += skew);
        layer.x.iter_mut().for_each(|x| *x += 1.0);
        let routing = layer.route();
        let statistics = LoadStatistics::of(&layer.router, &routing);
        for step in 0..4000 {
            update_state(&layer.router, &statistics, &layer.weights[2], &mut layer.state);
            let bounded = |x: &f32| (0.0..=1.0).contains(x);
            assert!(layer.state.fatigue.iter().chain(&layer.state.energy).all(bounded), "step {step}");
        }
        for e in 0..16 {
            let (load, energy) = (statistics.load(e), f64::from(layer.state.energy[e]));
            let want = (1.0 - 0.1 * load * 16.0).max(0.0);
            assert!((energy - want).abs() < 0.02, "{e}: {energy} for {want}");
            assert!((f64::from(layer.state.fatigue[e]) - load).abs() < 0.02, "{e}");
        }
    }
}

#[test]
fn embeddings_stay_unit_and_move_to_the_features_that_are_served() {
    let mut layer = Layer::<f32>::new(96, (4, 1), (24, 4));
    layer.router = Router { align: 0.0, metabolic_bias: 0.0, gene: 0.0, push: 0.0, ..layer.router };
    let routing = layer.route();
    let statistics = LoadStatistics::of(&layer.router, &routing);
    let cosine = |layer: &Layer<f32>, e: usize| {
        let served = &statistics.features[e * FEATURES..][..FEATURES];
        let norm = served.iter().map(|x| x * x).sum::<f64>().sqrt();
        layer.state.embedding(e).iter().zip(served).map(|(a, b)| f64::from(*a) * b).sum::<f64>() / norm
    };
    let before: Vec<f64> = (0..4).map(|e| cosine(&layer, e)).collect();
    for _ in 0..2000 {
        update_state(&layer.router, &statistics, &layer.weights[2], &mut layer.state);
    }
    for (e, before) in before.into_iter().enumerate() {
        let norm: f32 = layer.state.embedding(e).iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-6, "{norm}");
        assert!(cosine(&layer, e) > 0.99 && cosine(&layer, e) > before, "{e}: {before} to {}", cosine(&layer, e));
    }
}

#[test]
fn similar_embeddings_repel() {
    let largest = |state: &RouterState| {
        let all = (0..8).flat_map(|i| (0..i).map(move |j| (i, j)));
        let dot = |(i, j)| state.embedding(i).iter().zip(state.embedding(j)).map(|(a, b)| a * b).sum::<f32>();
        all.map(dot).fold(f32::MIN, f32::max)
    };
    let start = RouterState::new(8, numbers(8 * FEATURES, 7).into_iter().map(|x: f32| x + 0.6).collect());
    let statistics = LoadStatistics { tokens: 1, ..LoadStatistics::new(8) };
    let mut state = start.clone();
    (0..4000).for_each(|_| contrastive::update(&Router::new(8, 2, 8), &statistics, &mut state));
    assert!(largest(&start) > 0.5 && largest(&state) < 0.1, "{} to {}", largest(&start), largest(&state));
}

#[test]
fn balance_evens_out_loads_and_changes_no_gate_of_a_selection() {
    let mut layer = Layer::<f32>::new(256, (8, 2), (16, 4));
    layer.router.balancing = Balancing::Bias { rate: 0.01 };
    layer.x.iter_mut().for_each(|x| *x += 0.5);
    let spread = |routing: &Routing<f32>| {
        let [least, most] = [routing.counts.iter().min(), routing.counts.iter().max()];
        most.copied().unwrap_or(0) - least.copied().unwrap_or(0)
    };
    let before = spread(&layer.route());
    for _ in 0..400 {
        let statistics = LoadStatistics::of(&layer.router, &layer.route());
        metabolism::update(&layer.router, &statistics, &layer.weights[2].clone(), &mut layer.state);
    }
    let routing = layer.route();
    assert!(before > 100 && spread(&routing) < 24, "{before} to {}", spread(&routing));
    for (t, gates) in routing.gates.chunks_exact(2).enumerate() {
        let logit = |slot: usize| routing.logits[t * 8 + routing.indices[2 * t + slot] as usize];
        assert!((gates[0] - 1.0 / (1.0 + (logit(1) - logit(0)).exp())).abs() < 1e-6, "{t}");
    }
}

#[test]
fn routing_and_evaluation_write_no_state() {
    let layer = Layer::<f32>::new(32, (4, 2), (8, 4));
    let before = layer.state.clone();
    (0..3).for_each(|_| drop(layer.output(&layer.route())));
    assert_eq!(layer.state, before);
    let mut state = before.clone();
    update_state(&layer.router, &LoadStatistics::new(4), &layer.weights[2], &mut state);
    assert_eq!(state, before, "a step without tokens");
}

#[test]
fn terms_of_a_decision_sum_to_its_logit_and_rasters_hold_the_gates() {
    let mut layer = Layer::<f32>::new(300, (6, 2), (8, 4));
    layer.state.alive[1] = 0;
    layer.state.balance[3] = 0.5;
    let routing = layer.route();
    let decisions = inspect::decisions(&layer.router, &routing, 17);
    assert_eq!(decisions.iter().filter(|d| d.selected).count(), 2);
    for (e, d) in decisions.iter().enumerate() {
        let sum: f32 = d.terms()[..5].iter().sum();
        assert!(if e == 1 { d.logit == f32::NEG_INFINITY } else { (sum - d.logit).abs() < 1e-6 }, "{e}");
        assert_eq!(d.gate > 0.0, d.selected);
    }
    assert_eq!(inspect::decisions(&layer.router, &routing, 300), []);
    let raster = inspect::gate_raster(&layer.router, &routing, 256);
    assert_eq!(raster.len(), 6 * 256);
    for column in 0..256 {
        let sum: f32 = (0..6).map(|e| raster[e * 256 + column]).sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
    assert_eq!(raster[routing.indices[2 * 299] as usize * 256 + 255], routing.gates[2 * 299]);
    assert_eq!(inspect::gate_raster(&layer.router, &routing, 1000).len(), 6 * 300);
}

#[test]
fn projections_keep_distances_and_are_stable() {
    // The points lie in three of the 24 dimensions, so that the projection loses nothing.
    let [axes, points] = [numbers::<f64>(3 * FEATURES, 1), numbers::<f64>(9 * 3, 2)];
    let of = |p: &[f64], c: usize| (0..3).map(|a| p[a] * axes[a * FEATURES + c]).sum::<f64>() as f32;
    let mut embeddings: Vec<f32> =
        points.chunks_exact(3).flat_map(|p| (0..FEATURES).map(move |c| (p, c))).map(|(p, c)| of(p, c)).collect();
    let first = projection::Projection::new(&embeddings, &[1; 9], None);
    assert!(first.explained > 1.0 - 1e-9);
    let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
    let point = |e: &[f32], i: usize| e[i * FEATURES..][..FEATURES].to_vec();
    for (i, j) in [(0, 1), (2, 5), (3, 8)] {
        let (a, b) = (point(&embeddings, i), point(&embeddings, j));
        let [p, q] = [&a, &b].map(|x| first.position(x));
        assert!((distance(&a, &b) - distance(&p, &q)).abs() < 1e-5);
    }
    for (i, a) in first.axes.iter().enumerate() {
        for (j, b) in first.axes.iter().enumerate() {
            let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-9);
        }
    }
    // Crossing variances change the axes little, with and without previous axes.
    let before = embeddings.clone();
    let noise = numbers::<f32>(embeddings.len(), 3);
    embeddings.iter_mut().zip(noise).for_each(|(x, n)| *x += 0.003 * n);
    for axes in [None, Some(&first.axes)] {
        let second = projection::Projection::new(&embeddings, &[1; 9], axes);
        assert_eq!(second, projection::Projection::new(&embeddings, &[1; 9], axes), "deterministic");
        for i in 0..9 {
            let moved = distance(&first.position(&point(&before, i)), &second.position(&point(&embeddings, i)));
            assert!(moved < 0.15, "{i}: {moved}");
        }
    }
    let alone = projection::Projection::new(&embeddings, &[0, 0, 0, 1, 0, 0, 0, 0, 0], None);
    assert_eq!((alone.explained, alone.position(&point(&embeddings, 3))), (1.0, [0.0; 3]));
}

#[test]
fn idle_experts_follow_their_tokens_as_fast_as_busy_ones_where_only_those_count() {
    // Expert 0 serves 63 of 64 tokens and expert 1 serves one, both with gate 1 and equal features.
    let mut statistics =
        LoadStatistics { tokens: 64, counts: vec![63, 1], gates: vec![63.0, 1.0], ..LoadStatistics::new(2) };
    (statistics.features[0], statistics.features[FEATURES]) = (63.0, 1.0);
    let start = RouterState::new(
        2,
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
            .iter()
            .flat_map(|e| {
                let mut all = [0.0; FEATURES];
                all[..3].copy_from_slice(e);
                all
            })
            .collect(),
    );
    let moved = |pull_over| {
        let mut state = start.clone();
        contrastive::update(&Router { pull_over, push: 0.0, ..Router::new(2, 1, 8) }, &statistics, &mut state);
        [state.embedding(0)[0], state.embedding(1)[0]]
    };
    let [busy, idle] = moved(PullOver::AllTokens);
    assert!((60.0..70.0).contains(&(busy / idle)), "{busy} {idle}");
    let [busy, idle] = moved(PullOver::OwnTokens);
    assert!(busy == idle && busy > 0.04, "{busy} {idle}");
}
