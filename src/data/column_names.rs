//! Finds columns by name, ignoring case, spaces and punctuation if no name matches exactly.

use super::messages;

/// Names of the column of synapse counts, most specific first.
pub const WEIGHTS: &[&str] = &[
    "w",
    "weight",
    "syn_count",
    "n_syn",
    "n_synapses",
    "synapses",
    "synapse_count",
    "num_synapses",
    "count",
    "n",
    "connectivity",
];
/// Names of the column of neuron ids.
pub const IDS: &[&str] = &["root_id", "pt_root_id", "body_id"];

/// Returns a name in lower case without spaces and punctuation: `Syn. count` as `syncount`.
fn normalized(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the column with the first of these names that matches exactly, or else ignoring case, spaces and punctuation; `None`
/// if none matches.
pub fn find<S: AsRef<str>>(wanted: &[&str], there: &[S]) -> Option<usize> {
    let exact = |w: &&str| there.iter().position(|name| name.as_ref() == *w);
    let known: Vec<String> = there.iter().map(|name| normalized(name.as_ref())).collect();
    let similar = |w: &&str| known.iter().position(|name| *name == normalized(w));
    wanted.iter().find_map(exact).or_else(|| wanted.iter().find_map(similar))
}

/// Returns an error if a name occurs twice, because the wanted column is unclear. Columns without a name may repeat.
pub fn reject_repeated<S: AsRef<str>>(names: &[S]) -> Result<(), String> {
    let is_repeated = |(at, name): &(usize, &S)| {
        !name.as_ref().is_empty() && names[..*at].iter().any(|earlier| earlier.as_ref() == name.as_ref())
    };
    match names.iter().enumerate().find(is_repeated) {
        Some((_, name)) => {
            let name = messages::truncated(name.as_ref());
            Err(format!("the column \"{name}\" occurs twice; remove or rename one"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_spaces_and_punctuation_are_ignored() {
        for name in ["Syn. count", "syn_count", "SYN-COUNT", "Syn. Count", "n_syn", "N syn.", "Synapses", "weight"] {
            assert_eq!(find(WEIGHTS, &["pre", "post", name]), Some(2), "{name}");
        }
        assert_eq!(find(WEIGHTS, &["W", "w"]), Some(1), "an exact name goes first");
        assert_eq!(find(WEIGHTS, &["syn_count_score", "neuropil"]), None);
        assert_eq!(find(IDS, &["Root ID"]), Some(0));
    }

    #[test]
    fn repeated_names_are_refused() {
        assert!(reject_repeated(&["pre", "post", "pre"]).unwrap_err().contains("\"pre\" occurs twice"));
        assert!(reject_repeated(&["pre", "post", "", ""]).is_ok());
    }
}
