//! The declaration macros, for example:
//!
//! ```ignore
//! params! {
//!     /// The neuron model.
//!     pub struct Lif {
//!         /// Membrane time constant.
//!         #[param(unit = Ms, range = 1.0..=100.0, scale = Log)]
//!         tau_m: f64 = 20.0,
//!     }
//! }
//! ```
//!
//! `params!` generates the struct with public fields, `Default`, serde with defaults for missing fields, and
//! `ParamGroup`.

/// Declares a parameter group. Keys of `#[param(…)]` are the builder methods of
/// [`ParamSpec`](crate::params::ParamSpec); `#[show_if(|s| …)]` hides a field that does not apply; `#[alias("…")]` is a
/// former name that files, links and `--set` still accept; `#[omit_if("…")]` names a function of the value: files omit the
/// field where it returns true.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $group_docs:literal])*
        $vis:vis struct $Group:ident {
            $(
                $(#[doc = $docs:literal])*
                #[param($($key:ident = $value:expr),* $(,)?)]
                $(#[show_if($show:expr)])?
                $(#[alias($alias:literal)])*
                $(#[omit_if($omit:literal)])?
                $field:ident : $ty:ty = $default:expr
            ),* $(,)?
        }
    ) => {
        $(#[doc = $group_docs])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        $vis struct $Group {
            $(
                $(#[doc = $docs])* $(#[serde(alias = $alias)])* $(#[serde(skip_serializing_if = $omit)])?
                pub $field: $ty,
            )*
        }

        impl Default for $Group {
            fn default() -> Self { Self { $( $field: $default, )* } }
        }

        impl $crate::params::ParamGroup for $Group {
            const SPECS: &'static [$crate::params::ParamSpec] = {
                #[allow(unused_imports)]
                use $crate::params::{Apply::*, Role, Scale::*, Unit::*};
                use $crate::params::{ParamSpec, one_of};
                const FIELDS: &[ParamSpec] = &[ $( ParamSpec::new(
                    stringify!($field), concat!($($docs, "\n"),*), <$ty as $crate::params::ParamValue>::TYPE,
                ) $(.$key($value))* .aliases(&[ $($alias),* ]) ),* ];
                const ALL: [ParamSpec; one_of::n_with_parts(FIELDS)] = one_of::with_parts(FIELDS);
                &ALL
            };

            const NAMES: &'static [&'static str] = &[ $( stringify!($field), $($alias,)* )* ];

            fn field(&self, i: usize) -> $crate::params::Value {
                #[allow(unused_mut, unused_variables)]
                let mut n = 0..;
                $( if n.next() == Some(i) { return $crate::params::ParamValue::to_value(&self.$field); } )*
                panic!("{} has no parameter {i}", stringify!($Group))
            }

            #[allow(unused_mut, unused_variables)]
            fn set_field(&mut self, i: usize, value: &$crate::params::Value) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(i) {
                    return match $crate::params::ParamValue::from_value(value) {
                        Some(v) => { self.$field = v; true }
                        None => false,
                    };
                } )*
                false
            }

            #[allow(unused_mut, unused_variables)]
            fn shows_field(&self, i: usize, parts: &[$crate::params::one_of::Part]) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(i) {
                    $( let show: fn(&Self) -> bool = $show; if !show(self) { return false; } )?
                    return parts.is_empty() || $crate::params::ParamValue::shows_part(&self.$field, parts);
                } )*
                false
            }

            #[allow(unused_variables)]
            fn serialize_fields<S: serde::ser::SerializeStructVariant>(&self, fields: &mut S) -> Result<(), S::Error> {
                $( fields.serialize_field(stringify!($field), &self.$field)?; )*
                Ok(())
            }
        }
    };
}

/// Declares an enum of choices for a parameter. Files and the command line use the names of the variants.
/// `#[title("…")]` is the display name if the split name of the variant reads badly, `#[role(…)]` the role of a choice,
/// `#[alias("…")]` a former name, `#[replaces("Name", "why")]` a choice of earlier versions that is no longer offered.
#[macro_export]
macro_rules! choices {
    (
        $(#[doc = $enum_docs:literal])*
        $vis:vis enum $Name:ident { $(
            $(#[doc = $docs:literal])*
            $(#[title($title:literal)])?
            $(#[role($role:ident)])?
            $(#[alias($alias:literal)])*
            $(#[replaces($retired:literal, $why:literal)])*
            $Variant:ident
        ),* $(,)? }
    ) => {
        $(#[doc = $enum_docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $vis enum $Name { $( $(#[doc = $docs])* $(#[serde(alias = $alias)])* $Variant, )* }

        #[allow(dead_code, reason = "for the macros that build on this one")]
        impl $Name {
            /// All choices in declaration order.
            pub const ALL: &'static [Self] = &[ $( Self::$Variant ),* ];
        }

        impl $crate::params::ParamValue for $Name {
            const TYPE: $crate::params::ValueType = $crate::params::ValueType::Choice(&[
                $( $crate::params::ChoiceSpec {
                    name: stringify!($Variant),
                    title: concat!($($title)?),
                    docs: concat!($($docs, "\n"),*),
                    aliases: &[ $($alias),* ],
                    role: $crate::params::Role::or_plain(&[ $($crate::params::Role::$role)? ]),
                    replaces: &[ $($crate::params::RetiredChoice { name: $retired, why: $why }),* ],
                } ),*
            ]);
            fn to_value(&self) -> $crate::params::Value { $crate::params::Value::Choice(*self as u16) }
            fn from_value(value: &$crate::params::Value) -> Option<Self> {
                let $crate::params::Value::Choice(i) = value else { return None };
                Self::ALL.get(usize::from(*i)).copied()
            }
        }
    };
}

/// Declares a kind's parameters as a struct of groups. `name: Group` is one group, `name: [Group]` a list;
/// `#[title("…")]` is its heading, `#[role(…)]` its role, `#[show_if(|tree| …)]` hides a group that does not apply,
/// `#[alias("…")]` is a former name, `#[steps("…")]` the name of a step of the kind, in which the group counts steps.
#[macro_export]
macro_rules! param_tree {
    (
        $(#[doc = $tree_docs:literal])*
        $vis:vis struct $Tree:ident {
            $(
                $(#[doc = $docs:literal])*
                $(#[title($title:literal)])?
                $(#[role($role:ident)])?
                $(#[show_if($show:expr)])?
                $(#[alias($alias:literal)])*
                $(#[steps($steps:literal)])?
                $group:ident : $Group:tt
            ),* $(,)?
        }
    ) => {
        $(#[doc = $tree_docs])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        $vis struct $Tree { $( $(#[doc = $docs])* $(#[serde(alias = $alias)])* pub $group: $crate::param_tree!(@type $Group), )* }

        impl $crate::params::Params for $Tree {
            fn groups(&self) -> &'static [$crate::params::GroupSpec] {
                const GROUPS: &[$crate::params::GroupSpec] = &[ $( $crate::params::GroupSpec {
                    name: stringify!($group),
                    title: concat!($($title)?),
                    docs: concat!($($docs, "\n"),*),
                    aliases: &[ $($alias),* ],
                    role: $crate::params::Role::or_plain(&[ $($crate::params::Role::$role)? ]),
                    params: {
                        const DECLARED: &[$crate::params::ParamSpec] = <$crate::param_tree!(@type $Group) as $crate::params::TreeNode>::SPECS;
                        const NAMED: [$crate::params::ParamSpec; DECLARED.len()] =
                            $crate::params::named_steps(DECLARED, concat!($($steps)?));
                        &NAMED
                    },
                    list: <$crate::param_tree!(@type $Group) as $crate::params::TreeNode>::LIST,
                } ),* ];
                GROUPS
            }
            fn len(&self, group: u8) -> usize {
                let mut n = 0..;
                $( if n.next() == Some(group) { return $crate::params::TreeNode::count(&self.$group); } )*
                0
            }
            fn get(&self, id: $crate::params::ParamId) -> $crate::params::Value {
                let mut n = 0..;
                $( if n.next() == Some(id.group) { return $crate::params::TreeNode::read(&self.$group, id); } )*
                panic!("{} has no group {}", stringify!($Tree), id.group)
            }
            fn set(&mut self, change: &$crate::params::Change) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(change.id.group) { return $crate::params::TreeNode::write(&mut self.$group, change); } )*
                false
            }
            fn is_shown(&self, id: $crate::params::ParamId) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(id.group) {
                    $( let show: fn(&Self) -> bool = $show; if !show(self) { return false; } )?
                    return $crate::params::TreeNode::shown(&self.$group, id);
                } )*
                false
            }
            fn shows_group(&self, group: u8) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(group) {
                    return true $( && { let show: fn(&Self) -> bool = $show; show(self) } )?;
                } )*
                false
            }
            fn push(&mut self, group: u8) -> bool {
                let mut n = 0..;
                $( if n.next() == Some(group) { return $crate::params::TreeNode::append(&mut self.$group); } )*
                false
            }
        }
    };
    (@type [$Group:ty]) => { Vec<$Group> };
    (@type $Group:ty) => { $Group };
}
