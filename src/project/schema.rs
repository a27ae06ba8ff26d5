//! Finds the field names of a type with serde: a deserializer follows a path and reports the field names and aliases that
//! serde accepts there, so that no second list of names is needed.

use serde::{
    Deserialize,
    de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};
use std::fmt;
use strsim::levenshtein;

/// Step of a path in a type.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Descends into a field.
    Field(String),
    /// Descends into the items of a list.
    Item,
    /// Descends into a variant of an enum.
    Variant(String),
}

/// Returns the fields of the struct at a path in `T`; `None` if there is no struct at the path.
pub(super) fn fields_at<'de, T: Deserialize<'de>>(path: &[Step]) -> Option<&'static [&'static str]> {
    match T::deserialize(Walker(path)) {
        Err(Answer(fields)) => fields,
        Ok(_) => None,
    }
}

/// Formats a suggestion `; did you mean …?`. The text is empty if no name is similar.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let best = known.into_iter().map(|k| (levenshtein(name, k), k)).min();
    match best.filter(|(d, k)| *d <= 1 + k.len() / 3) {
        Some((_, k)) => format!("; did you mean `{k}`?"),
        None => String::new(),
    }
}

/// Error that carries the result, because every walk ends in an error.
#[derive(Debug)]
struct Answer(Option<&'static [&'static str]>);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Answer {}

impl de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

struct Walker<'a>(&'a [Step]);

impl<'de> de::Deserializer<'de> for Walker<'_> {
    type Error = Answer;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Answer> {
        match self.0 {
            [] => Err(Answer(Some(fields))),
            [Step::Field(name), rest @ ..] => visitor.visit_map(Only(Some(name), rest)),
            _ => Err(Answer(None)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        match self.0 {
            [Step::Item, rest @ ..] => visitor.visit_seq(Only(None, rest)),
            _ => Err(Answer(None)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Answer> {
        match self.0 {
            [Step::Variant(name), rest @ ..] => visitor.visit_enum(Only(Some(name), rest)),
            _ => Err(Answer(None)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer(None))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map identifier ignored_any
    }
}

/// Map, list or enum with one entry, to which the rest of the path applies.
struct Only<'a>(Option<&'a str>, &'a [Step]);

impl<'de> MapAccess<'de> for Only<'_> {
    type Error = Answer;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Answer> {
        self.0.take().map(|name| seed.deserialize(StrDeserializer::new(name))).transpose()
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Answer> {
        seed.deserialize(Walker(self.1))
    }
}

impl<'de> SeqAccess<'de> for Only<'_> {
    type Error = Answer;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Answer> {
        seed.deserialize(Walker(self.1)).map(Some)
    }
}

impl<'de> EnumAccess<'de> for Only<'_> {
    type Error = Answer;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Answer> {
        let name = seed.deserialize(StrDeserializer::new(self.0.unwrap_or_default()))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Only<'_> {
    type Error = Answer;
    fn unit_variant(self) -> Result<(), Answer> {
        Err(Answer(None))
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Answer> {
        seed.deserialize(Walker(self.1))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Answer> {
        Err(Answer(None))
    }
    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Answer> {
        de::Deserializer::deserialize_struct(Walker(self.1), "", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Outer {
        plain: u32,
        wrapped: Option<Vec<Inner>>,
        one: Choice,
    }
    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Inner {
        #[serde(alias = "old")]
        new: f64,
    }
    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    enum Choice {
        Boxed(Box<Inner>),
        Named { inner: Inner },
        Unit,
    }

    #[test]
    fn field_names_are_found_by_path() {
        let field = |n: &str| Step::Field(n.into());
        assert_eq!(fields_at::<Outer>(&[]), Some(&["plain", "wrapped", "one"][..]));
        assert_eq!(fields_at::<Outer>(&[field("wrapped"), Step::Item]).map(<[_]>::len), Some(2), "alias included");
        let variant = Step::Variant("Boxed".into());
        assert!(fields_at::<Outer>(&[field("one"), variant]).is_some_and(|f| f.contains(&"old")));
        let named = [field("one"), Step::Variant("Named".into())];
        assert_eq!(fields_at::<Outer>(&named), Some(&["inner"][..]));
        assert!(fields_at::<Outer>(&[&named[..], &[field("inner")]].concat()).is_some_and(|f| f.contains(&"new")));
        assert_eq!(fields_at::<Outer>(&[field("plain")]), None);
        assert_eq!(fields_at::<Outer>(&[field("missing")]), None);
        assert_eq!(fields_at::<Outer>(&[field("one"), Step::Variant("Unit".into())]), None);
    }
}
