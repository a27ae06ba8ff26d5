//! Colours of lanes, shared by all views.

use crate::{
    app::kit::{colors, theme::Tokens},
    engine::SimSchema,
    sim::{Column, ElementSet},
};
use egui::Color32;

/// Finds the first column whose labels include more than half of the lane names, and its set; `None` if there is no
/// such column.
pub fn column_of<'a>(schema: &'a SimSchema, names: &[String]) -> Option<(&'a ElementSet, &'a Column)> {
    let columns = schema.sets.iter().flat_map(|s| s.columns.iter().map(|c| (&**s, c)));
    let fits = |c: &Column| names.iter().filter(|n| c.labels.contains(n)).count() * 2 > names.len();
    columns.into_iter().find(|(_, c)| fits(c))
}

/// Returns one colour per lane. If [`column_of`] finds a column, lanes named after its categories have their colours and other
/// lanes the text colour; otherwise lanes cycle through the categorical colours. A single lane has the text colour.
pub fn lane_colors(schema: &SimSchema, names: &[String], tokens: &Tokens) -> Vec<Color32> {
    if names.len() <= 1 {
        return vec![tokens.text; 1];
    }
    let known = column_of(schema, names).map(|(_, c)| (c, colors::of_column(c, tokens)));
    let color = |(i, name): (usize, &String)| {
        let code = known.as_ref().and_then(|(c, _)| c.labels.iter().position(|l| l == name));
        match (&known, code) {
            (Some((_, colors)), Some(code)) => colors[code],
            (Some(_), None) => tokens.text,
            _ => colors::categorical(i, tokens),
        }
    };
    names.iter().enumerate().map(color).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn lanes_named_after_classes_have_their_colours() {
        let (tokens, texts) = (Tokens::dark(), ["a", "a", "b"]);
        let set = ElementSet { len: 3, columns: vec![Column::from_texts("class", &texts)], ..ElementSet::default() };
        let schema = SimSchema { sets: vec![Arc::new(set)], ..SimSchema::default() };
        let named = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let of_class = colors::of_column(&schema.sets[0].columns[0], &tokens);
        assert_eq!(lane_colors(&schema, &named(&["b", "a"]), &tokens), [of_class[1], of_class[0]]);
        assert!(column_of(&schema, &named(&["x", "y"])).is_none());
        assert_eq!(lane_colors(&schema, &named(&["x", "y"]), &tokens)[1], colors::categorical(1, &tokens));
    }
}
