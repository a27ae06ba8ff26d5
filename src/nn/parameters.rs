//! The parameters of a model: one flat buffer and named views of it.
//!
//! A [`ParameterMap`] assigns names and shapes to ranges; it holds no values. [`Parameters`] is a host buffer with a map; on a
//! device the same ranges are views of one buffer. Gradients and optimiser moments share the map of the weights.

use std::{collections::HashMap, ops::Range, sync::Arc};

/// Alignment of views in elements: each view starts at a multiple of `ALIGN`, which is 128 bytes in 16-bit storage. Vector and
/// bulk copies are therefore aligned in any storage format, and views of two formats have the same ranges.
pub const ALIGN: usize = 64;

/// A named range of a buffer, with a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Name with dots, such as `block.3.attention.qkv.weight`.
    pub name: String,
    /// Extents, slowest dimension first.
    pub shape: Vec<usize>,
    /// Index of the first element in the buffer.
    pub start: usize,
}

impl View {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of the view's elements in the buffer.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.len()
    }
}

/// Index of a view in its map, in the order of [`ParameterMap::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId(pub usize);

/// Names and shapes of ranges of one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterMap {
    views: Vec<View>,
    ids: HashMap<String, ViewId>,
    len: usize,
}

/// Reason why a view could not be added, or values do not fit a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Another view has the same name.
    #[error("there are two parameters named `{0}`")]
    Duplicate(String),
    /// The number of elements overflows.
    #[error("parameter `{0}` is too large")]
    TooLarge(String),
    /// The length of the values differs from that of the map.
    #[error("the parameters are {needed} elements, and {given} were given")]
    Length {
        /// Number of elements in the map.
        needed: usize,
        /// Number of elements given.
        given: usize,
    },
}

impl ParameterMap {
    /// Appends a view after the last one, at the next aligned element. Fails if the name exists or the number of elements
    /// overflows.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize]) -> Result<ViewId, ParameterError> {
        let (name, start) = (name.into(), self.len);
        if self.ids.contains_key(&name) {
            return Err(ParameterError::Duplicate(name));
        }
        let len = shape.iter().try_fold(1_usize, |product, n| product.checked_mul(*n));
        let end = len.and_then(|len| start.checked_add(len)?.checked_next_multiple_of(ALIGN));
        let Some(end) = end else { return Err(ParameterError::TooLarge(name)) };
        let id = ViewId(self.views.len());
        self.ids.insert(name.clone(), id);
        self.views.push(View { name, shape: shape.to_vec(), start });
        self.len = end;
        Ok(id)
    }

    /// Returns the number of elements in the buffer, including the zeros between the views.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Computes the total number of elements in views, without padding: the number of parameters of a model.
    pub fn count(&self) -> usize {
        self.views.iter().map(View::len).sum()
    }

    /// Returns the view with this id.
    pub fn view(&self, id: ViewId) -> &View {
        &self.views[id.0]
    }

    /// Finds a view by its name; `None` if no view has the name.
    pub fn find(&self, name: &str) -> Option<ViewId> {
        self.ids.get(name).copied()
    }

    /// Iterates over all views in the order of the buffer.
    pub fn views(&self) -> impl ExactSizeIterator<Item = &View> {
        self.views.iter()
    }
}

/// A host buffer with a map. Elements between the views are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters<T> {
    map: Arc<ParameterMap>,
    values: Vec<T>,
}

impl<T: Copy + Default> Parameters<T> {
    /// Allocates a buffer of zeros.
    pub fn zeros(map: Arc<ParameterMap>) -> Self {
        let values = vec![T::default(); map.len()];
        Self { map, values }
    }

    /// Wraps a whole buffer, for example one read from a checkpoint or a device. Fails if the length differs from that of the
    /// map.
    pub fn from_values(map: Arc<ParameterMap>, values: Vec<T>) -> Result<Self, ParameterError> {
        if values.len() != map.len() {
            return Err(ParameterError::Length { needed: map.len(), given: values.len() });
        }
        Ok(Self { map, values })
    }

    /// Returns the map of the buffer.
    pub fn map(&self) -> &Arc<ParameterMap> {
        &self.map
    }

    /// Returns the whole buffer, including the zeros between the views.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the whole buffer, mutable, for optimisers. The zeros between the views must stay zero.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns the elements of a view.
    pub fn get(&self, id: ViewId) -> &[T] {
        &self.values[self.map.view(id).range()]
    }

    /// Returns the elements of a view, mutable.
    pub fn get_mut(&mut self, id: ViewId) -> &mut [T] {
        let range = self.map.view(id).range();
        &mut self.values[range]
    }

    /// Calls `f` with each view and its elements, for initialisation.
    pub fn for_each_mut(&mut self, mut f: impl FnMut(&View, &mut [T])) {
        for view in self.map.views() {
            f(view, &mut self.values[view.range()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> ParameterMap {
        let mut map = ParameterMap::default();
        for (name, shape) in [("wte", vec![65, 8]), ("scale", vec![]), ("bias", vec![3]), ("none", vec![0, 4])] {
            map.add(name, &shape).expect("a new name");
        }
        map
    }

    #[test]
    fn views_are_aligned_and_apart() {
        let map = map();
        assert_eq!(map.count(), 65 * 8 + 1 + 3);
        let ranges: Vec<Range<usize>> = map.views().map(View::range).collect();
        assert_eq!(ranges, [0..520, 576..577, 640..643, 704..704]);
        assert_eq!(map.len(), 704);
        assert!(ranges.iter().all(|r| r.start % ALIGN == 0));
        assert_eq!(map.view(map.find("bias").expect("it is there")).shape, [3]);
        assert_eq!(map.find("head"), None);
    }

    #[test]
    fn gradients_use_the_map_of_the_weights() {
        let map = Arc::new(map());
        let (mut weights, mut gradients) = (Parameters::<f32>::zeros(map.clone()), Parameters::<f64>::zeros(map));
        weights.for_each_mut(|view, values| values.fill(view.start as f32 + 1.0));
        let bias = weights.map().find("bias").expect("it is there");
        gradients.get_mut(bias)[2] = 0.5;
        assert_eq!(weights.get(bias), [641.0; 3]);
        assert_eq!(gradients.values().iter().position(|g| *g != 0.0), Some(642));
        assert_eq!(weights.values()[520..576], [0.0; 56], "zeros between the views");
    }

    #[test]
    fn refusals_name_the_parameter() {
        let mut map = map();
        assert_eq!(map.add("bias", &[1]), Err(ParameterError::Duplicate("bias".into())));
        assert_eq!(map.add("huge", &[usize::MAX, 2]), Err(ParameterError::TooLarge("huge".into())));
        let short = Parameters::from_values(Arc::new(map), vec![0.0_f32; 3]);
        assert_eq!(short, Err(ParameterError::Length { needed: 704, given: 3 }));
    }
}
