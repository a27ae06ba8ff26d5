//! Rows of the timing table of a kind on the CPU.

use super::*;

/// Every row has a description, and measuring changes no bit.
pub fn timing_rows_are_described(case: &Case) {
    let digest = |pass: &mut Pass| {
        let mut sim = prepared(&case.model).start(SEED, &Device::Cpu { threads: 2 }).expect("it starts");
        sim.tap(&all_taps(case)).expect("it is tapped");
        sim.advance(case.steps, pass).expect("it runs");
        sim.digest(0)
    };
    let (mut plain, mut measured) = (Pass::default(), Pass::measuring());
    assert_eq!(digest(&mut plain), digest(&mut measured));
    assert!(plain.timings.is_empty(), "a batch that is not measured has no rows");
    assert!(!measured.timings.is_empty());
    for row in &measured.timings {
        assert!(case.model.timing_docs(row.name).is_some_and(|docs| !docs.is_empty()), "`{}`", row.name);
    }
}
