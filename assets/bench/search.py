"""Finds the fastest of the settings that a user of PyTorch would try. Needs no PyTorch itself.

Every setting is measured in a process of its own with a time limit: one that fails, hangs or takes too long to compile is
left out with a note, and the others are measured on a clean device.
"""

import collections
import json
import os
import select
import signal
import sys
import threading
import time

EAGER = "eager"


class Setting(collections.namedtuple("Setting", "weights attention mode")):
    """Number format of the weights, kernel of the attention, mode of torch.compile or EAGER."""

    def __str__(self):
        attention = "" if self.attention == "default" else f"{self.attention} attention, "
        compiled = {EAGER: EAGER, "default": "torch.compile"}.get(self.mode, f"torch.compile {self.mode}")
        return f"{self.weights}, {attention}{compiled}"


def end_with(parent):
    """Ends this process and its children when the parent is gone."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


def in_process(work, limit_s):
    """The result of `work` as a dictionary from a process of its own; a dictionary with a note where there is none."""
    parent, (read, write) = os.getpid(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            threading.Thread(target=end_with, args=(parent,), daemon=True).start()
            try:
                result = work()
            except BaseException as error:
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                result = {"note": f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:200]}
            os.write(write, json.dumps(result).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(write)
    end, line = time.monotonic() + limit_s, b""
    while not line.endswith(b"\n"):
        is_ready = select.select([read], [], [], max(0.0, end - time.monotonic()))[0]
        part = os.read(read, 65536) if is_ready else None
        if not part:
            line = json.dumps({"note": "its process ended" if is_ready else f"not done after {limit_s:.0f} s"}).encode()
            break
        line += part
    os.close(read)
    # Compilers that it started are in its group.
    for kill, target in ((os.killpg, child), (os.kill, child)):
        try:
            kill(target, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os.waitpid(child, 0)
    return json.loads(line)


class Search:
    """Measures settings by `measure(setting, is_brief)`, each for at most `limit_s`, all for at most `total_s`."""

    def __init__(self, measure, limit_s, total_s):
        self.measure, self.limit_s, self.total_s = measure, limit_s, total_s
        self.end = time.monotonic() + total_s
        self.tried = []

    def attempt(self, setting, is_brief, must_run=False):
        left = self.limit_s if must_run else min(self.limit_s, self.end - time.monotonic())
        outcome = {"note": f"not tried: all {self.total_s} s of the comparison were used"}
        if left > 0:
            outcome = in_process(lambda: self.measure(setting, is_brief), left)
        self.tried = [known for known in self.tried if known[0] != setting] + [(setting, outcome, is_brief)]

    def best(self, weights=None):
        """The fastest of all, or of those with these weights; None without any."""
        measured = [known for known in self.tried if "tokens_per_s" in known[1] and weights in (None, known[0].weights)]
        return max(measured, key=lambda known: known[1]["tokens_per_s"], default=None)

    def run(self, weights, attentions, modes):
        """All weights with all kernels of attention, briefly; then the fastest kernel of each compiled; then the fastest
        of all in the other modes. Returns the fastest with its result."""
        for format in weights:
            for attention in attentions:
                self.attempt(Setting(format, attention, EAGER), is_brief=True)
        fastest = [known for known in map(self.best, weights) if known]
        fastest.sort(key=lambda known: -known[1]["tokens_per_s"])
        for setting, _, _ in fastest if modes else []:
            self.attempt(setting._replace(mode=modes[0]), is_brief=False)
        if fastest:
            setting = self.best()[0]
            for mode in modes[1:]:
                self.attempt(setting._replace(mode=mode), is_brief=False)
            setting, _, is_brief = self.best()
            if is_brief:
                self.attempt(setting, is_brief=False, must_run=True)
        best = self.best()
        if best is None:
            notes = "; ".join(f"{setting}: {outcome['note']}" for setting, outcome, _ in self.tried)
            sys.exit(f"no setting could be measured: {notes}")
        return best[:2]

    def settings(self):
        """What was tried, the fastest first: name, tokens per second, note."""
        rows = [
            {"mode": str(setting), "tokens_per_s": outcome.get("tokens_per_s"), "note": outcome.get("note", "")}
            for setting, outcome, _ in self.tried
        ]
        return sorted(rows, key=lambda row: -(row["tokens_per_s"] or 0.0))
