//! Buffers of a kind, declared once.
//!
//! [`buffers!`](crate::buffers!) declares name, element type, shape and purpose of each buffer. From the declaration follow
//! its allocation, its place in the memory report and in the prediction before anything is allocated, and for
//! [`Purpose::State`] its section of a checkpoint.

use super::{
    MemoryReport, SimError, Snapshot,
    snapshot::{Element, Section},
};
use crate::gpu::{Arena, Buf, Cell, Gpu, GpuError, Pinned, Place, Shape, allocation, layout::CudaType};
use std::sync::Arc;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Part of the state, saved as a section of its own.
    State,
    /// Part of the state, which the kind saves in another form.
    Saved,
    /// Follows from parameters, setup and state.
    Derived,
    /// Contents do not outlast a step.
    Workspace,
    /// Copies for the host.
    Readback,
}

/// A declared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// The part of the model it belongs to, in the memory report.
    pub owner: &'static str,
    /// Name, also of its section.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// What it is for.
    pub purpose: Purpose,
    /// Extents.
    pub shape: Shape,
    /// Bytes of an element.
    pub element_bytes: usize,
}

impl BufferSpec {
    /// Bytes; the largest number where they cannot be counted.
    pub fn bytes(&self) -> u64 {
        self.shape.elements().map_or(u64::MAX, |n| (n as u64).saturating_mul(self.element_bytes as u64))
    }
}

/// What buffers are allocated from.
pub trait Memory {
    /// Why an allocation fails.
    type Error: Into<SimError>;
}

impl Memory for Arc<Gpu> {
    type Error = GpuError;
}

/// Memory of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host;

impl Memory for Host {
    type Error = SimError;
}

/// A buffer that can be declared.
pub trait Storage<M: Memory>: Sized {
    /// Bytes of an element.
    const ELEMENT_BYTES: usize;
    /// Where it is.
    const PLACE: Place;
    /// Zeros. An allocation that does not fit is an error with the name and the size of the buffer.
    fn zeros(memory: &M, name: &'static str, shape: Shape) -> Result<Self, M::Error>;
    /// Bytes held now; more than declared where a buffer grew.
    fn n_bytes(&self) -> u64;
}

impl<T: CudaType> Storage<Arc<Gpu>> for Buf<T> {
    const ELEMENT_BYTES: usize = size_of::<T>();
    const PLACE: Place = Place::Device;
    fn zeros(memory: &Arc<Gpu>, name: &'static str, shape: Shape) -> Result<Self, GpuError> {
        Self::shaped(memory, name, shape)
    }
    fn n_bytes(&self) -> u64 {
        self.bytes()
    }
}

impl<T: CudaType> Storage<Arc<Gpu>> for Cell<T> {
    const ELEMENT_BYTES: usize = size_of::<T>();
    const PLACE: Place = Place::Device;
    fn zeros(memory: &Arc<Gpu>, name: &'static str, _: Shape) -> Result<Self, GpuError> {
        Self::new(memory, name, T::zeroed())
    }
    fn n_bytes(&self) -> u64 {
        self.buf().bytes()
    }
}

/// Declared with its bytes.
impl Storage<Arc<Gpu>> for Arena {
    const ELEMENT_BYTES: usize = 1;
    const PLACE: Place = Place::Device;
    fn zeros(memory: &Arc<Gpu>, name: &'static str, shape: Shape) -> Result<Self, GpuError> {
        Self::new(memory, name, shape.elements().unwrap_or(usize::MAX))
    }
    fn n_bytes(&self) -> u64 {
        self.bytes()
    }
}

impl<T: CudaType> Storage<Arc<Gpu>> for Pinned<T> {
    const ELEMENT_BYTES: usize = size_of::<T>();
    const PLACE: Place = Place::Pinned;
    fn zeros(memory: &Arc<Gpu>, _: &'static str, shape: Shape) -> Result<Self, GpuError> {
        Self::zeros(memory, shape.elements().unwrap_or(usize::MAX))
    }
    fn n_bytes(&self) -> u64 {
        self.bytes()
    }
}

/// A buffer that is allocated when it is first needed. It is declared with no elements.
impl<M: Memory, S: Storage<M>> Storage<M> for Option<S> {
    const ELEMENT_BYTES: usize = S::ELEMENT_BYTES;
    const PLACE: Place = S::PLACE;
    fn zeros(memory: &M, name: &'static str, shape: Shape) -> Result<Self, M::Error> {
        if shape.elements() == Some(0) { Ok(None) } else { S::zeros(memory, name, shape).map(Some) }
    }
    fn n_bytes(&self) -> u64 {
        self.as_ref().map_or(0, S::n_bytes)
    }
}

/// Zeros are the default values of their type.
impl<T: Copy + Default> Storage<Host> for Vec<T> {
    const ELEMENT_BYTES: usize = size_of::<T>();
    const PLACE: Place = Place::Host;
    fn zeros(_: &Host, name: &'static str, shape: Shape) -> Result<Self, SimError> {
        let len = shape.elements().unwrap_or(usize::MAX);
        let mut values = Self::new();
        if allocation::fails() || values.try_reserve_exact(len).is_err() {
            let gb = len as f64 * size_of::<T>() as f64 * 1e-9;
            return Err(SimError::Input(format!(
                "{name} needs {gb:.3} GB of memory, which are not available: make the model smaller or close other \
                 programs"
            )));
        }
        values.resize(len, T::default());
        Ok(values)
    }
    fn n_bytes(&self) -> u64 {
        (self.capacity() * size_of::<T>()) as u64
    }
}

/// A buffer that is a section of a checkpoint.
pub trait StateBuffer {
    /// Adds its contents: of a device by one copy, of the host without one, which leaves it empty.
    fn save(&mut self, name: &str, shape: Shape, to: &mut Snapshot) -> Result<(), SimError>;
    /// An error unless the snapshot has a section of this shape and a type that can be converted.
    fn check(&self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError>;
    /// Replaces its contents.
    fn load(&mut self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError>;
}

impl<T: Element> StateBuffer for Vec<T> {
    fn save(&mut self, name: &str, shape: Shape, to: &mut Snapshot) -> Result<(), SimError> {
        to.array(name, shape.extents(), std::mem::take(self));
        Ok(())
    }
    fn check(&self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError> {
        from.section::<T>(name, shape.extents()).map(drop)
    }
    fn load(&mut self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError> {
        from.copy(name, shape.extents(), self)
    }
}

/// Elements converted at a time while a section is written to a device.
const CHUNK: usize = 1 << 20;

impl<T: Element + CudaType> StateBuffer for Buf<T> {
    fn save(&mut self, name: &str, shape: Shape, to: &mut Snapshot) -> Result<(), SimError> {
        to.array(name, shape.extents(), self.read()?);
        Ok(())
    }
    fn check(&self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError> {
        from.section::<T>(name, shape.extents()).map(drop)
    }
    fn load(&mut self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError> {
        let section: &Section = from.section::<T>(name, shape.extents())?;
        let len = shape.elements().unwrap_or(0);
        let mut chunk = vec![T::zeroed(); CHUNK.min(len)];
        for start in (0..len).step_by(CHUNK) {
            let n = CHUNK.min(len - start);
            section.copy_range(start, &mut chunk[..n]);
            self.write_at(start, &chunk[..n])?;
        }
        Ok(())
    }
}

/// A declared group of buffers: implemented by [`buffers!`](crate::buffers!).
pub trait Buffers: Sized {
    /// What it is allocated from: `Arc<Gpu>` or [`Host`].
    type Memory: Memory;
    /// The sizes that the shapes follow from.
    type Sizes;
    /// Appends the declarations.
    fn declare(sizes: &Self::Sizes, to: &mut Vec<BufferSpec>);
    /// Allocates all buffers, zeroed. After an error nothing is held.
    fn allocate(memory: &Self::Memory, sizes: &Self::Sizes) -> Result<Self, <Self::Memory as Memory>::Error>;
    /// Adds what is held.
    fn report(&self, to: &mut MemoryReport);
    /// Adds the sections of all [`Purpose::State`] buffers.
    fn save(&mut self, sizes: &Self::Sizes, to: &mut Snapshot) -> Result<(), SimError>;
    /// Checks the sections of all [`Purpose::State`] buffers.
    fn check(&self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError>;
    /// Replaces the contents of all [`Purpose::State`] buffers; checked before.
    fn load(&mut self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError>;

    /// The declarations.
    fn specs(sizes: &Self::Sizes) -> Vec<BufferSpec> {
        let mut specs = vec![];
        Self::declare(sizes, &mut specs);
        specs
    }

    /// Predicted memory: that of [`Buffers::allocate`], before anything is allocated.
    fn predict(sizes: &Self::Sizes) -> MemoryReport {
        let mut report = MemoryReport::default();
        Self::specs(sizes).iter().for_each(|spec| report.add(spec.owner, spec.name, spec.place, spec.bytes()));
        report
    }

    /// Memory held.
    fn held(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        self.report(&mut report);
        report
    }

    /// Bytes of the sections of a snapshot.
    fn state_bytes(sizes: &Self::Sizes) -> u64 {
        Self::specs(sizes).iter().filter(|spec| spec.purpose == Purpose::State).map(BufferSpec::bytes).sum()
    }
}

/// A group that not every model has.
impl<B: Buffers> Buffers for Option<B> {
    type Memory = B::Memory;
    type Sizes = Option<B::Sizes>;
    fn declare(sizes: &Self::Sizes, to: &mut Vec<BufferSpec>) {
        sizes.iter().for_each(|sizes| B::declare(sizes, to));
    }
    fn allocate(memory: &B::Memory, sizes: &Self::Sizes) -> Result<Self, <B::Memory as Memory>::Error> {
        sizes.as_ref().map(|sizes| B::allocate(memory, sizes)).transpose()
    }
    fn report(&self, to: &mut MemoryReport) {
        self.iter().for_each(|group| group.report(to));
    }
    fn save(&mut self, sizes: &Self::Sizes, to: &mut Snapshot) -> Result<(), SimError> {
        self.iter_mut().zip(sizes).try_for_each(|(group, sizes)| group.save(sizes, to))
    }
    fn check(&self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError> {
        self.iter().zip(sizes).try_for_each(|(group, sizes)| group.check(sizes, from))
    }
    fn load(&mut self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError> {
        self.iter_mut().zip(sizes).try_for_each(|(group, sizes)| group.load(sizes, from))
    }
}

/// Declares a group of buffers. What it writes for
///
/// ```ignore
/// buffers! {
///     /// The population.
///     pub struct Table(gpu: Arc<Gpu>, s: TableSizes) {
///         "weights" {
///             /// `[slots × stride]` weights.
///             pub w: Buf<f32> = State "weights" [s.n_slots, s.stride];
///         }
///         groups {
///             /// Coupling between phase fields.
///             pub mixer: Option<Mixer> = s.mixer;
///         }
///         plain {
///             /// Kernels.
///             pub kernels: Kernels = Kernels::load(gpu)?;
///         }
///     }
/// }
/// ```
///
/// is the struct and its [`Buffers`](crate::sim::Buffers): owners with their buffers (purpose, name, shape as a function
/// of the sizes), then groups with their sizes, then fields that are no buffers with their values. Buffers are allocated
/// in this order.
#[macro_export]
macro_rules! buffers {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident $(<$T:ident : $Bound:path $(, struct: $OnStruct:path)?>)? ($memory:ident : $Memory:ty, $sizes:ident : $Sizes:ty) {
            $( $owner:literal {
                $( $(#[doc = $docs:literal])* $fvis:vis $field:ident : $Ty:ty = $purpose:ident $name:literal $shape:expr ; )*
            } )*
            $( groups { $( $(#[doc = $gdocs:literal])* $gvis:vis $group:ident : $Group:ty = $gsizes:expr ; )* } )?
            $( plain { $( $(#[doc = $pdocs:literal])* $pvis:vis $plain:ident : $Plain:ty = $value:expr ; )* } )?
        }
    ) => {
        $(#[$meta])*
        $vis struct $Name $(<$T $(: $OnStruct)?>)? {
            $( $( $(#[doc = $docs])* $fvis $field : $Ty, )* )*
            $( $( $(#[doc = $gdocs])* $gvis $group : $Group, )* )?
            $( $( $(#[doc = $pdocs])* $pvis $plain : $Plain, )* )?
        }

        impl $(<$T : $Bound>)? $crate::sim::Buffers for $Name $(<$T>)? {
            type Memory = $Memory;
            type Sizes = $Sizes;

            fn declare($sizes: &$Sizes, to: &mut Vec<$crate::sim::buffers::BufferSpec>) {
                let _ = $sizes;
                $( $( to.push($crate::sim::buffers::BufferSpec {
                    owner: $owner,
                    name: $name,
                    place: <$Ty as $crate::sim::buffers::Storage<$Memory>>::PLACE,
                    purpose: $crate::sim::buffers::Purpose::$purpose,
                    shape: $crate::gpu::Shape::from($shape),
                    element_bytes: <$Ty as $crate::sim::buffers::Storage<$Memory>>::ELEMENT_BYTES,
                }); )* )*
                $( $( <$Group as $crate::sim::Buffers>::declare(&$gsizes, to); )* )?
            }

            fn allocate(
                $memory: &$Memory,
                $sizes: &$Sizes,
            ) -> Result<Self, <$Memory as $crate::sim::buffers::Memory>::Error> {
                let _ = $sizes;
                Ok(Self {
                    $( $( $field: $crate::sim::buffers::Storage::zeros(
                        $memory, $name, $crate::gpu::Shape::from($shape))?, )* )*
                    $( $( $group: $crate::sim::Buffers::allocate($memory, &$gsizes)?, )* )?
                    $( $( $plain: $value, )* )?
                })
            }

            fn report(&self, to: &mut $crate::sim::MemoryReport) {
                $( $( to.add(
                    $owner,
                    $name,
                    <$Ty as $crate::sim::buffers::Storage<$Memory>>::PLACE,
                    <$Ty as $crate::sim::buffers::Storage<$Memory>>::n_bytes(&self.$field),
                ); )* )*
                $( $( $crate::sim::Buffers::report(&self.$group, to); )* )?
            }

            #[allow(unused_variables, reason = "a group may have no state")]
            fn save(
                &mut self,
                $sizes: &$Sizes,
                to: &mut $crate::sim::Snapshot,
            ) -> Result<(), $crate::sim::SimError> {
                $( $( $crate::buffers!(@state $purpose save (&mut self.$field) $name, $shape, to); )* )*
                $( $( $crate::sim::Buffers::save(&mut self.$group, &$gsizes, to)?; )* )?
                Ok(())
            }

            #[allow(unused_variables, reason = "a group may have no state")]
            fn check(
                &self,
                $sizes: &$Sizes,
                from: &$crate::sim::Snapshot,
            ) -> Result<(), $crate::sim::SimError> {
                $( $( $crate::buffers!(@state $purpose check (&self.$field) $name, $shape, from); )* )*
                $( $( $crate::sim::Buffers::check(&self.$group, &$gsizes, from)?; )* )?
                Ok(())
            }

            #[allow(unused_variables, reason = "a group may have no state")]
            fn load(
                &mut self,
                $sizes: &$Sizes,
                from: &$crate::sim::Snapshot,
            ) -> Result<(), $crate::sim::SimError> {
                $( $( $crate::buffers!(@state $purpose load (&mut self.$field) $name, $shape, from); )* )*
                $( $( $crate::sim::Buffers::load(&mut self.$group, &$gsizes, from)?; )* )?
                Ok(())
            }
        }
    };
    (@state State $do:ident ($field:expr) $name:literal, $shape:expr, $snapshot:ident) => {
        $crate::sim::buffers::StateBuffer::$do($field, $name, $crate::gpu::Shape::from($shape), $snapshot)?;
    };
    (@state $other:ident $($rest:tt)*) => {};
}

#[cfg(test)]
mod tests;
