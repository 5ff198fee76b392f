"""Control a CityLearn environment with an exported policy, without Ray: `python controller.py SCHEMA.json [HOURS]`."""

import json
import math
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from citylearn.citylearn import CityLearnEnv

DAMAGE = (ValueError, LookupError, TypeError, AttributeError)  # CityLearn fails in many ways where a file lacks what it needs


def _told(error: Exception) -> str:
    # Further lines may be whole arrays.
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def opened(path: Path) -> tuple[dict[str, Any], CityLearnEnv]:
    """The schema of a site, and its environment; ends where a file is missing or is none."""
    try:
        site = json.loads(path.read_text(encoding="utf-8-sig"))  # some editors put a byte-order mark first
        site["root_directory"] = str(path.parent / (site.get("root_directory") or ""))
        return site, CityLearnEnv(site, central_agent=True)
    except OSError as error:
        sys.exit(f"error: {error.filename or path}: {error.strerror or error}")
    except ImportError as error:
        sys.exit(f"error: {path} names code that Python does not find: {error}; name its folder in PYTHONPATH")
    except DAMAGE as error:
        sys.exit(f"error: {path} or a file that it names is damaged, or none of a site: {_told(error)}")


def check_order(path: Path, what: str, theirs: list[str], expected: list[str]) -> None:
    """End where the site does not have the policy's names in the policy's order."""
    for number, (their, needed) in enumerate(zip_longest(theirs, expected), start=1):
        if their != needed:
            # A stranger's name may hold escape sequences of terminals.
            shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in their or "")
            there = f"{what} {number} is {shown or 'missing'}; the policy takes {needed or 'none'} there"
            sys.exit(f"error: {path}: {there}, see policy.json")


def main(schema: str, hours: float = math.inf) -> None:
    """Run through the first hours of a schema, by default all."""
    here = Path(__file__).parent
    interface = json.loads((here / "policy.json").read_text(encoding="utf-8"))
    peak_hours, sees_day = interface["peak_hours"], interface["observations"][-1] == "day_import"
    path = Path(schema)
    site, env = opened(path)
    policy = onnxruntime.InferenceSession(here / "policy.onnx")
    (observed,), _ = env.reset()
    month, peaks, imported, ended = None, [0.0, 0.0], 0.0, False
    hour, day_peak = 0, 0.0
    table = here / "seen.npy"  # what the policy sees beside the site's own observations, a row for each step of its data
    seen = np.load(table) if table.exists() else None
    first = 0 if seen is None else site["simulation_start_time_step"] - interface["first_seen_row"]
    names = interface["observations"]
    site_names = names[: len(names) - 2 * bool(peak_hours) - sees_day - (0 if seen is None else seen.shape[1])]
    check_order(path, "observation", env.observation_names[0], site_names)
    check_order(path, "action", env.action_names[0], interface["actions"])
    check_order(path, "building", [building.name for building in env.buildings], interface["buildings"])
    per_hour = 3600 / env.seconds_per_time_step
    while not ended and env.time_step < hours * per_hour:
        named, now, row = dict(zip(env.observation_names[0], observed, strict=True)), env.time_step, [*observed]
        if seen is not None:
            if not 0 <= first + now < len(seen) or np.isnan(seen[first + now]).any():
                sys.exit(
                    f"error: {table} has nothing for hour {now / per_hour:.9g} of {path}: let its simulation_start_time_step "
                    "and simulation_end_time_step span rows of the split that the policy was exported for"
                )
            row += seen[first + now].tolist()
        if peak_hours:  # of a demand charge: the policy sees the month's peaks so far
            if named["month"] != month:
                month, peaks = named["month"], [0.0, 0.0]
            row += peaks
        if sees_day:  # the day's highest import so far
            day_peak, hour = 0.0 if named["hour"] < hour else day_peak, named["hour"]
            row.append(day_peak)
        if now % (24 * per_hour) == 0 and sys.stderr.isatty():  # CityLearn takes minutes for a year
            print(f"hour {now / per_hour:.9g}", end="\r", file=sys.stderr, flush=True)
        if not np.isfinite(row).all():
            sys.exit(f"error: hour {now / per_hour:.9g} of {path}: {names[int(np.argmin(np.isfinite(row)))]} is no number")
        actions = policy.run(None, {"observations": np.array([row], dtype=np.float64)})[0]
        try:
            (observed,), _, ended, _, _ = env.step(actions.tolist())
        except DAMAGE as error:  # as where a file has fewer rows than the schema runs
            sys.exit(f"error: hour {now / per_hour:.9g} of {path}: a file that it names is damaged, or ends: {_told(error)}")
        net = [building.net_electricity_consumption[now] for building in env.buildings]
        imported += sum(max(kwh, 0.0) for kwh in net)  # each building has a meter; the demand charge is of the whole site
        day_peak = max(day_peak, sum(net))
        if peak_hours:
            peak = 0 if named["hour"] - 1 in peak_hours else 1  # CityLearn counts hours from 1
            peaks[peak] = max(peaks[peak], sum(net))
    print(f"{env.time_step / per_hour:.9g} hours, {imported:,.1f} kWh imported")


if __name__ == "__main__":
    if not (len(sys.argv) == 2 or (len(sys.argv) == 3 and sys.argv[2].isdecimal())):
        sys.exit("usage: python controller.py SCHEMA.json [HOURS]")
    main(sys.argv[1], *map(int, sys.argv[2:]))
