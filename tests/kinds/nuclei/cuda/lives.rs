//! Compares lineages of two backends.

use neuropil::sim::{AttributeValue, Attributes, LifeEvent};

/// The same births and deaths with the same attributes, errors to rounding.
pub fn same(a: &[LifeEvent], b: &[LifeEvent]) {
    let plain = |events: &[LifeEvent]| {
        let strip = |event: &LifeEvent| {
            let mut event = event.clone();
            *event.attributes_mut() = Attributes::default();
            event
        };
        events.iter().map(strip).collect::<Vec<_>>()
    };
    assert!(plain(a) == plain(b), "other births or deaths");
    let mut n_errors = 0;
    for (a, b) in a.iter().zip(b).map(|(a, b)| (a.attributes(), b.attributes())) {
        assert!(a.iter().map(|(name, _)| name).eq(b.iter().map(|(name, _)| name)), "{a:?} {b:?}");
        for ((name, a), (_, b)) in a.iter().zip(b.iter()) {
            match (a, b) {
                (AttributeValue::Number(a), AttributeValue::Number(b)) => {
                    n_errors += usize::from(name == "error_at_end");
                    assert!((a - b).abs() <= 1e-3 * b.abs().max(1.0), "{name}: {a} {b}");
                }
                _ => assert_eq!(a, b, "{name}"),
            }
        }
    }
    assert!(n_errors > 10);
}
