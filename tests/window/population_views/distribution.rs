//! The distribution over time: its marks select elements, its caption describes the data.

use super::*;

/// The elements with the lowest, median and highest fitness at step 100, among those that match.
fn ranked(n: u32, counts: impl Fn(u32) -> bool) -> [u32; 3] {
    let Reading::Field(fitness) = &fields(n, 100)[1] else { unreachable!("a field") };
    let mut who: Vec<u32> = (0..n).filter(|i| i % 10 != 9 && counts(*i)).collect();
    who.sort_by(|a, b| fitness[*a as usize].total_cmp(&fitness[*b as usize]));
    [who[0], who[(who.len() - 1) / 2], who[who.len() - 1]]
}

#[test]
fn the_marks_of_a_distribution_select_their_elements() {
    for n in [2000, 30_000] {
        let mut stage = staged("bands", n);
        let marks = ["Select the lowest", "Select the median", "Select the highest"];
        for (mark, who) in marks.into_iter().zip(ranked(n, |_| true)) {
            stage.press(mark);
            assert_eq!(stage.selection(), [who], "{mark} of {n}: those who are dead do not count");
        }
        stage.filter("kind = left");
        stage.press("Select the median");
        assert_eq!(stage.selection(), [ranked(n, |i| i % 4 == 1)[1]], "of those the filter shows");
    }
}

#[test]
fn a_distribution_describes_its_data_and_follows_the_filter() {
    let mut stage = staged("bands", 2000);
    for step in (200..2000).step_by(100) {
        stage.absorb(frame(2000, step));
        stage.run(1);
    }
    assert!(stage.says("1,800 of 2,000 cells  |  19 states of 1,800 steps  |  bands: 5 to 95 % and 25 to 75 %; lines: median, minimum, maximum"));
    stage.filter("kind = right");
    assert!(
        stage.says("1,400 of 2,000 cells  |  19 states") && stage.says("500 hidden by the filter"),
        "all over again"
    );
    stage.filter("kind = left and kind = right");
    assert!(stage.says("All filtered out"));
    stage.filter("");
    stage.choose("As", "heat map");
    assert!(stage.says("1,800 of 2,000 cells  |  19 states") && stage.says("share per bin, colour maximum"));
    stage.choose("Field", "Order");
    stage.settle();
    assert!(
        stage.says("1,800 of 2,000 cells  |  19 states"),
        "what the window remembers of another field is there at once"
    );
}

#[test]
fn the_context_menu_opens_on_a_mark() {
    let mut stage = staged("bands", 2000);
    stage.allow(KindFeatures { actions: ACTIONS, ..KindFeatures::default() });
    stage.menu("Select the highest");
    stage.press("Actions");
    stage.press("Kick once");
    let highest = ranked(2000, |_| true)[2];
    let requests = stage.requests();
    assert!(matches!(&requests[..], [ViewRequest::Act(a)] if a.elements == [highest]), "{} requests", requests.len());
}
