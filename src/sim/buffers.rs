//! Declarations of a kind's buffers.
//!
//! [`buffers!`](crate::buffers!) declares name, element type, shape and purpose of each buffer. The macro generates the
//! allocation, the entry in the memory report and in the prediction before allocation, and for [`Purpose::State`] the
//! section of a checkpoint.

use super::{
    MemoryReport, SimError, Snapshot,
    snapshot::{Element, Section},
};
use crate::gpu::{Arena, Buf, Cell, Gpu, GpuError, Pinned, Place, Shape, allocation, layout::CudaType};
use std::sync::Arc;

/// Purpose of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Part of the state, saved as its own section.
    State,
    /// Part of the state, which the kind saves in another form.
    Saved,
    /// Derived from parameters, setup and state.
    Derived,
    /// Temporary within a step.
    Workspace,
    /// Copy for the host.
    Readback,
}

/// Declaration of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Part of the model that owns the buffer in the memory report.
    pub owner: &'static str,
    /// Name of the buffer and of its section.
    pub name: &'static str,
    /// Kind of memory.
    pub place: Place,
    /// Purpose of the buffer.
    pub purpose: Purpose,
    /// Extents, outermost first.
    pub shape: Shape,
    /// Size of an element, bytes.
    pub element_bytes: usize,
}

impl BufferSpec {
    /// Returns the size of the buffer in bytes, saturated on overflow.
    pub fn bytes(&self) -> u64 {
        self.shape.elements().map_or(u64::MAX, |n| (n as u64).saturating_mul(self.element_bytes as u64))
    }
}

/// Source of allocations.
pub trait Memory {
    /// Error of a failed allocation.
    type Error: Into<SimError>;
}

impl Memory for Arc<Gpu> {
    type Error = GpuError;
}

/// Host memory as a source of allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host;

impl Memory for Host {
    type Error = SimError;
}

/// Buffer type that can be declared.
pub trait Storage<M: Memory>: Sized {
    /// Size of an element, bytes.
    const ELEMENT_BYTES: usize;
    /// Kind of memory.
    const PLACE: Place;
    /// Allocates zeros. Fails if the allocation fails; the error contains the name and the size of the buffer.
    fn zeros(memory: &M, name: &'static str, shape: Shape) -> Result<Self, M::Error>;
    /// Returns the current size in bytes, which exceeds the declared size after growth.
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

/// An arena is declared by its size in bytes.
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

/// A buffer that is allocated on first use, and declared without elements.
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

/// A vector is filled with the default value of its element type.
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

/// Buffer with a section in checkpoints.
pub trait StateBuffer {
    /// Adds the contents as a section. A device buffer is copied once; a host buffer is moved out and left empty. Fails if
    /// the device fails.
    fn save(&mut self, name: &str, shape: Shape, to: &mut Snapshot) -> Result<(), SimError>;
    /// Fails unless the snapshot has a section of this shape and a convertible element type.
    fn check(&self, name: &str, shape: Shape, from: &Snapshot) -> Result<(), SimError>;
    /// Replaces the contents by the section. Fails under the conditions of [`StateBuffer::check`], or if the device fails.
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

/// Number of elements converted at a time while a section is written to a device.
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

/// Declared group of buffers, implemented by [`buffers!`](crate::buffers!).
pub trait Buffers: Sized {
    /// Source of the allocations: `Arc<Gpu>` or [`Host`].
    type Memory: Memory;
    /// Sizes from which the shapes are computed.
    type Sizes;
    /// Appends the declarations of the buffers.
    fn declare(sizes: &Self::Sizes, to: &mut Vec<BufferSpec>);
    /// Allocates all buffers with zeros. Fails if an allocation fails; nothing then stays allocated.
    fn allocate(memory: &Self::Memory, sizes: &Self::Sizes) -> Result<Self, <Self::Memory as Memory>::Error>;
    /// Adds the buffers in use to a memory report.
    fn report(&self, to: &mut MemoryReport);
    /// Adds the sections of all [`Purpose::State`] buffers. Fails if the device fails.
    fn save(&mut self, sizes: &Self::Sizes, to: &mut Snapshot) -> Result<(), SimError>;
    /// Fails unless the snapshot has a matching section for each [`Purpose::State`] buffer, see [`StateBuffer::check`].
    fn check(&self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError>;
    /// Replaces the contents of all [`Purpose::State`] buffers by sections that [`Buffers::check`] has accepted. Fails if
    /// the device fails.
    fn load(&mut self, sizes: &Self::Sizes, from: &Snapshot) -> Result<(), SimError>;

    /// Lists the declarations.
    fn specs(sizes: &Self::Sizes) -> Vec<BufferSpec> {
        let mut specs = vec![];
        Self::declare(sizes, &mut specs);
        specs
    }

    /// Predicts the memory that [`Buffers::allocate`] needs, without allocating.
    fn predict(sizes: &Self::Sizes) -> MemoryReport {
        let mut report = MemoryReport::default();
        Self::specs(sizes).iter().for_each(|spec| report.add(spec.owner, spec.name, spec.place, spec.bytes()));
        report
    }

    /// Reports the memory in use.
    fn held(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        self.report(&mut report);
        report
    }

    /// Returns the total size of the snapshot sections, bytes.
    fn state_bytes(sizes: &Self::Sizes) -> u64 {
        Self::specs(sizes).iter().filter(|spec| spec.purpose == Purpose::State).map(BufferSpec::bytes).sum()
    }
}

/// Group that only some models have.
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

/// Declares a group of buffers, for example:
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
/// The macro generates the struct and its [`Buffers`](crate::sim::Buffers) implementation. A declaration lists owners with
/// their buffers (purpose, name, shape as a function of the sizes), then nested groups with their sizes, then other fields
/// with their values. Buffers are allocated in this order.
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
