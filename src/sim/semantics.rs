//! What a step does where simulators differ, beside what other simulators do.

use std::borrow::Cow;

/// Facts about a step, for the card *Semantics of a step*.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Semantics {
    /// Names of the other simulators, in the order of [`Fact::elsewhere`].
    pub simulators: &'static [&'static str],
    /// Facts, in the order in which they are shown.
    pub facts: Vec<Fact>,
}

/// Answer to a question on which simulators differ.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// Question, as a heading.
    pub question: &'static str,
    /// What this simulation does, from its parameters: a sentence without a full stop.
    pub here: Cow<'static, str>,
    /// What each of the other simulators does, in the same form; shorter lists leave the rest out.
    pub elsewhere: &'static [&'static str],
}

impl Semantics {
    /// Whether there is no fact.
    pub const fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Returns the card in the markup of help texts.
    pub fn markup(&self) -> String {
        let fact = |fact: &Fact| {
            let others = self.simulators.iter().zip(fact.elsewhere);
            let others: String = others.map(|(name, text)| format!("- {name}: {text}.\n")).collect();
            format!("# {}\n- **Here**: {}.\n{others}", fact.question, fact.here)
        };
        self.facts.iter().map(fact).collect()
    }
}
