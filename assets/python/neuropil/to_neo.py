"""Blocks of neo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .streams import Rows, Spikes

if TYPE_CHECKING:
    from .reader import Run

try:
    import neo
    import quantities
except ImportError as error:
    raise ImportError("to_neo needs neo: pip install neo") from error


def block(run: Run) -> neo.Block:
    """Returns a block with a segment per trial; see `Run.to_neo`."""
    if run.manifest.counted:
        raise ValueError(f"neo needs times in seconds; the steps of this run are {run.time_unit}")
    whole = neo.Block(name=run.name, kind=run.kind, seed=run.seed, app=run.manifest.app)
    for trial in run.trials:
        whole.segments.append(_segment(trial))
    return whole


def _segment(run: Run) -> neo.Segment:
    segment = neo.Segment(
        name="run" if run.trial is None else f"trial {run.trial}", index=run.trial or 0, seed=run.seed
    )
    for stream in run.streams.values():
        if isinstance(stream, Spikes):
            segment.spiketrains.extend(_spike_trains(run, stream))
        elif isinstance(stream, Rows) and stream.shape in ("series", "field"):
            for signal in _signals(stream):
                is_regular = isinstance(signal, neo.AnalogSignal)
                (segment.analogsignals if is_regular else segment.irregularlysampledsignals).append(signal)
    if run.edits:
        times = run.time([edit.step for edit in run.edits])
        labels = [edit.text or edit.name for edit in run.edits]
        segment.events.append(neo.Event(times, labels, units="s", name="edits"))
    return segment


def _spike_trains(run: Run, stream: Spikes) -> list[Any]:
    """Returns a train per element with events; annotations `lane` (its index) and `id`."""
    lanes = np.asarray(stream.lanes)
    order = np.argsort(lanes, kind="stable")
    times, ids = stream.times[order], stream.ids[order]
    present, starts = np.unique(lanes[order], return_index=True)
    start, stop = run.time([run.first_step, run.last_step])
    trains = []
    for lane, own, number in zip(present, np.split(times, starts[1:]), ids[starts]):
        name = f"{stream.name} {number}"
        span = {"t_start": min(start, own[0]), "t_stop": max(stop, own[-1]), "units": "s"}
        trains.append(neo.SpikeTrain(own, name=name, lane=int(lane), id=int(number), **span))
    return trains


def _signals(stream: Rows) -> list[Any]:
    """Returns a signal per segment of a stream, regularly sampled where the steps are evenly spaced."""
    signals = []
    for part in stream.segments:
        steps, values = np.asarray(part.steps, np.int64), np.asarray(part.values)
        if len(steps) == 0:
            continue
        unit = _unit(part.unit)
        labels = {"name": part.name, "unit": part.unit, "lanes": list(part.lanes)}
        gaps = np.diff(steps)
        if len(gaps) and (gaps == gaps[0]).all() and gaps[0] > 0:
            period = part.run.secs_per_step * int(gaps[0])
            regular = {"t_start": part.times[0] * quantities.s, "sampling_period": period * quantities.s}
            signals.append(neo.AnalogSignal(values, units=unit, **regular, **labels))
        else:
            signals.append(
                neo.IrregularlySampledSignal(part.times, values, units=unit, time_units="s", **labels)
            )
    return signals


def _unit(name: str) -> Any:
    """Returns a unit of `quantities`; dimensionless for one that it does not know, which the annotation
    `unit` keeps."""
    try:
        return quantities.unit_registry[name] if name else quantities.dimensionless
    except (LookupError, SyntaxError):
        return quantities.dimensionless
