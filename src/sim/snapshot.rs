//! Snapshots: the state of a simulation as named arrays that can be sent to another thread.
//!
//! A snapshot contains one copy of the state in host memory and never changes, so it can be written to disk while the
//! simulation continues. Its sections are found by name and shape, so a simulation with another learning rate, batch or
//! precision can continue from the snapshot.

use super::SimError;
use crate::num::{
    elements::{Bf16, Element as _, F16},
    halves,
};
use std::{fmt, sync::Arc};

/// Element type of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ElementType {
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE binary16, half precision.
    F16,
    /// bfloat16, truncated single precision.
    Bf16,
    /// IEEE binary32, single precision.
    F32,
    /// IEEE binary64, double precision.
    F64,
}

impl fmt::Display for ElementType {
    /// Formats the type as `f32` or `bf16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl ElementType {
    /// Returns the size of one element, bytes.
    pub const fn n_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Converts a floating-point element to f64.
    fn wide(self, bytes: &[u8]) -> f64 {
        let u16_of = |b: &[u8]| u16::from_le_bytes([b[0], b[1]]);
        match self {
            Self::F16 => f64::from(halves::from_f16_bits(u16_of(bytes))),
            Self::Bf16 => f64::from(halves::from_bf16_bits(u16_of(bytes))),
            Self::F32 => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            _ => bytes.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b)),
        }
    }
}

/// Number type that sections can hold.
pub trait Element: bytemuck::Pod + Default + Send + Sync {
    /// Element type of the section.
    const TYPE: ElementType;
    /// Rounds to the nearest value. The function is not called for integers.
    fn from_wide(x: f64) -> Self;
}

macro_rules! elements {
    ($($ty:ident = $type:ident),*) => {
        $( impl Element for $ty {
            const TYPE: ElementType = ElementType::$type;
            fn from_wide(x: f64) -> Self { x as $ty }
        } )*
    };
}

elements!(u8 = U8, i8 = I8, u32 = U32, i32 = I32, u64 = U64, f32 = F32, f64 = F64);

macro_rules! narrow_elements {
    ($($ty:ident = $type:ident),*) => {
        $( impl Element for $ty {
            const TYPE: ElementType = ElementType::$type;
            fn from_wide(x: f64) -> Self { Self::from_f32(x as f32) }
        } )*
    };
}

narrow_elements!(F16 = F16, Bf16 = Bf16);

/// Memory of a section: a vector of any element type, which is moved in without a copy.
trait Memory: Send + Sync {
    fn bytes(&self) -> &[u8];
}

struct Owned<T>(Vec<T>);

impl<T: bytemuck::Pod + Send + Sync> Memory for Owned<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// Named array. A clone shares its memory.
#[derive(Clone)]
pub struct Section {
    /// Name, which is unique in its snapshot.
    pub name: String,
    /// Type of the elements.
    pub element: ElementType,
    /// Extents, slowest dimension first; empty for a scalar.
    pub shape: Vec<u64>,
    memory: Arc<dyn Memory>,
}

impl Section {
    /// Creates a section from little-endian bytes; `None` if their number does not match type and shape.
    pub fn from_bytes(name: String, element: ElementType, shape: Vec<u64>, bytes: Vec<u8>) -> Option<Self> {
        (n_bytes(element, &shape) == Some(bytes.len() as u64)).then(|| Self {
            name,
            element,
            shape,
            memory: Arc::new(Owned(bytes)),
        })
    }

    /// Returns the section with another name, sharing its memory.
    pub fn named(&self, name: String) -> Self {
        Self { name, ..self.clone() }
    }

    /// Returns the elements as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Copies the elements to `to`; floating-point values of another precision are rounded. Fails unless the elements can
    /// be converted to `T`.
    fn copy_to<T: Element>(&self, to: &mut [T]) -> Result<(), SimError> {
        self.expect_elements::<T>()?;
        self.copy_range(0, to);
        Ok(())
    }

    /// Fails unless the elements can be converted to `T`.
    fn expect_elements<T: Element>(&self) -> Result<(), SimError> {
        if self.element == T::TYPE || self.element.is_float() && T::TYPE.is_float() {
            return Ok(());
        }
        Err(misfit(&format!("`{}` holds {}, expected {}", self.name, self.element, T::TYPE)))
    }

    /// Copies the elements from index `start` on, converted as in [`Snapshot::section`], which checks that they can be
    /// converted.
    pub fn copy_range<T: Element>(&self, start: usize, to: &mut [T]) {
        let size = self.element.n_bytes();
        let from = &self.bytes()[start * size..][..to.len() * size];
        if self.element == T::TYPE {
            bytemuck::cast_slice_mut::<T, u8>(to).copy_from_slice(from);
        } else {
            for (to, from) in to.iter_mut().zip(from.chunks_exact(size)) {
                *to = T::from_wide(self.element.wide(from));
            }
        }
    }
}

/// Returns the size of an array in bytes; `None` on overflow.
pub fn n_bytes(element: ElementType, shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(element.n_bytes() as u64, |n, size| n.checked_mul(*size))
}

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.element, &self.shape) == (&other.name, other.element, &other.shape)
            && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}{:?}", self.name, self.element, self.shape)
    }
}

/// State of a simulation between two steps. The state and the parameters are everything needed to continue bit for bit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Model of the state, e.g. `nuclei`. Sections of another model have other meanings.
    pub model: String,
    /// Arrays of the state.
    pub sections: Vec<Section>,
}

/// Creates the error for a snapshot that does not fit.
pub fn misfit(why: &str) -> SimError {
    SimError::Input(format!("the saved state does not fit: {why}"))
}

impl Snapshot {
    /// Creates a snapshot without sections.
    pub fn new(model: &str) -> Self {
        Self { model: model.to_owned(), sections: vec![] }
    }

    /// Adds an array and takes over its memory.
    pub fn array<T: Element>(&mut self, name: &str, shape: &[usize], values: Vec<T>) {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
        let shape = shape.iter().map(|n| *n as u64).collect();
        self.sections.push(Section { name: name.into(), element: T::TYPE, shape, memory: Arc::new(Owned(values)) });
    }

    /// Adds a one-dimensional array.
    pub fn list<T: Element>(&mut self, name: &str, values: Vec<T>) {
        self.array(name, &[values.len()], values);
    }

    /// Adds an array of 16-bit floating-point values given as bits.
    pub fn halves(&mut self, name: &str, element: ElementType, shape: &[usize], bits: Vec<u16>) {
        debug_assert_eq!(element.n_bytes(), 2, "{name}");
        let shape = shape.iter().map(|n| *n as u64).collect();
        self.sections.push(Section { name: name.into(), element, shape, memory: Arc::new(Owned(bits)) });
    }

    /// Adds a scalar.
    pub fn number<T: Element>(&mut self, name: &str, value: T) {
        self.array(name, &[], vec![value]);
    }

    /// Returns the host memory in use, bytes.
    pub fn n_bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.bytes().len() as u64).sum()
    }

    /// Fails unless the snapshot is of the model `model`.
    pub fn expect_model(&self, model: &str) -> Result<(), SimError> {
        if self.model == model { Ok(()) } else { Err(misfit(&format!("it is of `{}`, not of `{model}`", self.model))) }
    }

    /// Returns the section with the name `name`; `None` if there is no such section.
    pub fn get(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    fn expect(&self, name: &str) -> Result<&Section, SimError> {
        self.get(name).ok_or_else(|| misfit(&format!("it has no section `{name}`")))
    }

    /// Returns the section of an array. Fails unless the section exists, has the shape `shape` and its elements can be
    /// converted to `T`.
    pub fn section<T: Element>(&self, name: &str, shape: &[usize]) -> Result<&Section, SimError> {
        let section = self.shaped(name, shape)?;
        section.expect_elements::<T>()?;
        Ok(section)
    }

    /// Copies an array of the shape `shape` to `to` without allocating. Fails under the conditions of
    /// [`Snapshot::section`].
    pub fn copy<T: Element>(&self, name: &str, shape: &[usize], to: &mut [T]) -> Result<(), SimError> {
        self.shaped(name, shape)?.copy_to(to)
    }

    /// Reads an array of 16-bit floating-point values of the shape `shape` as bits; other precisions are rounded. Fails if
    /// there is no such array or its elements are integers.
    pub fn read_halves(&self, name: &str, element: ElementType, shape: &[usize]) -> Result<Vec<u16>, SimError> {
        let section = self.shaped(name, shape)?;
        let bytes = section.bytes();
        if section.element == element {
            return Ok(bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect());
        }
        if !section.element.is_float() {
            return Err(misfit(&format!("`{name}` holds {}, expected {element}", section.element)));
        }
        let round = if element == ElementType::F16 { halves::f16_bits } else { halves::bf16_bits };
        let values = bytes.chunks_exact(section.element.n_bytes()).map(|b| section.element.wide(b) as f32);
        Ok(values.map(round).collect())
    }

    /// Reads an array of the shape `shape`. Fails under the conditions of [`Snapshot::section`].
    pub fn read<T: Element>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>, SimError> {
        let section = self.shaped(name, shape)?;
        let mut values = vec![T::zeroed(); shape.iter().product()];
        section.copy_to(&mut values)?;
        Ok(values)
    }

    /// Reads a one-dimensional array of any length. Fails if there is no such array or its elements cannot be converted.
    pub fn read_list<T: Element>(&self, name: &str) -> Result<Vec<T>, SimError> {
        match self.expect(name)?.shape[..] {
            [len] => self.read(name, &[len as usize]),
            _ => Err(misfit(&format!("`{name}` is not a list"))),
        }
    }

    /// Reads a scalar. Fails under the conditions of [`Snapshot::section`].
    pub fn read_number<T: Element>(&self, name: &str) -> Result<T, SimError> {
        let mut value = [T::zeroed()];
        self.copy(name, &[], &mut value)?;
        Ok(value[0])
    }

    fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Section, SimError> {
        let section = self.expect(name)?;
        if section.shape.iter().copied().eq(shape.iter().map(|n| *n as u64)) {
            return Ok(section);
        }
        Err(misfit(&format!("`{name}` has shape {:?}, expected {shape:?}", section.shape)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_name_and_shape_and_converted() {
        let mut snapshot = Snapshot::new("test");
        snapshot.array("w", &[2, 3], vec![1.5_f32, -2.0, 0.0, 3.0, 1.0e9, 7.25]);
        snapshot.halves("b", ElementType::Bf16, &[2], vec![0x3f80, 0xc000]);
        snapshot.list("ids", vec![7_u32, 9]);
        snapshot.number("step", 12_u64);
        assert_eq!(snapshot.n_bytes(), 24 + 4 + 8 + 8);
        assert_eq!(snapshot.read::<f64>("w", &[2, 3]).unwrap()[4], 1.0e9);
        assert_eq!(snapshot.read::<f32>("b", &[2]).unwrap(), [1.0, -2.0]);
        assert_eq!(snapshot.read_halves("w", ElementType::Bf16, &[2, 3]).unwrap()[..2], [0x3fc0, 0xc000]);
        assert_eq!(snapshot.read_list::<u32>("ids").unwrap(), [7, 9]);
        assert_eq!(snapshot.read_number::<u64>("step").unwrap(), 12);
        let text = |e: SimError| e.to_string();
        assert!(snapshot.read::<f32>("w", &[3, 2]).map_err(text).unwrap_err().contains("[2, 3], expected [3, 2]"));
        assert!(snapshot.read::<f32>("ids", &[2]).map_err(text).unwrap_err().contains("holds u32, expected f32"));
        assert!(snapshot.read_number::<u64>("x").map_err(text).unwrap_err().contains("no section `x`"));
        assert!(snapshot.expect_model("other").is_err());
        assert!(Section::from_bytes("x".into(), ElementType::F32, vec![2], vec![0; 7]).is_none());
        assert!(Section::from_bytes("x".into(), ElementType::F64, vec![u64::MAX, 2], vec![]).is_none());
    }
}
