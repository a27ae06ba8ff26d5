//! Types of values in HDF5 files, and attributes.

/// Type of a dataset or attribute, with its encoding in a datatype message.
#[derive(Clone, Debug)]
pub(in crate::export) struct Datatype {
    pub message: Vec<u8>,
    /// Size of a value, bytes.
    pub n_bytes: u32,
}

impl Datatype {
    fn new(class: u8, bits: [u8; 3], n_bytes: u32, properties: &[u8]) -> Self {
        let head = [[class], [bits[0]], [bits[1]], [bits[2]]].concat();
        Self { message: [&head, &n_bytes.to_le_bytes()[..], properties].concat(), n_bytes }
    }

    const VERSION_1: u8 = 1 << 4;
    const VERSION_3: u8 = 3 << 4;

    /// Unsigned integer, little-endian.
    pub fn unsigned(n_bytes: u32) -> Self {
        let precision = (n_bytes as u16 * 8).to_le_bytes();
        Self::new(Self::VERSION_1, [0; 3], n_bytes, &[0, 0, precision[0], precision[1]])
    }

    /// Signed integer in two's complement, little-endian.
    pub fn signed(n_bytes: u32) -> Self {
        let mut datatype = Self::unsigned(n_bytes);
        datatype.message[1] = 0x08;
        datatype
    }

    /// Floating point number of IEEE 754, little-endian.
    fn float(n_bytes: u32, [exponent_at, exponent_bits]: [u8; 2], bias: u32) -> Self {
        let precision = n_bytes as u8 * 8;
        let properties = [0, 0, precision, 0, exponent_at, exponent_bits, 0, exponent_at];
        let bits = [0x20, precision - 1, 0];
        Self::new(Self::VERSION_1 | 1, bits, n_bytes, &[&properties[..], &bias.to_le_bytes()].concat())
    }

    /// Text of a fixed number of bytes in UTF-8, filled with zeros.
    pub fn text(n_bytes: u32) -> Self {
        Self::new(Self::VERSION_1 | 3, [0x11, 0, 0], n_bytes.max(1), &[])
    }

    /// Text of variable length in UTF-8, in a heap.
    pub fn long_text() -> Self {
        Self::new(Self::VERSION_1 | 9, [1, 1, 0], 16, &Self::unsigned(1).message)
    }

    /// Names of the values 0, 1, 2, … of a byte.
    pub fn names(names: &[&str]) -> Self {
        let mut properties = Self::unsigned(1).message;
        for name in names {
            properties.extend_from_slice(name.as_bytes());
            properties.push(0);
        }
        properties.extend(0..names.len() as u8);
        Self::new(Self::VERSION_3 | 8, [names.len() as u8, 0, 0], 1, &properties)
    }
}

/// Number in a dataset.
pub(in crate::export) trait Number: Copy {
    /// Returns the type.
    fn datatype() -> Datatype;
    /// Appends the little-endian bytes.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($type:ty => $datatype:expr;)*) => { $(
        impl Number for $type {
            fn datatype() -> Datatype {
                $datatype
            }
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )* };
}
number! {
    i32 => Datatype::signed(4);
    u32 => Datatype::unsigned(4);
    u64 => Datatype::unsigned(8);
    f32 => Datatype::float(4, [23, 8], 127);
    f64 => Datatype::float(8, [52, 11], 1023);
}

/// Attribute of a group or dataset.
#[derive(Clone, Debug)]
pub(in crate::export) struct Attribute {
    name: &'static str,
    datatype: Datatype,
    /// Length of a one-dimensional attribute; `None` for a single value.
    len: Option<u64>,
    bytes: Vec<u8>,
}

impl Attribute {
    /// Creates an attribute of text.
    pub fn text(name: &'static str, text: &str) -> Self {
        let datatype = Datatype::text(text.len() as u32);
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(datatype.n_bytes as usize, 0);
        Self { name, datatype, len: None, bytes }
    }

    /// Creates an attribute of one number.
    pub fn number<T: Number>(name: &'static str, value: T) -> Self {
        let mut bytes = vec![];
        value.put(&mut bytes);
        Self { name, datatype: T::datatype(), len: None, bytes }
    }

    /// Creates an attribute of several numbers.
    pub fn numbers<T: Number>(name: &'static str, values: &[T]) -> Self {
        let mut bytes = vec![];
        values.iter().for_each(|value| value.put(&mut bytes));
        Self { name, datatype: T::datatype(), len: Some(values.len() as u64), bytes }
    }

    /// Creates an attribute with one of several names.
    pub fn choice(name: &'static str, names: &[&str], chosen: u8) -> Self {
        Self { name, datatype: Datatype::names(names), len: None, bytes: vec![chosen] }
    }

    /// Returns the attribute message.
    pub(super) fn message(&self) -> Vec<u8> {
        let space = dataspace(self.len.as_slice());
        let sizes = [self.name.len() + 1, self.datatype.message.len(), space.len()];
        let mut message = vec![3, 0];
        sizes.iter().for_each(|n| message.extend_from_slice(&(*n as u16).to_le_bytes()));
        message.push(0);
        message.extend_from_slice(self.name.as_bytes());
        message.push(0);
        message.extend_from_slice(&self.datatype.message);
        message.extend_from_slice(&space);
        message.extend_from_slice(&self.bytes);
        message
    }
}

/// Returns the dataspace message of a shape; an empty shape is a single value.
pub(super) fn dataspace(shape: &[u64]) -> Vec<u8> {
    let mut message = vec![2, shape.len() as u8, 0, u8::from(!shape.is_empty())];
    shape.iter().for_each(|n| message.extend_from_slice(&n.to_le_bytes()));
    message
}
