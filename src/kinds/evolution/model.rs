//! Sizes, tensors and weights of the model.

use super::noise::{mix, splitmix64, ternary};

/// Sizes of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of tokens V.
    pub vocabulary: usize,
    /// Width of the residual stream H.
    pub width: usize,
    pub layers: usize,
    /// Width of the hidden layer of the MLP, in multiples of H.
    pub mlp_multiple: usize,
    /// Length of a sequence T, and number of positions.
    pub steps: usize,
}

/// A matrix of ternary weights `[rows, columns]`, applied as `y = W x / sqrt(columns)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub role: Role,
    /// Index of the layer; 0 for matrices outside the layers.
    pub layer: usize,
    pub rows: usize,
    pub columns: usize,
}

/// Purpose of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Embedding,
    /// Input projection after the embedding.
    Input,
    Query,
    Key,
    Value,
    /// Gate of the delta rule, one row.
    Gate,
    /// First matrix of the MLP.
    Up,
    /// Second matrix of the MLP.
    Down,
    Head,
}

impl Role {
    /// Roles of a layer, in the order of their matrices.
    pub const LAYER: [Self; 6] = [Self::Query, Self::Key, Self::Value, Self::Gate, Self::Up, Self::Down];

    /// Returns the name in files, without the layer.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "emb",
            Self::Input => "win",
            Self::Query => "wq",
            Self::Key => "wk",
            Self::Value => "wv",
            Self::Gate => "wbeta",
            Self::Up => "ff1",
            Self::Down => "ff2",
            Self::Head => "head",
        }
    }

    /// Returns the salt of the perturbation, before the layer is mixed in.
    const fn salt(self) -> u64 {
        match self {
            Self::Embedding => 0x11_1111,
            Self::Input => 0x22_2222,
            Self::Query => 0x33_3333,
            Self::Key => 0x44_4444,
            Self::Value => 0x55_5555,
            Self::Gate => 0x66_6666,
            Self::Up => 0x99_9999,
            Self::Down => 0xAA_AAAA,
            Self::Head => 0x77_7777,
        }
    }

    /// Whether each layer has a matrix of this role.
    pub const fn is_of_layer(self) -> bool {
        !matches!(self, Self::Embedding | Self::Input | Self::Head)
    }
}

impl Matrix {
    /// Returns the name in files: `wq0`.
    pub fn name(&self) -> String {
        if self.role.is_of_layer() {
            format!("{}{}", self.role.name(), self.layer)
        } else {
            self.role.name().to_owned()
        }
    }

    /// Returns the salt of the perturbation.
    pub const fn salt(&self) -> u64 {
        if self.role.is_of_layer() { mix(self.layer as u64, self.role.salt()) } else { self.role.salt() }
    }

    /// Returns the seed of the stream of initial weights.
    const fn stream(&self) -> u64 {
        let of_layer = 0x3000 + 8 * self.layer as u64;
        match self.role {
            Role::Embedding => 0x1000,
            Role::Input => 0x2000,
            Role::Query => of_layer,
            Role::Key => of_layer + 1,
            Role::Value => of_layer + 2,
            Role::Gate => of_layer + 3,
            Role::Up => of_layer + 4,
            Role::Down => of_layer + 5,
            Role::Head => 0x7000,
        }
    }

    /// Returns the initial weights, which do not depend on the seed of a run.
    pub fn initial(&self) -> Vec<i8> {
        let mut state = self.stream();
        (0..self.rows * self.columns).map(|_| ternary(splitmix64(&mut state))).collect()
    }
}

/// Trained vectors of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// Biases of the logits, V.
    HeadBias,
    /// Biases of the gates, one per layer.
    GateBias,
    /// Positions, `[T, H]`.
    Positions,
}

impl Vector {
    /// All vectors, in the order of [`Weights::vectors`].
    pub const ALL: [Self; 3] = [Self::HeadBias, Self::GateBias, Self::Positions];

    /// Returns the salt of the perturbation.
    pub const fn salt(self) -> u64 {
        match self {
            Self::HeadBias => 0x88_8888,
            Self::GateBias => 0x999_9999,
            Self::Positions => 0xBEEF_F00D,
        }
    }

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeadBias => "head_bias",
            Self::GateBias => "beta_bias",
            Self::Positions => "pos",
        }
    }

    /// Returns the initial values.
    pub fn initial(self, sizes: &Sizes) -> Vec<f32> {
        match self {
            Self::HeadBias => vec![0.0; sizes.vocabulary],
            Self::GateBias => vec![-2.0; sizes.layers],
            Self::Positions => {
                let mut state = 0xAB_CDEF;
                let one = |word: u64| ((f64::from(word as u16) / 65_535.0 - 0.5) * 0.04) as f32;
                (0..sizes.steps * sizes.width).map(|_| one(splitmix64(&mut state))).collect()
            }
        }
    }
}

impl Sizes {
    /// Returns all matrices, in the order of [`Weights::matrices`].
    pub fn matrices(&self) -> Vec<Matrix> {
        let Self { vocabulary, width, mlp_multiple, .. } = *self;
        let (one, hidden) = (|role, rows, columns| Matrix { role, layer: 0, rows, columns }, mlp_multiple * width);
        let mut all = vec![one(Role::Embedding, vocabulary, width), one(Role::Input, width, width)];
        for layer in 0..self.layers {
            all.extend(Role::LAYER.map(|role| {
                let (rows, columns) = match role {
                    Role::Gate => (1, width),
                    Role::Up => (hidden, width),
                    Role::Down => (width, hidden),
                    _ => (width, width),
                };
                Matrix { role, layer, rows, columns }
            }));
        }
        all.push(one(Role::Head, vocabulary, width));
        all
    }

    /// Returns the matrix at an index of [`Sizes::matrices`].
    pub fn matrix(&self, at: usize) -> Matrix {
        self.matrices()[at]
    }

    /// Returns the index of a matrix in [`Sizes::matrices`].
    pub fn index(&self, role: Role, layer: usize) -> usize {
        let of_layer = |at| 2 + layer * Role::LAYER.len() + at;
        match role {
            Role::Embedding => 0,
            Role::Input => 1,
            Role::Head => of_layer(0) - layer * Role::LAYER.len() + self.layers * Role::LAYER.len(),
            role => of_layer(Role::LAYER.iter().position(|r| *r == role).unwrap_or(0)),
        }
    }

    /// Returns the number of elements of a vector.
    pub const fn len(&self, vector: Vector) -> usize {
        match vector {
            Vector::HeadBias => self.vocabulary,
            Vector::GateBias => self.layers,
            Vector::Positions => self.steps * self.width,
        }
    }

    /// Returns the number of elements of each tensor: matrices, then vectors.
    pub fn lengths(&self) -> Vec<usize> {
        let matrices = self.matrices().into_iter().map(|m| m.rows * m.columns);
        matrices.chain(Vector::ALL.map(|v| self.len(v))).collect()
    }

    /// Returns the number of trained parameters.
    pub fn parameters(&self) -> usize {
        self.lengths().into_iter().sum()
    }
}

/// Weights of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Ternary weights, row-major, in the order of [`Sizes::matrices`].
    pub matrices: Vec<Vec<i8>>,
    /// Elements of each vector, in the order of [`Vector::ALL`].
    pub vectors: [Vec<f32>; 3],
}

impl Weights {
    /// Returns the initial weights.
    pub fn initial(sizes: &Sizes) -> Self {
        let matrices = sizes.matrices().iter().map(Matrix::initial).collect();
        Self { matrices, vectors: Vector::ALL.map(|v| v.initial(sizes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_model_has_its_published_number_of_parameters() {
        let sizes = Sizes { vocabulary: 256, width: 512, layers: 4, mlp_multiple: 2, steps: 128 };
        assert_eq!(sizes.parameters(), 7_932_164);
        for (at, matrix) in sizes.matrices().iter().enumerate() {
            assert_eq!(sizes.index(matrix.role, matrix.layer), at, "{}", matrix.name());
        }
    }
}
