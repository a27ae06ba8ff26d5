"""Parameters in force and edits equal what the program says about project and command log."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CAPSULE, KINDS

import neuropil


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_those_of_the_project(
    kind: str, recorded: Callable[[str], Path], program: Path
) -> None:
    folder = recorded(kind)
    command = [str(program), "info", str(folder / "project.ron"), "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[
        "parameters"
    ]
    own = neuropil.open(folder).parameters()
    assert set(own) == set(said)
    for path, value in said.items():
        # A chosen group is said with its parameters, a distribution with units.
        is_text = isinstance(value, str) and "(" in value
        assert own[path].value == value or (
            is_text and value.startswith(str(own[path].value).split("(")[0])
        ), path


def test_parameters_have_units(recorded: Callable[[str], Path], program: Path) -> None:
    command = [str(program), "params", "spiking", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[
        "parameters"
    ]
    units = {entry["path"]: entry["unit"] for entry in said}
    own = neuropil.open(recorded("spiking")).parameters()
    for path, parameter in own.items():
        generic = ".".join("N" if part.isdigit() else part for part in path.split("."))
        if generic in units:
            assert parameter.unit == units[generic], path
    assert str(own["lif.tau_m"]) == "20.0 ms"


def test_edits_of_an_old_run_are_named() -> None:
    run = neuropil.open(CAPSULE / "balanced-edits")
    edits = [(edit.step, edit.kind, edit.name) for edit in run.edits]
    assert edits == [
        (300, "set", "interventions.0.rate_hz"),
        (500, "set", "interventions"),
        (600, "act", "kick"),
        (900, "set", "lif.w_syn"),
        (1200, "set", "interventions"),
        (1500, "set", "interventions.2.effect"),
        (1700, "set", "interventions"),
        (1900, "set", "lif.tau_m"),
    ]
    assert run.edits[2].elements == (1, 5, 9) and run.edits[2].arguments == {"weight_mv": 30.0}


def test_parameters_in_force_follow_the_edits() -> None:
    run = neuropil.open(CAPSULE / "balanced-edits")

    def at(step: int, path: str) -> neuropil.Parameter | None:
        return run.parameters(step).get(path)

    assert at(299, "interventions.0.rate_hz") == neuropil.Parameter(100.0, "Hz", 0)
    assert at(300, "interventions.0.rate_hz") == neuropil.Parameter(300.0, "Hz", 300)
    assert at(499, "interventions.1.name") is None
    assert at(500, "interventions.1.rate_hz") == neuropil.Parameter(150.0, "Hz", 500)
    assert at(1500, "interventions.2.effect") == neuropil.Parameter("SignOverride", "", 1500)
    assert at(1700, "interventions.2.effect") is None
    assert at(1899, "lif.tau_m") == neuropil.Parameter(20.0, "ms", 0)
    assert run.parameters()["lif.tau_m"] == neuropil.Parameter(15.0, "ms", 1900)
    assert run.parameters()["lif.w_syn"] == neuropil.Parameter(0.3, "mV", 900)


LOG = """// One (step, command) per line, in the order they were applied.
(3,Set("projections.0.plasticity",Variant("Pair",[("tau_plus",Real(17.0))]))) // Pair
(5,Set("projections.0.plasticity.Pair.tau_plus",Real(18.0))) // 18 ms
(6,Data("data.text",Text("a.txt"),"0123456789abcdef")) // a.txt
(7,Act(action:"kick",ids:[720575940],arguments:[("weight_mv",Real(2.0)),("how",Choice("Fast"))])) // kick
(8,Set("populations.0.v_start",Distribution("uniform(-60, -50)"))) // v
(9,Set("x.list",List([1.0,2.5]))) // list
(10,Rewind) // back to step 0
(11,Set("lif.tau_m",Real("""


def test_every_command_of_the_log_is_read(
    recorded: Callable[[str], Path], copied: Callable[[Path], Path]
) -> None:
    folder = copied(recorded("spiking"))
    (folder / "commands.ron").write_text(LOG)
    run = neuropil.open(folder, verify=False)
    assert [edit.kind for edit in run.edits] == ["set", "set", "data", "act", "set", "set", "rewind"]
    assert run.edits[0].value == neuropil.Choice("Pair", {"tau_plus": 17.0})
    assert run.edits[3].ids == (720575940,) and run.edits[3].arguments == {"weight_mv": 2.0, "how": "Fast"}
    now = run.parameters(10)
    assert now["projections.0.plasticity"].value == "Pair"
    assert now["projections.0.plasticity.tau_plus"].value == 18.0
    assert now["x.list"].value == [1.0, 2.5]
    with pytest.raises(neuropil.RunError, match="its hash differs|bytes were written"):
        _ = neuropil.open(folder).edits
    (folder / "commands.ron").write_text("//\n(1,Set(3,Real(2.0)))\n")
    with pytest.raises(neuropil.RunError, match=r"commands\.ron:2: not a command: a name is expected"):
        _ = neuropil.open(folder, verify=False).edits
