//! What is typed into number fields, by the thousand: random expressions mean what they were made to mean, and random
//! text is refused without harm. The draws are our own counter-based ones, so a failure names its number.

use neuropil::{
    kinds::Model,
    num::rng::philox4x32,
    params::{Unit, Value, ValueType, dimension::SPELLINGS, path},
};
use std::fmt::Write as _;

/// Random words, one after another.
struct Dice(u32, u32);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.1 += 1;
        philox4x32([self.0, self.1, 0, 0], [7, 11])[0] as usize % sides
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

/// An expression without units, and its value.
fn plain(dice: &mut Dice, depth: u32) -> (String, f64) {
    if depth == 0 || dice.roll(4) == 0 {
        let digits = dice.roll(100_000) as f64 / 100.0 + 0.5;
        return match dice.roll(5) {
            0 => ("pi".to_owned(), std::f64::consts::PI),
            1 => (format!("{digits}").replace('.', ","), digits),
            2 => (format!("{:e}", digits), digits),
            _ => (format!("{digits}"), digits),
        };
    }
    let (a, x) = plain(dice, depth - 1);
    let (b, y) = plain(dice, depth - 1);
    let space = dice.pick(&["", " "]);
    match dice.roll(5) {
        0 => (format!("({a}{space}+{space}{b})"), x + y),
        1 => (format!("({a}{space}-{space}{b})"), x - y),
        2 => (format!("({a}{space}*{space}{b})"), x * y),
        3 if y != 0.0 => (format!("(({a}){space}/{space}({b}))"), x / y),
        _ => (format!("(-{a})"), -x),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

#[test]
fn expressions_mean_what_they_say() {
    for n in 0..4000 {
        let mut dice = Dice(n, 0);
        let (text, value) = plain(&mut dice, 4);
        let got = Unit::One.parse(&text);
        match value.is_finite() {
            true => assert!(got.as_ref().is_ok_and(|x| near(*x, value)), "{n}: {text} is {value}, read as {got:?}"),
            false => assert!(got.is_err(), "{n}: {text}"),
        }
    }
}

#[test]
fn any_unit_of_the_kind_will_do_and_no_other() {
    let units = [Unit::Ms, Unit::Mv, Unit::Hz, Unit::Pa, Unit::Um, Unit::Steps, Unit::Bytes];
    for unit in units {
        let (dimension, exponent) = unit.dimension();
        for spelling in SPELLINGS {
            let text = format!("2.5 {}", spelling.text);
            let read = unit.parse(&text);
            if spelling.dimension == dimension {
                let want = 2.5 * spelling.factor * 10_f64.powi(spelling.exponent - exponent);
                assert!(read.as_ref().is_ok_and(|x| near(*x, want)), "{text} in {unit:?}: {read:?}");
                let glued = format!("2.5{}", spelling.text);
                assert_eq!(unit.parse(&glued), read, "{glued}");
            } else {
                let refused = read.expect_err(&text);
                assert!(refused.contains(unit.suffix()), "{text}: `{refused}` does not name {}", unit.suffix());
            }
        }
    }
}

#[test]
fn no_text_does_harm() {
    const PARTS: [&str; 34] = [
        "1",
        "2.5",
        "0",
        ",",
        ".",
        "e",
        "E",
        "1e308",
        "1e-308",
        "+",
        "-",
        "−",
        "*",
        "/",
        "^",
        "(",
        ")",
        " ",
        "ms",
        "s",
        "mV",
        "Hz",
        "%",
        "pi",
        "sqrt",
        "ln",
        "nan",
        "inf",
        "_",
        "µ",
        "🦋",
        "\u{0}",
        "9999999999999999999",
        "((((((((((",
    ];
    for n in 0..20_000 {
        let mut dice = Dice(n, 1 << 20);
        let mut text = String::new();
        for _ in 0..dice.roll(14) {
            let _ = write!(text, "{}", PARTS[dice.roll(PARTS.len())]);
        }
        for unit in [Unit::One, Unit::Ms, Unit::Hz] {
            match unit.parse(&text) {
                Ok(x) => assert!(x.is_finite(), "{n}: {text:?}"),
                Err(why) => assert!(why.contains("expected"), "{n}: {text:?}: {why}"),
            }
        }
    }
    let deep = "(".repeat(100_000);
    assert!(Unit::One.parse(&deep).is_err_and(|e| e.contains("nested too deeply")));
    assert!(Unit::One.parse(&"2^".repeat(100_000)).is_err());
    assert!(Unit::One.parse(&"-".repeat(100_000)).is_err());
}

/// Every value a slider can stand at comes back the same when it is copied and typed.
#[test]
fn what_is_shown_is_what_is_typed() {
    for model in Model::all() {
        for (g, group) in model.params().groups().iter().enumerate() {
            for spec in group.params.iter().filter(|s| s.kind == ValueType::Real) {
                for n in 0..50 {
                    let mut dice = Dice(n, g as u32 * 1000);
                    let share = dice.roll(1 << 24) as f64 / f64::from(1 << 24);
                    let value = Value::Real(spec.soft.0 + share * (spec.soft.1 - spec.soft.0));
                    let shown = path::show(spec, &value);
                    assert_eq!(path::parse_value(spec, &shown), Ok(value), "{}: {shown}", spec.name);
                }
            }
        }
    }
}

#[test]
fn counts_come_in_groups_of_three() {
    let model = Model::by_name("spiking").expect("a kind");
    let (_, spec) = path::find(model.params(), "network.n_neurons").expect("a parameter");
    assert_eq!(path::parse_value(spec, "138,639"), Ok(Value::Int(138_639)));
    assert_eq!(path::parse_value(spec, "2^10"), Ok(Value::Int(1024)));
    assert!(path::parse_value(spec, "1/3").is_err_and(|e| e.contains("whole number")));
}

#[test]
fn typed_values() {
    for (unit, text, want) in [
        (Unit::Ms, "20", 20.0),
        (Unit::Ms, "20 ms", 20.0),
        (Unit::Ms, "0.02s", 20.0),
        (Unit::Ms, "2,5", 2.5),
        (Unit::Ms, "1/3 s", 1000.0 / 3.0),
        (Unit::Ms, "1 / (50 Hz)", 20.0),
        (Unit::Ms, "1.8 ms + 200 us", 2.0),
        (Unit::Ms, "2 min", 120_000.0),
        (Unit::One, "1/4", 0.25),
        (Unit::One, "2*pi", std::f64::consts::TAU),
        (Unit::One, "1e-3", 1e-3),
        (Unit::One, "2*e", 2.0 * std::f64::consts::E),
        (Unit::One, "-(3 - 5)^2", -4.0),
        (Unit::One, "2^-1", 0.5),
        (Unit::One, "25 %", 0.25),
        (Unit::One, "sqrt(2)", std::f64::consts::SQRT_2),
        (Unit::One, "5 ms / 20 ms", 0.25),
        (Unit::One, "1,234,567", 1_234_567.0),
        (Unit::One, "1_000", 1000.0),
        (Unit::Hz, "1 kHz", 1000.0),
        (Unit::Hz, "1/5 ms", 200.0),
        (Unit::Hz, "3 /s", 3.0),
        (Unit::Mv, "-52 mV", -52.0),
        (Unit::Mv, "−52", -52.0),
        (Unit::Mv, "20 pA * 50 MΩ", 1.0),
        (Unit::Pa, "2 nS * 7 mV", 14.0),
        (Unit::Ms, "200 pF / 10 nS", 20.0),
        (Unit::Bytes, "1.5 GB", 1.5e9),
        (Unit::Steps, "3 steps", 3.0),
    ] {
        let got = unit.parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!((got - want).abs() <= 1e-12 * want.abs(), "{text}: {got}");
    }
    assert_eq!(Unit::Ms.parse("0.02 s"), Ok(20.0), "exactly");
    assert_eq!(Unit::Mv.parse("0.275 mV"), Ok(0.275), "exactly");
}

#[test]
fn refusals_name_the_expected_unit() {
    for (unit, text, why) in [
        (Unit::Ms, "20 mV", "`20 mV` is a voltage; expected a time in ms (ms, s, µs, ns, min, h)"),
        (Unit::One, "20 mV", "`20 mV` is a voltage; expected a plain number"),
        (Unit::Ms, "(1 + 2 ms) * 3", "a plain number and a time cannot be added"),
        (Unit::Mv, "50 %", "expected a voltage in mV"),
        (Unit::One, "nan", "`nan` is neither a unit nor a function"),
        (Unit::One, "1/0", "is not a finite number"),
        (Unit::Ms, "ms", "`ms` is not a number: a number is missing before the unit"),
        (Unit::Ms, "-s", "a number is missing before the unit"),
        (Unit::Ms, "(min)", "a number is missing before the unit"),
        (Unit::Ms, "1 / Hz + s", "a number is missing before a unit of the sum"),
        (Unit::Hz, "1/s - kHz", "a number is missing before a unit of the sum"),
        (Unit::One, "%", "a number is missing before the unit"),
        (Unit::Steps, "steps", "a number is missing before the unit"),
        (Unit::Count("updates"), "updates", "a number is missing"),
        (Unit::One, "", "a number is missing"),
        (Unit::One, "(1", "a closing parenthesis is missing"),
        (Unit::One, "1 2", "`2` does not belong there"),
        (Unit::One, "1,2,3", "`1,2,3` is not a number"),
        (Unit::One, "sqrt(2 mV)", "sqrt takes a plain number"),
        (Unit::One, "2^(1 s)", "a power has no unit"),
    ] {
        let refused = unit.parse(text).expect_err(text);
        assert!(refused.contains(why), "{text}: {refused}");
    }
}
