#!/usr/bin/env python3
"""Makes kernels/prebuilt/*.ptx from kernels/**/*.cu, those whose sources, includes or flags changed. Needs Python with pip;
no GPU, no CUDA toolkit, no root.

Files, targets and flags are those of gen/modules.txt, which Rust writes from the declarations of the modules. prebuilt/SOURCES
lists the inputs of each PTX build: after a merge, with or without conflicts in prebuilt/, run this again.
NVRTC 12.0 writes PTX 8.0, which every driver from 525 on loads; the assembler only reports what the kernels
cost on each architecture. Both are pinned wheels, kept in target/cuda-tools or in $CUDA_TOOLS.
"""
import argparse, concurrent.futures, ctypes, functools, os, pathlib, re, subprocess, sys, zlib

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(os.environ.get("CUDA_TOOLS", HERE.parent / "target" / "cuda-tools"))
# compute_100a and compute_120a need NVRTC 12.8 or newer, whose PTX only drivers from 570 on load: pin it beside this
# one, for those targets alone, with the first module that declares them.
WHEELS = ["nvidia-cuda-nvrtc-cu12==12.0.140", "nvidia-cuda-nvcc==13.0.88"]
OUT = HERE / "prebuilt"
HEAD = f"# Checksum of the inputs of a PTX build, checksum of its text, its name; by {WHEELS[0]}.\n"
UPDATE = "UPDATE=1 cargo test --test floors generated_headers"


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


def read_list():
    """Capabilities to assemble for, and (stem, file, targets, flags) of each module."""
    lines = [line for line in (HERE / "gen" / "modules.txt").read_text().splitlines() if not line.startswith("#")]
    modules = [[part.strip() for part in line.split("|")] for line in lines[1:]]
    declared = {file for _, file, _, _ in modules}
    present = {path.relative_to(HERE).as_posix() for path in HERE.rglob("*.cu")}
    if declared != present:
        wrong = ", ".join(sorted(declared ^ present))
        sys.exit(f"kernels/ and gen/modules.txt disagree about {wrong}: declare it with `kernels!` in a kind's MODULES, then run `{UPDATE}`")
    split = [(stem, file, targets.split(), flags.split()) for stem, file, targets, flags in modules]
    return [int(sm) for sm in lines[0].split()], split


def compile_ptx(nvrtc, file, target, flags):
    def text(what):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode()

    program = ctypes.c_void_p()
    source = (HERE / file).read_bytes()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, file.encode(), 0, None, None) == 0
    options = [o.encode() for o in [f"--gpu-architecture={target}", f"-I{HERE}", *flags]]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = text("ProgramLog").strip()
    if log:
        print(log)
    if failed:
        sys.exit(f"{file} does not compile for {target} (if it is the target that is unknown: see WHEELS in kernels/build.py)")
    # Comments and empty lines are a fifth of a kernel of inline assembly, and the numbers of calls in them depend on what was
    # compiled before. As in src/gpu/nvrtc.rs.
    lines = (line.split("//")[0].rstrip() for line in text("PTX").splitlines())
    return "".join(line + "\n" for line in lines if line)


def best_target(targets, sm):
    """As gpu::Target::best: the highest that runs, arch-specific first; and the assembler's architecture."""
    known = [(int(t.removeprefix("compute_").rstrip("a")), t.endswith("a"), t) for t in targets]
    capability, specific, target = max(t for t in known if (t[0] == sm if t[1] else t[0] <= sm))
    return target, f"sm_{sm}{'a' if specific else ''}"


def report(job):
    """Registers per kernel as text; and whether it assembles without spilling any."""
    ptx, arch = job
    ptxas = TOOLS / "nvidia" / "cu13" / "bin" / "ptxas"
    done = subprocess.run([ptxas, f"-arch={arch}", "-v", "-o", os.devnull, ptx], capture_output=True, text=True)
    if done.returncode:
        return done.stderr, False
    found = re.findall(r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", done.stderr, re.S)
    rows = [f"{kernel:16} {arch:<7} {registers:>3} registers, {spilled} B spilled" for kernel, spilled, registers in found]
    return "\n".join(rows), all(spilled == "0" for _, spilled, _ in found)


def checksum(data):
    return f"{zlib.crc32(data):08x}"


@functools.cache
def read_source(file):
    """Checksum of a source and the files it includes."""
    data = (HERE / file).read_bytes()
    return checksum(data), re.findall(r'^#include "([^"]*)"', data.decode(), re.M)


def sum_of_inputs(file, target, flags):
    """Checksum of all inputs of a PTX build. As in src/gpu/stale.rs."""
    found, left = set(), [file]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += read_source(file)[1]
    rows = "".join(f"{read_source(file)[0]} {file}\n" for file in sorted(found))
    return checksum(f"{target} {' '.join(flags)}\n{rows}".encode())


def fresh_rows():
    """Rows of SOURCES that hold, as {name: checksum of the inputs}: those of the pinned compiler whose build is as recorded."""
    path = OUT / "SOURCES"
    rows = path.read_text().splitlines() if path.exists() else []
    if HEAD.strip() not in rows:
        return {}
    found = {}
    for row in rows:
        inputs, sum, name = words if len(words := row.split(" ")) == 3 else ("", "", "")
        if (OUT / name).is_file() and checksum((OUT / name).read_bytes()) == sum:
            found[name] = inputs
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--all", action="store_true", help="build every module, whether its inputs changed or not")
    parser.add_argument("--tools-only", action="store_true", help="only fetch the wheels, for the test that compiles every kernel")
    return parser.parse_args()


def main():
    given = arguments()
    fetch_tools()
    if given.tools_only:
        return
    OUT.mkdir(exist_ok=True)
    devices, modules = read_list()
    wanted = {f"{stem}.{target}.ptx": (file, target, flags, targets) for stem, file, targets, flags in modules for target in targets}
    inputs = {name: sum_of_inputs(file, target, flags) for name, (file, target, flags, _) in wanted.items()}
    known = {} if given.all else fresh_rows()
    rows = {name for name in wanted if known.get(name) == inputs[name]}
    for old in OUT.glob("*.ptx"):
        if old.name not in wanted:
            old.unlink()
    nvrtc, reports = load_nvrtc(), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in [name for name in wanted if name not in rows]:
            file, target, flags, targets = wanted[name]
            (OUT / name).write_text(compile_ptx(nvrtc, file, target, flags))
            archs = [arch for best, arch in (best_target(targets, sm) for sm in devices) if best == target]
            reports[name] = [pool.submit(report, (OUT / name, arch)) for arch in archs]
    for name, jobs in reports.items():
        print("\n".join(text for text, _ in (job.result() for job in jobs)))
        # One that spills stays stale.
        rows |= {name} if all(fine for _, fine in (job.result() for job in jobs)) else set()
    text = "".join(f"{inputs[name]} {checksum((OUT / name).read_bytes())} {name}\n" for name in sorted(rows))
    (OUT / "SOURCES").write_text(HEAD + text)
    print(f"{len(reports)} of {len(wanted)} PTX files built")
    sys.exit(0 if rows == set(wanted) else "a kernel does not assemble or spills registers")


main()
