//! Sum types: a parameter that holds one of several groups. [`one_of!`](crate::one_of!) declares one:
//!
//! ```ignore
//! one_of! {
//!     /// Plasticity rule.
//!     pub enum Rule {
//!         /// Weights do not change.
//!         Static(NoParameters),
//!         /// Spike-timing-dependent plasticity of pairs.
//!         Pair(PairRule),
//!     }
//! }
//! params! {
//!     /// Plasticity.
//!     pub struct Plasticity {
//!         /// The rule.
//!         #[param(apply = Rebuild)]
//!         rule: Rule = Rule::Static(NoParameters {}),
//!     }
//! }
//! ```
//!
//! `plasticity.rule=Pair` chooses, `plasticity.rule.tau_plus=20ms` sets a parameter of the chosen group, and files hold
//! `rule: Pair(tau_plus: 20.0)`. The parameters of all groups follow the fields in [`ParamGroup::SPECS`];
//! [`ParamSpec::part`] is their position in the sum type. Parameters of a group that is not chosen have their defaults
//! and cannot be set. A group may hold sum types itself: `lif.start.spread.sigma`.

use super::{ChoiceSpec, ParamGroup, ParamSpec, Value, ValueType};
use serde::{
    Deserializer, Serializer,
    de::{self, DeserializeSeed, MapAccess, VariantAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeStructVariant as _,
};
use std::{fmt, marker::PhantomData};

/// Group of a sum type.
#[derive(Clone, Copy, Debug)]
pub struct VariantSpec {
    /// Name and documentation of the group.
    pub choice: ChoiceSpec,
    /// Parameters: the fields, followed by those of the groups in its sum types.
    pub params: &'static [ParamSpec],
    /// Returns the defaults of the fields.
    pub defaults: fn() -> Vec<Value>,
}

impl VariantSpec {
    /// Returns the fields of the group, in the order of the values in a value of the sum type.
    pub const fn fields(&self) -> &'static [ParamSpec] {
        self.params.split_at(n_fields(self.params)).0
    }
}

impl PartialEq for VariantSpec {
    fn eq(&self, other: &Self) -> bool {
        self.choice == other.choice
    }
}

impl Eq for VariantSpec {}

/// Position of a parameter within a sum type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the parameter that holds the sum type: a field, or a parameter of an outer sum type.
    pub field: u8,
    /// Index of the group in the sum type.
    pub variant: u16,
    /// Index of the parameter in its group.
    pub index: u8,
}

impl Part {
    /// Reads the parameter from a value of its sum type; returns the default of the parameter if another group is chosen.
    pub(super) fn read(self, kind: ValueType, sum: Value) -> Value {
        let index = usize::from(self.index);
        match sum {
            Value::Variant(variant, mut row) if variant == self.variant && index < row.len() => row.swap_remove(index),
            _ => kind.variants().get(usize::from(self.variant)).map_or(Value::Bool(false), |v| {
                let mut row = (v.defaults)();
                row.swap_remove(index)
            }),
        }
    }

    /// Returns the value of the sum type with the parameter changed to `value`; `None` if another group is chosen.
    pub(super) fn write(self, sum: Value, value: &Value) -> Option<Value> {
        let Value::Variant(variant, mut row) = sum else { return None };
        let slot = row.get_mut(usize::from(self.index)).filter(|_| variant == self.variant)?;
        *slot = value.clone();
        Some(Value::Variant(variant, row))
    }
}

/// Returns the index of the field that contains a parameter, and the parts that lead from the field to the parameter. There
/// are no parts if the parameter is itself a field.
pub fn parts_to(specs: &[ParamSpec], mut i: usize) -> (usize, Vec<Part>) {
    let mut parts = vec![];
    while let Some(part) = specs.get(i).and_then(|spec| spec.part) {
        parts.push(part);
        i = part.field.into();
    }
    parts.reverse();
    (i, parts)
}

/// Returns the number of fields, which precede the parts.
pub const fn n_fields(specs: &[ParamSpec]) -> usize {
    let mut n = 0;
    while n < specs.len() && specs[n].part.is_none() {
        n += 1;
    }
    n
}

/// Returns the number of fields and of the parameters of all groups in them.
pub const fn n_with_parts(fields: &[ParamSpec]) -> usize {
    let (mut n, mut f) = (fields.len(), 0);
    while f < fields.len() {
        let variants = fields[f].kind.variants();
        let mut v = 0;
        while v < variants.len() {
            n += variants[v].params.len();
            v += 1;
        }
        f += 1;
    }
    n
}

/// Returns the fields, followed by the parameters of their groups level by level.
pub const fn with_parts<const N: usize>(fields: &[ParamSpec]) -> [ParamSpec; N] {
    assert!(N < super::ParamId::WHOLE as usize, "a group has 254 parameters at most");
    let mut all = [ParamSpec::new("", "", ValueType::Bool); N];
    let (mut n, mut f) = (0, 0);
    while n < fields.len() {
        all[n] = fields[n];
        n += 1;
    }
    while f < n {
        let variants = all[f].kind.variants();
        let mut v = 0;
        while v < variants.len() {
            let mut index = 0;
            while index < variants[v].fields().len() {
                let mut spec = variants[v].params[index];
                spec.part = Some(Part { field: f as u8, variant: v as u16, index: index as u8 });
                all[n] = spec;
                n += 1;
                index += 1;
            }
            v += 1;
        }
        f += 1;
    }
    all
}

crate::params! {
    /// Group of a choice without parameters. Files hold its name alone.
    pub struct NoParameters {}
}

/// Serialises the chosen group as `Variant(field: …)`, or as its name if the group has no parameters. Fails if the
/// serializer fails.
pub fn serialize<G: ParamGroup, S: Serializer>(
    group: &G,
    serializer: S,
    (name, index, variant): (&'static str, u16, &'static str),
) -> Result<S::Ok, S::Error> {
    if G::SPECS.is_empty() {
        return serializer.serialize_unit_variant(name, index.into(), variant);
    }
    let mut fields = serializer.serialize_struct_variant(name, index.into(), variant, n_fields(G::SPECS))?;
    group.serialize_fields(&mut fields)?;
    fields.end()
}

/// Deserialises the content of a variant. Missing fields get their defaults. Fails if a field has the wrong type.
pub fn deserialize<'de, G: ParamGroup, A: VariantAccess<'de>>(variant: A) -> Result<G, A::Error> {
    if G::SPECS.is_empty() {
        variant.unit_variant()?;
        return Ok(G::default());
    }
    variant.struct_variant(G::NAMES, Fields(PhantomData))
}

struct Fields<G>(PhantomData<G>);

impl<'de, G: ParamGroup> Visitor<'de> for Fields<G> {
    type Value = G;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("named parameters in parentheses")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<G, A::Error> {
        G::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Deserialises the current or a former name of a variant as the index of the variant.
pub struct VariantName {
    /// Variants of the sum type.
    pub variants: &'static [VariantSpec],
    /// Current and former names of the variants.
    pub names: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for VariantName {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for VariantName {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a variant")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<usize, E> {
        let is_called = |v: &VariantSpec| v.choice.name == name || v.choice.aliases.contains(&name);
        self.variants.iter().position(is_called).ok_or_else(|| E::unknown_variant(name, self.names))
    }
}

/// Declares a sum type of parameter groups: an enum whose variants hold one group each ([`NoParameters`] for a choice
/// without parameters). `#[title("…")]`, `#[role(…)]` and `#[alias("…")]` work as in [`choices!`](crate::choices!).
#[macro_export]
macro_rules! one_of {
    (
        $(#[doc = $enum_docs:literal])*
        $vis:vis enum $Name:ident { $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
            $(#[role($role:ident)])?
            $(#[alias($alias:literal)])*
            $Variant:ident ( $Group:ty )
        ),* $(,)? }
    ) => {
        $(#[doc = $enum_docs])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $Name { $( $(#[doc = $docs])* $Variant($Group), )* }

        const _: () = {
            use $crate::params::{ParamGroup, ParamValue, Role, Value, ValueType, one_of};
            use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

            enum Index { $( $Variant ),* }

            const VARIANTS: &[one_of::VariantSpec] = &[ $( one_of::VariantSpec {
                choice: $crate::params::ChoiceSpec {
                    name: stringify!($Variant),
                    title: concat!($($title)?),
                    docs: concat!($($docs, "\n"),*),
                    aliases: &[ $($alias),* ],
                    role: Role::or_plain(&[ $(Role::$role)? ]),
                    replaces: &[],
                },
                params: <$Group as ParamGroup>::SPECS,
                defaults: || <$Group as ParamGroup>::row(&<$Group>::default()),
            } ),* ];
            const NAMES: &[&str] = &[ $( stringify!($Variant), $($alias,)* )* ];

            impl ParamValue for $Name {
                const TYPE: ValueType = ValueType::OneOf(VARIANTS);
                fn to_value(&self) -> Value {
                    match self { $( Self::$Variant(group) => Value::Variant(Index::$Variant as u16, group.row()), )* }
                }
                fn from_value(value: &Value) -> Option<Self> {
                    let Value::Variant(variant, row) = value else { return None };
                    $( if *variant == Index::$Variant as u16 {
                        return <$Group as ParamGroup>::from_row(row).map(Self::$Variant);
                    } )*
                    None
                }
                fn shows_part(&self, parts: &[one_of::Part]) -> bool {
                    let [part, parts @ ..] = parts else { return true };
                    match self { $( Self::$Variant(group) => {
                        part.variant == Index::$Variant as u16 && group.shows_field(part.index.into(), parts)
                    } )* }
                }
            }

            impl Serialize for $Name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    match self { $( Self::$Variant(group) => {
                        let variant = (stringify!($Name), Index::$Variant as u16, stringify!($Variant));
                        one_of::serialize(group, serializer, variant)
                    } )* }
                }
            }

            impl<'de> Deserialize<'de> for $Name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    struct Reader;
                    impl<'de> de::Visitor<'de> for Reader {
                        type Value = $Name;
                        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                            f.write_str(concat!("one of", $(" ", stringify!($Variant)),*))
                        }
                        fn visit_enum<A: de::EnumAccess<'de>>(self, access: A) -> Result<$Name, A::Error> {
                            let name = one_of::VariantName { variants: VARIANTS, names: NAMES };
                            let (index, variant) = access.variant_seed(name)?;
                            $( if index == Index::$Variant as usize {
                                return one_of::deserialize::<$Group, _>(variant).map($Name::$Variant);
                            } )*
                            unreachable!("the name of a variant is its index")
                        }
                    }
                    deserializer.deserialize_enum(stringify!($Name), NAMES, Reader)
                }
            }
        };
    };
}
