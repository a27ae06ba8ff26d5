//! One declaration per kernel.
//!
//! [`kernels!`](crate::kernels) turns a Rust-like signature into a struct of named arguments with a `launch` method, a C
//! prototype that the `.cu` file must match to compile, a row in the timing table and an entry in the compile test.

pub use super::any::{InAny, InOutAny};
use super::{
    Gpu, GpuError, Graph, KernelFacts, KernelSpec, ModuleSpec, Pass, Slice,
    error::Doing as _,
    graph,
    grid::{self, Grid},
    layout::CudaType,
    module::Module,
    occupancy::Fill,
};
use cudarc::driver::{CudaFunction, LaunchConfig, result, sys};
use std::{
    ffi::c_void,
    marker::PhantomData,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// A kernel argument as the declaration spells it: `In<T>`, `InOut<T>` or `Size<T>`.
pub trait Arg {
    /// Type of the argument in Rust.
    type Host<'h>;
    /// Returns the type of the argument in the CUDA prototype.
    fn c() -> String;
    #[doc(hidden)]
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>);
}

/// Pointers to the arguments of a launch, in the order of the declaration.
pub struct Args<'a> {
    pointers: Vec<*mut c_void>,
    values: PhantomData<&'a ()>,
}

impl Default for Args<'_> {
    fn default() -> Self {
        Self { pointers: Vec::with_capacity(32), values: PhantomData }
    }
}

impl<'a> Args<'a> {
    pub(super) fn push<T>(&mut self, value: &'a T) {
        self.pointers.push(std::ptr::from_ref(value).cast_mut().cast());
    }
}

/// Argument type for read-only memory: `&buf`, or a part of a buffer.
pub struct In<T>(PhantomData<T>);
/// Argument type for writable memory: `&mut buf`, or a part of a buffer.
pub struct InOut<T>(PhantomData<T>);
/// Argument type for a scalar passed by value. A captured graph fixes the scalar, so use it for sizes; values that change
/// between steps are read from buffers.
pub struct Size<T>(PhantomData<T>);

impl<T: CudaType> Arg for In<T> {
    type Host<'h> = &'h Slice<T>;
    fn c() -> String {
        format!("const {}* __restrict__", T::C)
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(&host.ptr);
    }
}

impl<T: CudaType> Arg for InOut<T> {
    type Host<'h> = &'h mut Slice<T>;
    fn c() -> String {
        format!("{}* __restrict__", T::C)
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(&host.ptr);
    }
}

impl<T: CudaType> Arg for Size<T> {
    type Host<'h> = T;
    fn c() -> String {
        T::C.to_owned()
    }
    fn push<'a>(host: &'a Self::Host<'_>, args: &mut Args<'a>) {
        args.push(host);
    }
}

/// Kernel of a loaded module.
pub struct Kernel {
    /// Declaration of the kernel.
    pub spec: &'static KernelSpec,
    pub(super) gpu: Arc<Gpu>,
    pub(super) function: CudaFunction,
    /// Grid that fills the device, computed at the first use.
    pub(super) fill: OnceLock<Fill>,
    /// Dynamic shared memory per block that has been reserved, bytes.
    reserved: AtomicU32,
}

impl Kernel {
    /// Looks up the kernel in a loaded module and queries its registers and occupancy. Fails if the module lacks the kernel.
    pub fn load(module: &Module, spec: &'static KernelSpec) -> Result<Self, GpuError> {
        let function = module.function(spec.name)?;
        let kernel =
            Self { spec, gpu: module.gpu.clone(), function, fill: OnceLock::new(), reserved: AtomicU32::new(0) };
        kernel.gpu.remember(kernel.facts(&module.spec)?);
        Ok(kernel)
    }

    fn facts(&self, module: &ModuleSpec) -> Result<KernelFacts, GpuError> {
        let (f, block) = (&self.function, self.spec.block);
        let ask = |what: Result<i32, _>| {
            what.map(i32::unsigned_abs).doing(|| format!("asking for the attributes of {}", self.spec.name))
        };
        let blocks = ask(f.occupancy_max_active_blocks_per_multiprocessor(block, 0, None).map(u32::cast_signed))?;
        Ok(KernelFacts {
            file: module.file,
            variant: module.variant,
            name: self.spec.name,
            block,
            registers: ask(f.num_regs())?,
            shared_bytes: ask(f.shared_size_bytes())?,
            local_bytes: ask(f.local_size_bytes())?,
            blocks_per_multiprocessor: blocks,
            occupancy: (blocks * block) as f32 / self.gpu.threads_per_multiprocessor.max(1) as f32,
        })
    }

    /// Whether all blocks of a grid can be resident at the same time; `false` if the grid needs more shared memory per block
    /// than the device has. Reserves the shared memory. Fails if the driver cannot report the occupancy.
    pub fn fits_at_once(&self, grid: Grid) -> Result<bool, GpuError> {
        let config = grid.config(self.spec.block);
        if self.reserve(config.shared_mem_bytes).is_err() {
            return Ok(false); // The grid needs more shared memory per block than the device has.
        }
        let (block, bytes) = (grid::block_of(&config), config.shared_mem_bytes as usize);
        let blocks = self.function.occupancy_max_active_blocks_per_multiprocessor(block, bytes, None);
        let blocks = blocks.doing(|| format!("asking for the occupancy of {}", self.spec.name))?;
        Ok(config.grid_dim.0 <= blocks * self.gpu.multiprocessors)
    }

    /// Opts in to `bytes` of dynamic shared memory per block, which the driver requires beyond 48 KiB.
    fn reserve(&self, bytes: u32) -> Result<(), cudarc::driver::DriverError> {
        let most = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if bytes > self.reserved.load(Ordering::Relaxed) {
            // Users of a module share the function, so the reservation must never shrink.
            static CHANGING: Mutex<()> = Mutex::new(());
            let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
            let reserved = self.function.get_attribute(most)?.max(bytes.cast_signed());
            self.function.set_attribute(most, reserved)?;
            self.reserved.fetch_max(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Rejects a launch with a wrong block size or too much shared memory before the driver receives it.
    fn check(&self, config: &LaunchConfig) -> Result<(), GpuError> {
        let (block, bytes) = (grid::block_of(config), config.shared_mem_bytes);
        let why = if block == 0 || block > self.spec.block {
            format!("it is compiled for blocks of at most {}", self.spec.block)
        } else if self.reserve(bytes).is_err() {
            format!("{bytes} B of shared memory per block; this GPU has {} B", self.gpu.shared_per_block)
        } else {
            return Ok(());
        };
        Err(GpuError::Launch { kernel: self.spec.name, threads: grid::threads_of(config), block, why })
    }

    /// Launches a grid. Only the macro may call this, because it has checked the arguments.
    #[doc(hidden)]
    pub fn go(&self, pass: &mut Pass, grid: Grid, mut args: Args<'_>) -> Result<(), GpuError> {
        let config = grid.config(self.spec.block);
        self.check(&config)?;
        let _range = pass.profiled.then(|| super::nvtx::range(self.spec.name));
        let (threads, block) = (grid::threads_of(&config), grid::block_of(&config));
        let failed = |e| GpuError::launch(self.spec.name, threads, block, &e);
        let stream = pass.stream(&self.gpu).clone();
        self.gpu.context.bind_to_thread().map_err(failed)?;
        let begun = if pass.profiled { Some(pass.event_before(&self.gpu, &stream, self.spec.name)?) } else { None };
        let launch = match grid {
            Grid::Cooperative { .. } => result::launch_cooperative_kernel,
            _ => result::launch_kernel,
        };
        // SAFETY: order, count and types of the arguments come from the declaration that also gives the prototype
        // in `gen/<module>.cuh`, which the CUDA compiler checked against the kernel. The arguments live until the call returns,
        // when the driver has copied them. The kernel's `Size` arguments are the bounds of its accesses.
        unsafe {
            let (function, pointers) = (self.function.cu_function(), &mut args.pointers);
            let shared = config.shared_mem_bytes;
            launch(function, config.grid_dim, config.block_dim, shared, stream.cu_stream(), pointers)
        }
        .map_err(failed)?;
        self.gpu.note_issued();
        if let Some(begun) = begun {
            pass.event_after(&self.gpu, &stream, self.spec.name, begun)?;
        }
        graph::note_launch(pass, self.spec.name, &stream)
    }

    /// Replaces the arguments of a captured launch. Only the macro may call this, like [`Kernel::go`].
    #[doc(hidden)]
    pub fn update(&self, graph: &mut Graph, launch: usize, grid: Grid, mut args: Args<'_>) -> Result<(), GpuError> {
        let config = grid.config(self.spec.block);
        self.check(&config)?;
        graph.update(launch, self.spec.name, self.function.cu_function(), &config, &mut args.pointers)
    }
}

/// Declares the kernels of one `.cu` file:
///
/// ```ignore
/// kernels! {
///     /// The step, in launch order.
///     pub struct Kernels in "spiking/step.cu" using [Constants] {
///         /// One thread per neuron: decay, input, threshold.
///         #[block(256)]
///         fn integrate as Integrate(constants: In<Constants>, n: Size<u32>, v: InOut<f32>);
///     }
/// }
/// ```
///
/// writes the struct with one loaded kernel per line, `Kernels::SPEC`, `Kernels::load(&gpu)`, and for each kernel a
/// struct of its arguments: `Integrate { constants: &c, n, v: &mut v }.launch(&kernels, pass, n)`, whose last argument
/// is a number of threads or a [`Grid`]. `in "a.cu" for "f64" ["-DREAL=double"], also "f32" ["-DREAL=float"] as SINGLE`
/// declares two modules of one file: `Kernels::SPEC` and `Kernels::SINGLE`, loaded by `Kernels::load_as`.
/// `compiled (Compile::FUSED)` before `using` sets flags and targets; without it they are `Compile::EXACT`.
/// `#[block(256, 2)]` asks the compiler for few enough registers that 2 blocks are resident on a multiprocessor.
#[macro_export]
macro_rules! kernels {
    (
        $(#[doc = $module_docs:literal])*
        $vis:vis struct $Kernels:ident in $file:literal $(for $variant:literal [$($define:literal),*])?
        $(, also $other:literal [$($other_define:literal),*] as $OTHER:ident)*
        $(compiled ($compile:expr))? $(using [$($Struct:ty),* $(,)?])? $(with [$($constants:expr),* $(,)?])? {
            $(
                $(#[doc = $docs:literal])*
                #[block($block:literal $(, $resident:literal)?)]
                fn $name:ident as $Args:ident ( $($arg:ident : $ty:ty),* $(,)? );
            )*
        }
    ) => {
        $(#[doc = $module_docs])*
        $vis struct $Kernels { $( $name: $crate::gpu::Kernel, )* }

        impl $Kernels {
            /// Declaration of the module, for the compile test, the header and the timing table.
            pub const SPEC: $crate::gpu::ModuleSpec = $crate::gpu::ModuleSpec {
                file: $file,
                variant: concat!($($variant)?),
                defines: &[ $($($define),*)? ],
                kernels: &[ $( $crate::gpu::KernelSpec {
                    name: stringify!($name),
                    docs: concat!($($docs, "\n"),*),
                    block: $block,
                    prototype: || {
                        let args: &[String] = &[ $( format!("{} {}", <$ty as $crate::gpu::kernel::Arg>::c(), stringify!($arg)) ),* ];
                        let resident = [1 $(, $resident)?];
                        format!(
                            "extern \"C\" __global__ void __launch_bounds__({}, {}) {}({});",
                            $block, resident[resident.len() - 1], stringify!($name), args.join(", ")
                        )
                    },
                } ),* ],
                structs: || vec![ $( $( <$Struct as $crate::gpu::layout::CudaStruct>::definition() ),* )? ],
                constants: &[ $( $( $crate::gpu::layout::Constants { name: stringify!($constants), list: $constants } ),* )? ],
                compile: {
                    let declared = [$crate::gpu::Compile::EXACT $(, $compile)?];
                    declared[declared.len() - 1]
                },
            };

            $(
                #[doc = concat!("The same kernels, compiled for ", $other, ".")]
                pub const $OTHER: $crate::gpu::ModuleSpec =
                    $crate::gpu::ModuleSpec {
                        variant: $other,
                        defines: &[$($other_define),*],
                        ..$Kernels::SPEC
                    };
            )*

            /// Loads the module and finds every kernel in it. Fails if no PTX runs on the device or the module lacks a kernel.
            pub fn load(gpu: &std::sync::Arc<$crate::gpu::Gpu>) -> Result<Self, $crate::gpu::GpuError> {
                Self::load_as(gpu, &Self::SPEC)
            }

            /// Loads the kernels from `spec`, one of the modules that define them. Fails if no PTX runs on the device or the
            /// module lacks a kernel.
            pub fn load_as(
                gpu: &std::sync::Arc<$crate::gpu::Gpu>,
                spec: &$crate::gpu::ModuleSpec,
            ) -> Result<Self, $crate::gpu::GpuError> {
                let module = $crate::gpu::module::Module::load(gpu, spec)?;
                let mut specs = spec.kernels.iter();
                let mut next = || {
                    let spec = specs.next().ok_or_else(|| module.lacks("a declared kernel"))?;
                    $crate::gpu::Kernel::load(&module, spec)
                };
                Ok(Self { $( $name: next()?, )* })
            }
        }

        $(
            #[doc = concat!("Arguments of the kernel `", stringify!($name), "`.")]
            #[doc = ""]
            $(#[doc = $docs])*
            #[allow(missing_docs)]
            #[must_use]
            $vis struct $Args<'a> { $( pub $arg: <$ty as $crate::gpu::kernel::Arg>::Host<'a>, )* }

            impl $Args<'_> {
                /// Launches the kernel in stream order, after the work issued so far. Fails if the block size or the shared
                /// memory is not possible.
                pub fn launch(
                    self,
                    kernels: &$Kernels,
                    pass: &mut $crate::gpu::Pass,
                    grid: impl Into<$crate::gpu::Grid>,
                ) -> Result<(), $crate::gpu::GpuError> {
                    let mut args = $crate::gpu::kernel::Args::default();
                    $( <$ty as $crate::gpu::kernel::Arg>::push(&self.$arg, &mut args); )*
                    kernels.$name.go(pass, grid.into(), args)
                }

                /// Replaces arguments and grid of a captured launch of this kernel. The graph comes from
                /// [`Graph::capture_updatable`]($crate::gpu::Graph::capture_updatable), whose rules about buffers hold for the
                /// new arguments too.
                ///
                /// # Safety
                /// The buffers must outlive the graph and must not be replaced.
                #[allow(dead_code)]
                pub unsafe fn update(
                    self,
                    kernels: &$Kernels,
                    graph: &mut $crate::gpu::Graph,
                    launch: usize,
                    grid: impl Into<$crate::gpu::Grid>,
                ) -> Result<(), $crate::gpu::GpuError> {
                    let mut args = $crate::gpu::kernel::Args::default();
                    $( <$ty as $crate::gpu::kernel::Arg>::push(&self.$arg, &mut args); )*
                    kernels.$name.update(graph, launch, grid.into(), args)
                }
            }
        )*
    };
}
