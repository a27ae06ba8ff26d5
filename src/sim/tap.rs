//! Taps: requests to sample a probe with values of its declared arguments.

use super::{ProbeId, TrialChoice};
use std::{borrow::Cow, fmt::Write as _, sync::Arc};

/// Declared argument of a probe: `layer`, `head`, `expert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgSpec {
    /// Stable identifier: key in files and on the command line.
    pub name: &'static str,
    /// Doc comment of the declaration, shown as the tooltip.
    pub docs: &'static str,
    /// Values that are allowed.
    pub values: ArgValues,
}

/// Allowed values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgValues {
    /// One of the values that the simulation lists: [`Simulation::choices`](super::Simulation::choices).
    Listed,
    /// Text without restriction.
    Text,
}

/// Arguments of a tap by name: `layer=2,head=1`. A missing argument has its first value.
///
/// Stored as the text used in files, on the command line and in file names. Characters other than letters, digits, `-`, `_` and
/// `+` are escaped like `%2C`, so that values can be part of file names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapArgs(Option<Arc<str>>);

impl TapArgs {
    /// Empty list of arguments.
    pub const NONE: Self = Self(None);

    /// Creates arguments from names and values in declaration order.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut text = String::new();
        for (name, value) in pairs {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(name);
            text.push('=');
            escape(value, &mut text);
        }
        Self((!text.is_empty()).then(|| text.into()))
    }

    /// Parses `layer=2,head=1`, in any order.
    ///
    /// # Errors
    /// Fails if an argument is not declared. The message contains the argument and the declared ones.
    pub fn parse(text: &str, specs: &[ArgSpec]) -> Result<Self, String> {
        let mut given = vec![];
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').map_or((part, ""), |(name, value)| (name.trim(), value.trim()));
            if !specs.iter().any(|spec| spec.name == name) {
                let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("there is no argument `{name}`; arguments: {known}"));
            }
            given.push((name, unescape(value)));
        }
        let declared = specs.iter().filter_map(|spec| {
            let (_, value) = given.iter().rfind(|(name, _)| *name == spec.name)?;
            Some((spec.name, value.as_ref()))
        });
        Ok(Self::new(declared))
    }

    /// Returns the value of an argument; `None` if the argument is missing.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.pairs().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns a copy with another value of one argument.
    pub fn with(&self, specs: &[ArgSpec], name: &str, value: &str) -> Self {
        let values: Vec<(&str, Option<Cow<'_, str>>)> = specs
            .iter()
            .map(|spec| (spec.name, if spec.name == name { Some(Cow::Borrowed(value)) } else { self.get(spec.name) }))
            .collect();
        Self::new(values.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))))
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.as_str().split(',').filter_map(|part| part.split_once('=')).map(|(name, value)| (name, unescape(value)))
    }

    /// Returns the text in the form of files: `layer=2,head=1`; empty without arguments.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Formats the arguments for display: `layer 2, head 1`.
    pub fn words(&self) -> String {
        self.pairs().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    /// Whether there are no arguments.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        let is_plain = c.is_alphanumeric() || matches!(c, '-' | '_' | '+');
        if is_plain {
            out.push(c);
        } else {
            // Writing to a text cannot fail.
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('%') {
        return Cow::Borrowed(value);
    }
    let (mut bytes, mut rest) = (vec![], value.as_bytes());
    while let [first, tail @ ..] = rest {
        let code = |tail: &[u8]| u8::from_str_radix(std::str::from_utf8(tail.get(..2)?).ok()?, 16).ok();
        match code(tail).filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &tail[2..]).0,
            None => (bytes.push(*first), rest = tail).0,
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Key of readings and streams: a probe with its trial and its arguments. Two attention maps therefore have two keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapKey {
    /// Probe of the key.
    pub probe: ProbeId,
    /// Trial, or statistic over the trials; the first trial in recordings, which have one trial each.
    pub trial: TrialChoice,
    /// Arguments of the probe.
    pub args: TapArgs,
}

impl From<ProbeId> for TapKey {
    fn from(probe: ProbeId) -> Self {
        Self { probe, ..Self::default() }
    }
}

impl From<&Self> for TapKey {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

impl PartialEq<ProbeId> for TapKey {
    /// Whether this is the key of the probe `probe` of the first trial, without arguments.
    fn eq(&self, probe: &ProbeId) -> bool {
        self.probe == *probe && self.trial == TrialChoice::One(0) && self.args.is_empty()
    }
}

/// Request to sample a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tap {
    /// Probe to sample.
    pub probe: ProbeId,
    /// Indices of the elements for a `Series` over a set, ignored for other probes.
    pub elements: Vec<u32>,
    /// Arguments of the probe.
    pub args: TapArgs,
    /// Trials that are read.
    pub trial: TrialChoice,
}

impl Tap {
    /// Creates a tap of a probe without arguments.
    pub const fn of(probe: ProbeId) -> Self {
        Self { probe, elements: vec![], args: TapArgs::NONE, trial: TrialChoice::One(0) }
    }

    /// Creates a tap of a series over the given elements.
    pub const fn elements(probe: ProbeId, elements: Vec<u32>) -> Self {
        Self { probe, elements, args: TapArgs::NONE, trial: TrialChoice::One(0) }
    }

    /// Creates a tap of a probe with arguments.
    pub const fn with(probe: ProbeId, args: TapArgs) -> Self {
        Self { probe, elements: vec![], args, trial: TrialChoice::One(0) }
    }

    /// Returns the key of the readings.
    pub fn key(&self) -> TapKey {
        TapKey { probe: self.probe, trial: self.trial, args: self.args.clone() }
    }

    /// Whether a reading with this key belongs to the tap.
    pub fn has_key(&self, key: &TapKey) -> bool {
        let is_of_trial = match (self.trial, key.trial) {
            (TrialChoice::All, TrialChoice::One(_)) => true,
            (wanted, read) => wanted == read,
        };
        self.probe == key.probe && is_of_trial && self.args == key.args
    }

    /// Adds taps to a list, which then has one tap per key with the elements of all taps of that key.
    pub fn merge(list: &mut Vec<Self>, more: impl IntoIterator<Item = Self>) {
        for tap in more {
            match list.iter_mut().find(|t| (t.probe, t.trial, &t.args) == (tap.probe, tap.trial, &tap.args)) {
                Some(known) => {
                    known.elements.extend(tap.elements);
                    known.elements.sort_unstable();
                    known.elements.dedup();
                }
                None => list.push(tap),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[ArgSpec] = &[
        ArgSpec { name: "layer", docs: "", values: ArgValues::Listed },
        ArgSpec { name: "prompt", docs: "", values: ArgValues::Text },
    ];

    #[test]
    fn arguments_are_read_back_in_the_declared_order() {
        let args = TapArgs::parse("prompt=a%2Cb%3D%2F, layer=2", SPECS).unwrap();
        assert_eq!(args.as_str(), "layer=2,prompt=a%2Cb%3D%2F");
        assert_eq!(args.get("prompt").as_deref(), Some("a,b=/"));
        assert_eq!(args, TapArgs::parse(args.as_str(), SPECS).unwrap());
        assert_eq!(args.with(SPECS, "layer", "é:").words(), "layer é:, prompt a,b=/");
        assert_eq!(TapArgs::parse("", SPECS).unwrap(), TapArgs::NONE);
        assert!(TapArgs::parse("head=1", SPECS).unwrap_err().contains("`head`; arguments: layer, prompt"));
    }

    #[test]
    fn taps_are_merged_by_probe_and_arguments() {
        let layer = |n: &str| TapArgs::new([("layer", n)]);
        let mut list = vec![Tap::elements(1, vec![5])];
        Tap::merge(&mut list, [Tap::elements(1, vec![3, 5]), Tap::with(1, layer("2")), Tap::with(1, layer("2"))]);
        assert_eq!(list, [Tap::elements(1, vec![3, 5]), Tap::with(1, layer("2"))]);
        assert!(list[0].key() == 1 && list[1].key() != 1);
    }
}
