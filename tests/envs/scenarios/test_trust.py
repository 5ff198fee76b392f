"""A stranger's scenario runs no code: classes are CityLearn's, and files lie below the schema, unless the user trusts it."""

import contextlib
import importlib
import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import ScenarioError
from envs.objective.reward import check_reward
from envs.scenarios import trust
from envs.scenarios.scenario import scenario
from envs.scenarios.schema_file import read_schema
from envs.scenarios.tariff import FILE_NAME, DemandCharge, write_tariff
from envs.scenarios.trust import autosized, is_on, named_classes, named_files, root_of
from tests.audit import audited
from tests.envs.scenarios import strangers

END = "end of what is not trusted"  # name of code that marks it in a list of events


@pytest.fixture(scope="module")
def hostile(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Schemas of all strangers, by kind and name, below one folder."""
    folder = tmp_path_factory.mktemp("strangers")
    groups = {"class": strangers.CLASSES, "path": strangers.PATHS, "unneeded": strangers.NOT_NEEDED}
    changes = {f"{kind}: {name}": change for kind, group in groups.items() for name, change in group.items()}
    return {
        name: strangers.write(small_schema, folder / str(number), change)
        for number, (name, change) in enumerate(changes.items())
    }


@pytest.mark.parametrize("name", strangers.CLASSES)
def test_a_class_that_is_not_citylearns_own_is_refused(hostile: dict[str, Path], name: str) -> None:
    with pytest.raises(ScenarioError, match=trust.OPTION) as error:
        scenario(str(hostile[f"class: {name}"]))
    assert "type is" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", strangers.PATHS)
def test_a_file_outside_of_the_schemas_folder_is_refused(hostile: dict[str, Path], name: str) -> None:
    with pytest.raises(ScenarioError, match=f"outside of .*{trust.OPTION}") as error:
        scenario(str(hostile[f"path: {name}"]))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a series with an absolute path", ""),
        ("a series above", "lacks the columns month"),
        ("a root above", "which is not in"),
    ],
)
def test_trust_lets_a_scenario_read_elsewhere(small_schema: Path, tmp_path: Path, name: str, message: str) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.PATHS[name])
    with pytest.raises(ScenarioError, match=message) if message else contextlib.nullcontext():
        scenario(str(path), trusted=True)


def test_a_link_and_an_absolute_path_may_lead_to_the_schemas_own_folder(site: Path, tmp_path: Path) -> None:
    schema = read_schema(site / "schema.json")
    (building,) = schema["buildings"].values()
    (site / "link.csv").symlink_to(site / building["pricing"])
    building["pricing"], building["weather"] = "link.csv", str(site / building["weather"])
    schema["root_directory"] = str(site)
    (site / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (tmp_path / "linked").symlink_to(site, target_is_directory=True)
    for path in (site, tmp_path / "linked"):
        assert scenario(str(path)).schema == site.resolve() / "schema.json"


def test_a_tariff_may_be_a_link_within_the_schemas_folder_alone(site: Path, tmp_path: Path) -> None:
    tariff = site / FILE_NAME
    tariff.unlink(missing_ok=True)
    charge = DemandCharge(peak_hours=(18,), peak_price=10.0, off_peak_excess_price=4.0)
    write_tariff(tmp_path, "PEN", charge)
    shutil.copy(tmp_path / "tariff.json", site / "charge.json")
    tariff.symlink_to(site / "charge.json")
    assert DemandCharge.of(scenario(str(site)).schema_path(0)) == charge
    for target in (tmp_path / "tariff.json", Path("/dev/zero")):
        tariff.unlink()
        tariff.symlink_to(target)
        with pytest.raises(ScenarioError, match=f"tariff.json is a link to a file outside of .*{trust.OPTION}"):
            scenario(str(site))
    if os.name != "nt":  # no such device there
        with pytest.raises(ScenarioError, match=r"tariff\.json cannot be read: it is a pipe or a device"):
            scenario(str(site), trusted=True)


def test_all_places_are_named_at_once_up_to_twenty(small_schema: Path, tmp_path: Path) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.PATHS["a series above"])
    schema = read_schema(path)
    (name,) = schema["buildings"]
    schema["buildings"][name]["pv"]["type"] = strangers.CLASS
    for more, places in ((0, 2), (18, 20), (30, 20)):
        others = {f"other{number}": {"type": strangers.CLASS} for number in range(more)}
        with pytest.raises(ScenarioError) as error:
            trust.check(path, {**schema, "buildings": {**schema["buildings"], **others}})
        message = str(error.value)
        assert message.count(" is '") == places
        assert f"buildings.{name}.pv.type is 'stranger.evil.Evil'" in message
        assert ("and 12 more" in message) == (more == 30)


@pytest.mark.parametrize("name", strangers.NOT_NEEDED)
def test_a_class_that_a_run_does_not_need_is_no_reason_to_refuse_it(small_schema: Path, tmp_path: Path, name: str) -> None:
    site = scenario(str(strangers.write(small_schema, tmp_path, strangers.NOT_NEEDED[name])))
    check_reward(site, "improvement")
    if "reward" in name:
        with pytest.raises(ScenarioError, match=rf"reward_function\.type.* is 'stranger.*{trust.OPTION}"):
            check_reward(site, "schema")


def test_every_class_that_passes_is_citylearns_own_and_there() -> None:
    for known in trust.CLASSES.values():
        for name in known:
            module, _, kind = name.rpartition(".")
            assert module.partition(".")[0] == "citylearn"
            assert isinstance(getattr(importlib.import_module(module), kind), type)


def test_weights_need_trust_where_torch_would_unpickle_them(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = read_schema(small_schema)
    (building,) = schema["buildings"].values()
    building["dynamics"] = {"type": "citylearn.dynamics.LSTMDynamics", "attributes": {"filename": "weights.pth"}}
    trust.check(small_schema, schema)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(ScenarioError, match="torch would unpickle"):
        trust.check(small_schema, schema)


def test_code_of_a_trusted_scenario_is_part_of_its_key(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.CLASSES["a building"])
    with pytest.raises(ScenarioError, match=r"no module 'stranger\.evil'.*PYTHONPATH"):
        scenario(str(path), trusted=True)
    monkeypatch.syspath_prepend(tmp_path)
    site = scenario(str(path), trusted=True)
    assert site.trusted
    assert not (path.parent / "imported").exists()
    with (path.parent / "evil.py").open("a", encoding="utf-8") as file:
        file.write("# another version\n")
    assert scenario(str(path), trusted=True).key != site.key


def test_trust_changes_no_key_of_a_scenario_that_needs_none(small_schema: Path) -> None:
    assert scenario(str(small_schema), trusted=True).key == scenario(str(small_schema)).key
    assert scenario("iquitos", trusted=True) == scenario("iquitos")


def test_no_command_runs_a_strangers_code(hostile: dict[str, Path], tmp_path: Path) -> None:
    """Each command that takes a scenario or an experiment of one, under the audit; one process for all."""
    folder = hostile["class: a building"].parents[1]
    experiment = tmp_path / "experiment"
    experiment.mkdir()
    settings = {"scenario": str(hostile["class: an occupant as PV"]), "backend": "citylearn", "algo": "ppo"}
    (experiment / "experiment.json").write_text(json.dumps({"settings": settings}), encoding="utf-8")
    program = f"""
import contextlib, importlib, io, json, sys
from common.errors import ScenarioError
from envs.scenarios.scenario import scenario
hostile, experiment = {[str(path) for path in hostile.values()]!r}, {str(experiment)!r}
for path in hostile:
    with contextlib.suppress(ScenarioError):
        scenario(path)
lines = []
for path in hostile[:1]:
    lines += [(name, "--scenario", path) for name in ("run", "headroom", "resources", "doctor")]
lines += [("run", "--resume", experiment), ("judge", experiment), ("rollout", experiment), ("export", experiment, "--to", "x")]
for name, *arguments in lines:
    message = io.StringIO()
    with contextlib.redirect_stderr(message):
        status = importlib.import_module("tuning." + name).main(arguments)
    assert status == 2, (name, arguments, status)
    assert "Traceback" not in message.getvalue()
    print(name, message.getvalue().strip())
"""
    done = audited(["-c", program], folder.parent, cwd=folder.parent, environment={"BUILDING_TUNER_CACHE": str(tmp_path)})
    assert done.status == 0, done.err
    assert done.events == []
    assert done.out.count(trust.OPTION) >= 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiment"]


def test_citylearn_runs_no_strangers_code_unless_it_is_trusted(hostile: dict[str, Path]) -> None:
    """Simulators that pass over what a run does not need; then the same files with trust, so that the audit has its proof."""
    folder = hostile["class: a building"].parent.parent
    wanted = [path for name, path in hostile.items() if name.startswith("unneeded")]
    refused = [hostile["class: an occupant as PV"], hostile["class: a building"], hostile["path: weights"]]
    occupied = hostile["class: an occupant as PV"]
    program = f"""
import contextlib, sys
from pathlib import Path
from envs.citylearn_backend.simulator import CityLearnSimulator
from common.errors import ScenarioError
for path in {list(map(str, wanted))!r}:
    sys.path.insert(0, str(Path(path).parents[1]))
    simulator = CityLearnSimulator(Path(path), with_reward=False)
    simulator.begin(0, 24, 0)
    for _ in range(24):
        assert simulator.step(simulator.uncontrolled_actions())[1] == 0.0
    sys.path.pop(0)
for path in {list(map(str, refused))!r}:
    with contextlib.suppress(ScenarioError):
        CityLearnSimulator(Path(path), with_reward=False)
        raise AssertionError(path)
compile("", {str(folder / END)!r}, "exec")
sys.path.insert(0, {str(wanted[0].parents[1])!r})
CityLearnSimulator(Path({str(wanted[0])!r}), with_reward=True, trusted=True)
with contextlib.suppress(ScenarioError):  # an occupant is no PV, but its models are read
    CityLearnSimulator(Path({str(occupied)!r}), with_reward=False, trusted=True)
"""
    done = audited(["-c", program], folder.parent, cwd=folder.parent)
    assert done.status == 0, done.err
    details = [event.detail for event in done.events]
    assert details[0] == str(folder / END)
    assert str(wanted[0].with_name("evil.py")) in details
    assert f"{os.system.__module__}.system" in details
    assert "os.system" in [event.name for event in done.events]
    assert [path.parent.name for path in folder.parent.rglob("imported")] == [strangers.PACKAGE]


BUILDING: dict[str, Any] = {
    "type": "1",
    "energy_simulation": "a", "weather": "b", "carbon_intensity": "c", "pricing": "d",
    "dynamics": {"type": "2", "attributes": {"filename": "e"}},
    "occupant": {
        "type": "3", "parameters_filename": "f",
        "attributes": {"setpoint_increase_model_filename": "g", "setpoint_decrease_model_filename": "h"},
    },
    "power_outage": {"stochastic_power_outage_model": {"type": "4"}},
    "charging_constraints": {"building_limit_kw": 50.0, "phases": [{"name": "L1", "chargers": ["one"]}]},
    "electrical_service": {"mode": "three_phase", "limits": {"total": {"import_kw": 500.0}, "per_phase": {"L1": {}}}},
    "chargers": {"one": {"type": "5", "charger_simulation": "i"}, "two": {"type": "5"}},
    "deferrable_appliances": {"w": {"type": "6", "cycle_profiles_file": "j", "flexibility_schedule_file": "k"}},
    "escalators": {"e": {"type": "7", "simulation": "l"}, "f": {"simulation_file": "m"}},
    **{
        name: {"type": "8"}
        for name in (
            "cooling_device", "heating_device", "dhw_device", "dhw_storage", "cooling_storage", "heating_storage",
            "electrical_storage",
        )
    },
    "pv": {"type": "8", "autosize": True, "autosize_attributes": {"epw_filepath": "n"}},
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "buildings": {"mall": BUILDING, "out": {"include": False, "weather": "z"}},
    "electric_vehicles_def": {"v": {"type": "9"}, "w": {"battery": {"type": "never imported"}}},
    "robustness": {"enabled": True, "events_file": "o"},
    "demand_response": {"enabled": False, "requests_file": "p"},
    "reward_function": {"type": "10"},
    "agent": {"type": "never imported"},
    "community_market": {"enabled": True, "import_member_weights": {"mall": 1.0}, "kpis": {}},
}


def test_all_files_are_named_with_their_places() -> None:
    found = {file.name: file for file in named_files(SCHEMA)}
    assert set(found) == set("abcdefghijklmnopz")
    assert [name for name, file in found.items() if not file.opened] == ["z", "p"]
    assert found["f"].place == "buildings.mall.occupant.parameters_filename"
    assert found["m"].place == "buildings.mall.escalators.f.simulation_file"
    assert {file.name for file in named_files({**SCHEMA, "topology_mode": "dynamic"}) if file.opened} >= {"z"}


def test_all_classes_are_named_with_their_places() -> None:
    found = {(named.place, named.name) for named in named_classes(SCHEMA)}
    assert {name for _, name in found} == set("123456789")
    devices = {place for place, name in found if name == "8"}
    assert devices == {f"buildings.mall.{name}.type" for name in trust.DEVICES}


def test_only_events_may_lie_at_home() -> None:
    names = {"robustness": {"enabled": True, "events_file": "~/o"}, "buildings": {"a": {"weather": "~/b"}}}
    found = {file.place: file.relative for file in named_files(names)}
    assert found == {"buildings.a.weather": "~/b", "robustness.events_file": str(Path.home() / "o")}
    unknown = {"robustness": {"enabled": True, "events_file": "~no such user/o"}}
    assert [file.relative for file in named_files(unknown)] == ["~no such user/o"]


def test_the_root_is_beside_the_schema_or_below_it() -> None:
    path = Path("/sites/a/schema.json")
    for configured, root in ((None, "/sites/a"), ("", "/sites/a"), ("b", "/sites/a/b"), ("/c", "/c"), (3, "/sites/a")):
        assert root_of(path, {"root_directory": configured}) == Path(root)


def test_devices_that_citylearn_sizes_are_those_of_included_buildings() -> None:
    assert autosized(SCHEMA, "pv") == ["buildings.mall.pv"]
    assert autosized(SCHEMA, "electrical_storage") == []
    assert autosized({"buildings": {"a": {**BUILDING, "include": False}}}, "pv") == []


@pytest.mark.parametrize(("value", "on"), [(True, True), (1, True), (" Yes", True), ("off", False), (None, False), ([], False)])
def test_what_citylearn_takes_for_true(value: Any, on: bool) -> None:
    assert is_on(value) is on


def test_citylearn_has_no_other_places() -> None:
    """Counts in its source: with another version they may differ, and then the places have to be read again."""
    spec = importlib.util.find_spec("citylearn")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    source = {name: (folder / name).read_text(encoding="utf-8") for name in ("internal/loading.py", "citylearn.py")}
    # Twice for the reward; once each for building, dynamics, occupant, outage, charger, device, vehicle, appliance, escalator.
    assert len(re.findall(r"importlib\.import_module\(", source["internal/loading.py"])) == 11
    assert len(re.findall(r"importlib\.import_module\(", source["citylearn.py"])) == 1  # the agent
    # Four series, dynamics, the occupant's parameters and models, chargers, weather for PV, two of appliances, escalators.
    assert len(re.findall(r"os\.path\.join\(schema\['root_directory'\]", source["internal/loading.py"])) == 12
    reading = re.compile(r"read_pickle\(|torch\.load\(|read_csv\(|read_parquet\(|joblib|__import__|\beval\(|\bexec\(")
    counts = {
        path.relative_to(folder).as_posix(): len(reading.findall(path.read_text(encoding="utf-8")))
        for path in (*folder.glob("*.py"), *(folder / "internal").glob("*.py"))
        if path.name not in ("__main__.py", "utilities.py")
    }
    assert {name: count for name, count in counts.items() if count} == {
        "data.py": 1, "dynamics.py": 3, "occupant.py": 2, "internal/demand_response.py": 2, "internal/loading.py": 4,
        "internal/robustness.py": 2,
    }  # fmt: skip
