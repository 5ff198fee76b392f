"""The example computes the month's peaks and the import as the environment does, on a CityLearn that is made up."""

import json
import runpy
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from envs.objective.series import DayPeak, days, import_kwh
from envs.observation import DAY_PEAK_NAME, PEAK_NAMES
from envs.scenarios.tariff import DemandCharge, MonthPeaks
from tuning.exporting import controller

MONTHS = np.array([1, 1, 1, 1, 2, 2, 2])
HOURS = np.array([17, 18, 19, 20, 17, 18, 19])  # 0-23
# Of two buildings: one exports while the other imports, and the second month has less than the first.
NET = np.array([[5.0, 9.0, -4.0, 2.0, 1.0, -3.0, 2.0], [-2.0, 3.0, 6.0, 1.0, 1.0, 1.0, -5.0]])
PEAK_HOURS = (18, 19)
BUILDINGS = ["mall", "home"]


class MadeUp:
    """CityLearn's central agent on `NET`, with the observations that are named."""

    def __init__(self, observations: dict[str, np.ndarray]) -> None:
        self.observation_names, self.action_names = [list(observations)], [["electrical_storage"]]
        self._values = np.array(list(observations.values()), dtype=float)
        self.time_step, self.seconds_per_time_step = 0, 3600.0
        self.buildings = [SimpleNamespace(name=name, net_electricity_consumption=[]) for name in BUILDINGS]

    def reset(self) -> tuple[list[list[float]], dict[str, float]]:
        return [self._values[:, 0].tolist()], {}

    def step(self, actions: list[list[float]]) -> tuple[list[list[float]], float, bool, bool, dict[str, float]]:
        for building, net in zip(self.buildings, NET, strict=True):
            building.net_electricity_consumption.append(net[self.time_step])
        self.time_step += 1
        last = self._values.shape[1] - 1
        return [self._values[:, min(self.time_step, last)].tolist()], 0.0, self.time_step > last, False, {}


def rows_of(
    observations: dict[str, np.ndarray],
    peak_hours: tuple[int, ...],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *more: str,
    changes: Mapping[str, list[str]] = MappingProxyType({}),
) -> np.ndarray:
    """What the policy sees, hour by hour; `more` are names of what the controller counts for it, `changes` of policy.json."""
    seen: list[np.ndarray] = []

    def run(_: None, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        seen.append(inputs["observations"][0])
        return [np.zeros((1, 1))]

    names = {"observations": [*observations, *more], "actions": ["electrical_storage"], "buildings": BUILDINGS}
    interface = names | dict(changes) | {"peak_hours": peak_hours}
    (folder / "policy.json").write_text(json.dumps(interface), encoding="utf-8")
    monkeypatch.setattr(controller, "__file__", str(folder / "controller.py"))
    monkeypatch.setattr(controller.onnxruntime, "InferenceSession", lambda path: SimpleNamespace(run=run))
    # A byte-order mark, and series in another folder than the schema's, as their place is relative to it.
    (folder / "schema.json").write_text('{"root_directory": "series"}', encoding="utf-8-sig")

    def opened(schema: dict[str, str], central_agent: bool) -> MadeUp:
        assert schema == {"root_directory": str(folder / "series")}
        assert central_agent
        return MadeUp(observations)

    monkeypatch.setattr(controller, "CityLearnEnv", opened)
    controller.main(str(folder / "schema.json"))
    return np.array(seen)


def test_the_policy_sees_the_peaks_that_the_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of({"month": MONTHS, "hour": HOURS + 1}, PEAK_HOURS, tmp_path, monkeypatch, *PEAK_NAMES)
    peaks, expected = MonthPeaks(DemandCharge(PEAK_HOURS, 2.0, 1.0)), []
    for month, hour, net in zip(MONTHS, HOURS, NET.sum(axis=0), strict=True):
        peaks.enter(int(month))
        expected.append([peaks.peak_kw, peaks.off_peak_kw])
        peaks.add(int(hour), float(net))
    np.testing.assert_array_equal(rows, np.column_stack([MONTHS, HOURS + 1, expected]))


def test_the_policy_sees_the_days_highest_import_that_the_environment_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of({"hour": HOURS + 1}, (), tmp_path, monkeypatch, DAY_PEAK_NAME)
    peak, expected = DayPeak(), []
    for day, net in zip(days(HOURS), NET.sum(axis=0), strict=True):
        peak.enter(int(day))
        expected.append(peak.kw)
        peak.add(float(net))
    assert len(set(expected)) > 3
    np.testing.assert_array_equal(rows, np.column_stack([HOURS + 1, expected]))


def test_without_a_demand_charge_neither_month_nor_hour_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    price = np.linspace(0.1, 0.7, len(MONTHS))
    rows = rows_of({"electricity_pricing": price}, (), tmp_path, monkeypatch)
    np.testing.assert_array_equal(rows, price[:, np.newaxis])


def test_every_buildings_import_is_metered_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows_of({"electricity_pricing": MONTHS}, (), tmp_path, monkeypatch)
    told, progress = capsys.readouterr()
    assert told == f"{len(MONTHS)} hours, {import_kwh(NET).sum():,.1f} kWh imported\n"
    assert progress == ""  # a log has no use for it
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    controller.main(str(tmp_path / "schema.json"), 1)
    assert capsys.readouterr().err == "hour 0\r"
    # Steps may be parts of an hour.
    monkeypatch.setattr(MadeUp, "seconds_per_time_step", property(lambda env: 900.0, lambda env, value: None), raising=False)
    controller.main(str(tmp_path / "schema.json"), 1)
    assert capsys.readouterr().out.startswith("1 hours, ")
    controller.main(str(tmp_path / "schema.json"))
    assert capsys.readouterr().out.startswith(f"{len(MONTHS) / 4:g} hours, ")


def test_code_of_a_schema_that_is_not_found_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'my_things'")

    monkeypatch.setattr(controller, "CityLearnEnv", opened)
    (tmp_path / "schema.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"No module named 'my_things'; name its folder in PYTHONPATH"):
        controller.opened(tmp_path / "schema.json")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"observations": ["hour", "month"]}, "observation 1 is month; the policy takes hour there"),
        ({"observations": ["month"]}, "observation 2 is hour; the policy takes none there"),
        ({"observations": ["month", "hour", "price"]}, "observation 3 is missing; the policy takes price there"),
        ({"actions": ["charger_2"]}, "action 1 is electrical_storage; the policy takes charger_2 there"),
        ({"buildings": ["home", "mall"]}, "building 1 is mall; the policy takes home there"),
    ],
)
def test_a_site_in_another_order_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, list[str]], says: str
) -> None:
    with pytest.raises(SystemExit, match=rf"^error: .*schema\.json: {says}, see policy\.json$"):
        rows_of({"month": MONTHS, "hour": HOURS + 1}, (), tmp_path, monkeypatch, changes=changes)


def test_a_strangers_name_does_not_act_on_the_terminal() -> None:
    with pytest.raises(SystemExit) as caught:
        controller.check_order(Path("schema.json"), "observation", ["\x1b]0;me\x07"], ["hour"])
    assert str(caught.value).isprintable()


def test_what_is_no_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    price = np.array([0.1, 0.2, np.nan, 0.2, 0.1, 0.1, 0.1])
    with pytest.raises(SystemExit, match=r"^error: hour 2 of .*: price is no number"):
        rows_of({"month": MONTHS, "price": price}, (), tmp_path, monkeypatch)


def test_a_file_that_ends_or_has_no_number_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("No low value can be nan, low=[0\n 1\n nan]")

    monkeypatch.setattr(MadeUp, "step", fail)
    with pytest.raises(SystemExit) as ends:
        rows_of({"hour": HOURS + 1}, (), tmp_path, monkeypatch)
    assert str(ends.value).endswith(
        "schema.json: a file that it names is damaged, or ends: ValueError: No low value can be nan, low=[0"
    )
    monkeypatch.setattr(controller, "CityLearnEnv", fail)
    with pytest.raises(SystemExit, match=r"none of a site: ValueError: No low value can be nan, low=\[0$"):
        controller.opened(tmp_path / "schema.json")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage: "), (["a.json", "many"], "usage: "), (["absent.json"], "error: absent.json: No such file"),
        (["damaged.json"], "error: damaged.json or a file that it names is damaged, or none of a site: JSONDecodeError: "),
        (["list.json"], "error: list.json or a file that it names is damaged, or none of a site: "),
        (["empty.json"], "error: empty.json or a file that it names is damaged, or none of a site: "),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str) -> None:
    for name, text in {"damaged": "{", "list": "[1]", "empty": "{}"}.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "policy.json").write_text('{"peak_hours": [], "observations": ["hour"]}', encoding="utf-8")
    copy = shutil.copy(controller.__file__, tmp_path / "controller.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [copy, *arguments])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(copy, run_name="__main__")
    line = caught.value.code  # a text is printed to stderr, and the status is 1
    assert isinstance(line, str)
    assert line.startswith(says)
    assert "\n" not in line
