#!/usr/bin/env python3
"""Kills runs at random moments and checks what is left of them.

    python3 tests/tools/kill_runs.py target/release/neuropil --kills 500 --seed 1

Each round records, continues or branches a small run of one of four kinds and kills the process (SIGKILL) after a random
time, or after a random number of changes in its folder. Then:

- `check` finds no damage in what is left;
- the run is continued, and killed again, until it ends; data, hash and totals equal those of the run that was not killed;
- or it is refused with a sentence: it has no checkpoint yet. Then it is recorded again in the same folder;
- of two processes that continue it at the same time, one is refused;
- a complete run is extended, killed and continued, and equals one that was as long from the start;
- a random bit of a copy is flipped: `check` finds it, and a continued copy is refused or equals a run that was not damaged.

The seed decides projects, moments and bits; what a process has done at a moment depends on the machine.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMON = ["--device", "cpu", "--threads", "1", "--batch", "7"]
TINY = ["model.layers=1", "model.heads=2", "model.width=16", "model.context=16", "training.batch=2",
        "data.grammar_bytes=20000", "measure.held_out_every=10", "measure.sample_every=10", "measure.length=8",
        "measure.every=1"]
NUCLEI = """(name: "Nuclei", seed: 5, model: Nuclei((population: (capacity: 128, n_start: 64))), run: (steps: 600),
record: ["order", "births", "deaths", "lineage", "log", "phase"])"""


class Kind:
    """A small project: the words of its run, its length, and a change for branches."""

    def __init__(self, name, project, settings, steps, every, unit, change):
        self.name, self.project, self.settings = name, project, settings
        self.steps, self.every, self.unit, self.change = steps, every, unit, change

    def record(self, out, steps):
        settings = [word for text in self.settings for word in ("--set", text)]
        every = ["--checkpoint-every", f"{self.every}steps"]
        return ["run", self.project, *settings, *COMMON, *every, *self.duration(steps), "--out", out]

    def branch(self, run, out, steps):
        every = ["--checkpoint-every", f"{self.every}steps", "--at", str(self.steps // 2), "--set", self.change]
        return ["run", "--branch", run, "--out", out, *COMMON, *every, *self.duration(steps)]

    def resume(self, run, steps):
        return ["run", "--resume", run, *COMMON, *self.duration(steps)]

    def duration(self, steps):
        return ["--duration", f"{steps}{self.unit}"]


def kinds(root, folder):
    nuclei = folder / "nuclei.ron"
    nuclei.write_text(NUCLEI)
    projects = root / "projects"
    network = ["network.n_neurons=400", "network.in_degree=40"]
    experts = ["experts.count=6", "experts.hidden=8", "life.warm_up=10", "life.interval=5", "life.weak_health=0.4"]
    return [
        Kind("spiking", projects / "balanced.ron", network, 3000, 300, "steps", "lif.tau_m=12ms"),
        Kind("nuclei", nuclei, [], 600, 60, "steps", "phases.coupling=3"),
        Kind("transformer", projects / "nano.ron", TINY, 120, 12, "steps", "training.learning_rate=0.003"),
        Kind("synaptic", projects / "synaptic-nano16.ron", [*TINY, *experts], 60, 6, "steps",
             "training.learning_rate=0.002"),
    ]


class Failure(Exception):
    pass


class Test:
    def __init__(self, binary, folder, seed, root):
        self.binary, self.folder, self.random = binary, folder, random.Random(seed)
        self.kinds = kinds(root, folder)
        self.reference, self.counts = {}, {}
        self.environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "RUST_LOG")}

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def start(self, words):
        return subprocess.Popen([self.binary, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment, cwd=self.folder)

    def run(self, words):
        """Runs to the end; exit code and what was said."""
        process = self.start(words)
        out, err = process.communicate(timeout=300)
        if process.returncode not in (0, 1, 2):
            raise Failure(f"{words}: exit code {process.returncode}: {err.decode()}")
        return process.returncode, out.decode(), err.decode()

    def ok(self, words):
        code, out, err = self.run(words)
        if code != 0:
            raise Failure(f"{' '.join(map(str, words))}: exit code {code}: {err}")
        return out

    def run_and_kill(self, words, out, longest):
        """Kills the process at a random moment, unless it ends before: "killed", "ended" or "refused"."""
        process = self.start(words)
        if self.random.random() < 0.5:
            wait = self.random.uniform(0, longest)
            try:
                process.wait(wait)
            except subprocess.TimeoutExpired:
                pass
        else:
            self.wait_for_changes(process, out, self.random.randrange(60), longest)
        killed = process.poll() is None
        process.kill()
        _, err = process.communicate()
        said = err.decode()
        if not killed and process.returncode != 0 and not self.is_refused(said) and "is complete at step" not in said:
            raise Failure(f"{' '.join(map(str, words))}: exit code {process.returncode}: {err.decode()}")
        if killed:
            self.count("kills")
            return "killed"
        return "ended" if process.returncode == 0 else "refused"

    @staticmethod
    def wait_for_changes(process, out, changes, longest):
        """Waits until names, or the inodes or a length that shrank, have changed a number of times in a folder."""
        end, before = time.monotonic() + longest, None
        while changes > 0 and process.poll() is None and time.monotonic() < end:
            try:
                now = {e.name: (e.inode(), e.stat().st_size if e.name == "commands.ron" else 0) for e in os.scandir(out)}
            except FileNotFoundError:
                now = {}
            if now != before:
                changes, before = changes - 1, now

    @staticmethod
    def is_refused(said):
        return "has no usable checkpoint: it has none" in said or "is not a run" in said

    def result(self, run):
        """What must be equal: streams with their hashes, commands, hash and totals."""
        info = json.loads(self.ok(["info", "--json", run]))
        streams = [[s[k] for k in ("probe", "args", "file", "from_step", "width", "n_bytes", "hash", "levels")
                    if k in s] for s in info["streams"]]
        sets = [[s["name"], s["len"], s["from_step"]] if "from_step" in s else s for s in info["sets"]]
        steps = [info["first_step"], info["last_step"], info["status"]]
        commands = (Path(run) / "commands.ron").read_bytes()
        return {"steps": steps, "streams": streams, "sets": sets, "digest": info["digest"], "commands": commands}

    def equal(self, run, expected, what):
        found = self.result(run)
        for key, value in expected.items():
            if found[key] != value:
                raise Failure(f"{what}: {key} differs: {found[key]!r} is not {value!r}")

    def check(self, run, what):
        """`check` finds no damage, in a folder that holds a run."""
        if not (Path(run) / "run.ron").exists():
            return
        code, out, err = self.run(["check", run])
        if code != 0:
            raise Failure(f"{what}: check finds damage: {out}{err}")
        self.count("checks of sound runs")

    def prepare(self):
        """The runs that are not killed."""
        for kind in self.kinds:
            whole, longer = self.folder / f"{kind.name}-whole", self.folder / f"{kind.name}-longer"
            began = time.monotonic()
            self.ok(kind.record(whole, kind.steps))
            seconds = time.monotonic() - began
            longer_steps = kind.steps + kind.every + kind.every // 2
            self.ok(kind.record(longer, longer_steps))
            parent = self.folder / f"{kind.name}-parent"
            self.ok([*kind.record(parent, kind.steps), "--set", "run.keep_checkpoints=0"])
            branch = self.folder / f"{kind.name}-branch"
            self.ok(kind.branch(parent, branch, kind.steps))
            extended = self.folder / f"{kind.name}-branch-longer"
            self.ok(kind.branch(parent, extended, longer_steps))
            self.reference[kind.name] = {
                "parent": parent, "seconds": seconds, "longer_steps": longer_steps,
                "result": self.result(whole), "longer": self.result(longer),
                "branch": self.result(branch), "branch_longer": self.result(extended),
            }
            print(f"{kind.name}: {seconds:.2f} s", flush=True)

    def round(self, number):
        kind = self.random.choice(self.kinds)
        reference = self.reference[kind.name]
        branches = self.random.random() < 0.3
        run = self.folder / f"round-{number}"
        words = kind.branch(reference["parent"], run, kind.steps) if branches else kind.record(run, kind.steps)
        what = f"round {number}: {kind.name}, {'branch' if branches else 'record'}"
        seconds = reference["seconds"]
        self.count("branches" if branches else "recordings")
        how = self.run_and_kill(words, run, seconds)
        self.check(run, what)
        while how == "killed" and self.random.random() < 0.6:
            if self.random.random() < 0.2:
                self.flip(kind, run, branches, what)
            how = self.run_and_kill(kind.resume(run, kind.steps), run, seconds)
            self.count("continued")
            self.check(run, f"{what}, continued")
        if how != "ended":
            code, _, err = self.run(kind.resume(run, kind.steps))
            if code != 0 and "is complete at step" in err:
                self.count("killed after its end")
            elif code != 0:
                if not self.is_refused(err):
                    raise Failure(f"{what}: not continued: {err}")
                self.count("refused without a checkpoint")
                self.ok(words)
        self.equal(run, reference["branch" if branches else "result"], what)
        self.check(run, f"{what}, at the end")
        self.count("results equal")
        self.flip(kind, run, branches, what)
        if self.random.random() < 0.4:
            self.extend(kind, run, branches, what)
        if self.random.random() < 0.1:
            replayed = self.ok(["replay", "--device", "cpu", run])
            if not replayed.startswith("identical"):
                raise Failure(f"{what}: {replayed}")
            self.count("replays")
        shutil.rmtree(run)

    def extend(self, kind, run, branches, what):
        """Extends a complete run: killed and continued, or by two processes at once."""
        reference, what = self.reference[kind.name], f"{what}, extended"
        words = kind.resume(run, reference["longer_steps"])
        if self.random.random() < 0.5:
            self.run_and_kill(words, run, reference["seconds"] / 2)
            self.check(run, what)
            self.ok_or_complete(words)
        else:
            first = self.start(words)
            time.sleep(self.random.uniform(0, reference["seconds"] / 2))
            code, _, err = self.run(words)
            _, said = first.communicate()
            refused = ("is still being written", "is complete at step")
            # The later one may be the first to lock the run.
            for its_code, its_err in ((code, err), (first.returncode, said.decode())):
                if its_code != 0 and not any(reason in its_err for reason in refused):
                    raise Failure(f"{what}, two at once: {its_err}")
            if code != 0 and first.returncode != 0:
                raise Failure(f"{what}, two at once: both are refused: {err}, {said}")
            self.count("continued by two at once")
        self.equal(run, reference["branch_longer" if branches else "longer"], what)
        self.check(run, f"{what}, at the end")
        self.count("extended results equal")

    def ok_or_complete(self, words):
        code, _, err = self.run(words)
        if code != 0 and "is complete at step" not in err:
            raise Failure(f"{' '.join(map(str, words))}: exit code {code}: {err}")

    def flip(self, kind, run, branches, what):
        """Flips a bit of a copy: what is recorded or verified there is found out."""
        if not (run / "run.ron").exists():
            return
        copy = self.folder / "flipped"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        status = json.loads(self.ok(["info", "--json", run]))["status"]
        is_closed = status not in ("Running", "Unclosed")
        names = sorted(p.name for p in copy.iterdir() if p.name != "run.lock" and p.stat().st_size > 0)
        path = copy / self.random.choice(names)
        content = bytearray(path.read_bytes())
        at = self.random.randrange(len(content))
        content[at] ^= 1 << self.random.randrange(8)
        path.write_bytes(content)
        what = f"{what}: bit flipped in {path.name} at byte {at} of {len(content)} ({status})"
        code, out, err = self.run(["check", copy])
        if code == 0 and is_closed:
            raise Failure(f"{what}: check does not find it: {out}")
        self.count("flips found" if code != 0 else "flips behind the last checkpoint")
        reference = self.reference[kind.name]
        code, _, err = self.run(kind.resume(copy, reference["longer_steps"]))
        if code == 0:
            self.equal(copy, reference["branch_longer" if branches else "longer"], f"{what}, continued")
            self.count("flips computed again")
        elif not err.startswith("neuropil: "):
            raise Failure(f"{what}: refused without a sentence: {err}")
        else:
            self.count("flips refused")
        shutil.rmtree(copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the folder after a failure")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neuropil-kills-"))
    test = Test(args.binary.resolve(), folder, args.seed, Path(__file__).resolve().parents[2])
    failures, number = [], 0
    try:
        test.prepare()
        while test.counts.get("kills", 0) < args.kills:
            number += 1
            try:
                test.round(number)
            except (Failure, subprocess.TimeoutExpired) as why:
                failures.append(str(why))
                print(f"FAILED {why}", flush=True)
            if number % 25 == 0:
                print(f"{number} rounds: {test.counts}", flush=True)
    finally:
        if not (args.keep and failures):
            shutil.rmtree(folder, ignore_errors=True)
    for what, n in sorted(test.counts.items()):
        print(f"{n:6} {what}")
    print(f"{number:6} rounds\n{len(failures):6} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
