#!/usr/bin/env python3
"""Makes kernels/prebuilt/*.ptx from kernels/**/*.cu. Needs Python with pip; no GPU, no CUDA toolkit, no root.

NVRTC 12.0 writes PTX 8.0, which every driver from 525 on loads; the assembler only reports what the kernels
cost on each architecture. Both are pinned wheels, kept in target/cuda-tools or in $CUDA_TOOLS.
    python3 kernels/build.py              regenerate
    python3 kernels/build.py --tools-only only fetch the wheels, for the test that compiles every kernel
"""
import ctypes, os, pathlib, re, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(os.environ.get("CUDA_TOOLS", HERE.parent / "target" / "cuda-tools"))
WHEELS = ["nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-nvcc==13.0.88"]
FLAGS = ["--fmad=false", "--std=c++17"]
# compute_75 runs everywhere; a file that branches on __CUDA_ARCH__ also gets the targets it branches for.
EVERYWHERE, BRANCHING = [75], [75, 80, 90]
DEVICES = [75, 80, 86, 89, 90, 100, 120]


def fetch_tools():
    if not (TOOLS / "nvidia" / "cuda_nvrtc").exists():
        quiet = ["-q", "--disable-pip-version-check", "--root-user-action=ignore"]
        pip = [sys.executable, "-m", "pip", "install", *quiet, "--no-deps", "--target", str(TOOLS), *WHEELS]
        if subprocess.run(pip).returncode:
            sys.exit(f"pip could not fetch {' and '.join(WHEELS)}")


def load_nvrtc():
    folder = TOOLS / "nvidia" / "cuda_nvrtc" / "lib"
    builtins = [p for p in folder.glob("libnvrtc-builtins.so.*") if ".alt" not in p.name]
    ctypes.CDLL(str(builtins[0]), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def compile_ptx(nvrtc, source, capability):
    def text(what):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode()

    program = ctypes.c_void_p()
    name = source.relative_to(HERE).as_posix().encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), name, 0, None, None) == 0
    options = [o.encode() for o in [f"--gpu-architecture=compute_{capability}", f"-I{HERE}", *FLAGS]]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = text("ProgramLog").strip()
    if log:
        print(log)
    if failed:
        sys.exit(f"{name.decode()} does not compile")
    return text("PTX")


def report(ptx, sm):
    """Prints registers per kernel; False when it does not assemble or registers spill."""
    ptxas = TOOLS / "nvidia" / "cu13" / "bin" / "ptxas"
    done = subprocess.run([ptxas, f"-arch=sm_{sm}", "-v", "-o", os.devnull, ptx], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
        return False
    found = re.findall(r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", done.stderr, re.S)
    for kernel, spilled, registers in found:
        print(f"{kernel:16} sm_{sm:<4} {registers:>3} registers, {spilled} B spilled")
    return all(spilled == "0" for _, spilled, _ in found)


def source_hash():
    """FNV-1a over path and bytes of every source, as in build.rs."""
    h = 0xCBF29CE484222325
    sources = sorted(p.relative_to(HERE).as_posix() for ext in ("cu", "cuh") for p in HERE.rglob(f"*.{ext}"))
    for name in sources:
        for byte in name.encode() + (HERE / name).read_bytes():
            h = ((h ^ byte) * 0x100000001B3) & (2**64 - 1)
    return f"{h:016x}"


def main():
    fetch_tools()
    if "--tools-only" in sys.argv:
        return
    nvrtc, out, fine = load_nvrtc(), HERE / "prebuilt", True
    out.mkdir(exist_ok=True)
    for old in out.glob("*.ptx"):
        old.unlink()
    for source in sorted(HERE.rglob("*.cu")):
        stem = source.relative_to(HERE).as_posix().removeprefix("common/").removesuffix(".cu").replace("/", "-")
        targets = BRANCHING if "__CUDA_ARCH__" in source.read_text() else EVERYWHERE
        for capability in targets:
            (out / f"{stem}.compute_{capability}.ptx").write_text(compile_ptx(nvrtc, source, capability))
        for sm in DEVICES:
            best = max(c for c in targets if c <= sm)
            fine &= report(out / f"{stem}.compute_{best}.ptx", sm)
    (out / "SOURCE_HASH").write_text(source_hash() + "\n")
    sys.exit(0 if fine else "a kernel does not assemble or spills registers")


main()
