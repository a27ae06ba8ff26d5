use super::*;

fn loss(layer: &Layer<f64>, dout: &[f64], aux_weight: f64) -> f64 {
    let routing = layer.route();
    let (out, _) = layer.output(&routing);
    out.iter().zip(dout).map(|(y, d)| y * d).sum::<f64>() + aux_weight * aux_loss(&routing)
}

#[test]
fn gradients_are_finite_differences() {
    for (experts, alive) in [((5, 2), [1, 1, 1, 1, 1]), ((5, 3), [1, 0, 1, 1, 1]), ((5, 1), [1; 5])] {
        let mut layer = Layer::<f64>::new(7, experts, (6, 4));
        layer.state.alive.copy_from_slice(&alive);
        let dout = numbers(layer.x.len(), 50);
        let aux_weight = 0.7;
        let (gradients, _) = layer.gradients(&dout, aux_weight);
        for (i, name) in NAMES.iter().enumerate() {
            let mut other = Layer::<f64>::new(7, experts, (6, 4));
            other.state.alive.copy_from_slice(&alive);
            let at = if i == 7 { layer.x.clone() } else { layer.weights[i].clone() };
            let other = std::cell::RefCell::new(other);
            let error = derivative_error(&at, &gradients[i], |x| {
                let mut other = other.borrow_mut();
                let to = if i == 7 { &mut other.x } else { &mut other.weights[i] };
                to.copy_from_slice(x);
                loss(&other, &dout, aux_weight)
            });
            assert!(error < 1e-8, "{name} of {experts:?}: {error:e}");
        }
    }
}

#[test]
fn the_auxiliary_loss_has_a_gradient_and_falls_along_it() {
    let mut layer = Layer::<f64>::new(64, (6, 2), (8, 4));
    let none = vec![0.0; layer.x.len()];
    let before = aux_loss(&layer.route());
    let (gradients, _) = layer.gradients(&none, 1.0);
    let size: f64 = gradients[0].iter().map(|g| g * g).sum();
    assert!(size > 1e-6, "{size:e}");
    assert!(gradients[3].iter().all(|g| *g == 0.0), "experts have no part in it");
    layer.weights[0].iter_mut().zip(&gradients[0]).for_each(|(w, g)| *w -= 1e-3 * g);
    let fall = before - aux_loss(&layer.route());
    assert!((fall / (1e-3 * size) - 1.0).abs() < 0.05, "{fall:e} of {:e}", 1e-3 * size);
}

#[test]
fn contribution_is_the_first_order_change_of_the_loss_without_the_expert() {
    let layer = Layer::<f64>::new(12, (4, 2), (6, 4));
    let dout = numbers(layer.x.len(), 51);
    let (_, dgates) = layer.gradients(&dout, 0.0);
    let mut routing = layer.route();
    let mut contributions = vec![0.0; 4];
    contribution(&routing, &dgates, &mut contributions);
    let total = |routing: &Routing<f64>| layer.output(routing).0.iter().zip(&dout).map(|(y, d)| y * d).sum::<f64>();
    let with = total(&routing);
    for (expert, contribution) in contributions.into_iter().enumerate() {
        let gates = routing.gates.clone();
        routing.order[routing.rows(expert)].iter().for_each(|a| routing.gates[*a as usize] = 0.0);
        let change = total(&routing) - with;
        routing.gates = gates;
        assert!((change - contribution).abs() < 1e-12, "{expert}: {change} and {contribution}");
    }
}
