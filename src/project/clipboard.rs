//! Parameters as text for the clipboard: a RON map from path to value with its unit, to be pasted into another project
//! or into a message. Pasting adds missing list items.

use super::file::from_ron;
use crate::params::{Change, ParamId, Params, ValueType, path};
use std::fmt::Write as _;

/// Maximum length of a list after pasting.
const MAX_ITEMS: usize = 10_000;

/// Formats the parameters for which `wanted` holds as text.
pub fn copy(params: &dyn Params, kind: &str, wanted: impl Fn(ParamId) -> bool) -> String {
    let mut out = format!("/* Parameters of {kind}, Neuropil {} */\n{{\n", env!("CARGO_PKG_VERSION"));
    for id in params.ids().into_iter().filter(|id| wanted(*id)) {
        // A sum type is copied as its chosen group with the group's parameters.
        if let Some(spec) = params.spec(id).filter(|spec| spec.part.is_none()) {
            let _ = writeln!(out, "    {:?}: {:?},", params.path(id), path::show(spec, &params.get(id)));
        }
    }
    out + "}\n"
}

/// Applies the text of [`copy`]. Returns the number of parameters set, and a message per rejected parameter. Fails for any
/// other text.
pub fn paste(params: &mut dyn Params, text: &str) -> Result<(usize, Vec<String>), String> {
    let pairs = from_ron::<Pairs>(text).map_err(|e| format!("not a list of parameters: {e}"))?.0;
    let (mut set, mut rejected) = (0, vec![]);
    for (name, value) in pairs {
        add_items(params, &name);
        match path::parse(params, &format!("{name}={value}")) {
            Ok(change) if params.set(&change) => set += 1,
            Ok(_) => rejected.push(format!("{name} does not accept {value}")),
            Err(e) => rejected.push(e.to_string()),
        }
    }
    Ok((set, rejected))
}

/// Appends list items until the path exists: `selections.2.name` needs three selections.
fn add_items(params: &mut dyn Params, name: &str) {
    let mut parts = name.split('.');
    let (Some(list), Some(item)) = (parts.next(), parts.next().and_then(|i| i.parse::<usize>().ok())) else { return };
    let Some(group) = params.groups().iter().position(|g| g.list && g.name == list) else { return };
    while params.len(group as u8) <= item.min(MAX_ITEMS - 1) && params.push(group as u8) {}
}

/// Formats one parameter with its unit, as `Ctrl+C` on a row copies it: `20 ms`. Returns an empty text if the parameter
/// does not exist.
pub fn copy_one(params: &dyn Params, id: ParamId) -> String {
    params.spec(id).map(|spec| path::show(spec, &params.get(id))).unwrap_or_default()
}

/// Parses the change that `Ctrl+V` on a row makes. Fails with the reason if the text is rejected.
pub fn paste_one(params: &dyn Params, id: ParamId, text: &str) -> Result<Change, String> {
    let spec = params.spec(id).ok_or("this row accepts no text")?;
    let text =
        if matches!(spec.kind, ValueType::Text | ValueType::Query | ValueType::Path) { text } else { text.trim() };
    let value = path::parse_value(spec, text)?;
    spec.refusal(&value).map_or(Ok(Change { id, value }), Err)
}

/// RON map of strings that keeps the order of the text.
struct Pairs(Vec<(String, String)>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map from paths to values")
            }
            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                let mut pairs = vec![];
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kinds::Model, params::Value};

    #[test]
    fn copy_and_paste_round_trip_for_every_kind() {
        for mut model in Model::all() {
            let params = model.params_mut();
            for g in 0..params.groups().len() {
                params.push(g as u8);
                params.push(g as u8);
            }
            for id in params.ids() {
                let value = match params.get(id) {
                    Value::Text(_) => Value::Text("two \"words\"\nand a line".into()),
                    Value::Bool(b) => Value::Bool(!b),
                    other => other,
                };
                params.set(&Change { id, value });
            }
            let text = copy(model.params(), model.name(), |_| true);
            let mut other = Model::by_name(model.name()).unwrap();
            let (taken, left) = paste(other.params_mut(), &text).unwrap();
            assert!(left.is_empty(), "{left:?}");
            let ids = model.params().ids().into_iter();
            assert_eq!(taken, ids.filter(|id| model.params().spec(*id).unwrap().part.is_none()).count());
            assert_eq!(other, model);
        }
    }

    #[test]
    fn valid_values_are_pasted_and_others_reported() {
        let mut model = Model::by_name("spiking").unwrap();
        let text = r#"{ "lif.tau_m": "30 ms", "lif.v_rest": "3 s", "unknown": "1" }"#;
        let (taken, left) = paste(model.params_mut(), text).unwrap();
        assert_eq!((taken, left.len()), (1, 2));
        assert!(left[0].contains("is a time; expected a voltage"), "{left:?}");
        assert!(paste(model.params_mut(), "hello").is_err());
        let huge = r#"{ "selections.60000.name": "x" }"#;
        assert_eq!(paste(model.params_mut(), huge).unwrap().0, 0);
    }
}
