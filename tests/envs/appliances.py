"""The small site with a deferrable appliance."""

from pathlib import Path
from typing import Any

from tests.envs.schema_changes import edited

PROFILES = """profile_id,duration_steps,total_energy_kwh,load_profile
long,3,3.75,"[0.5, 2.25, 1.0]"
short,1,0.3,[0.3]
"""
SCHEDULE = """cycle_id,profile_id,earliest_start_time_step,latest_start_time_step,deadline_time_step,priority,must_run
a,long,10,14,18,0.7,True
b,short,20,21,21,0.0,False
"""


def with_appliance(small: Path, folder: Path, **of_mall: Any) -> Path:
    """Write the site; its schema. `of_mall` are further entries of the building."""

    def change(schema: dict[str, Any]) -> None:
        files = {"cycle_profiles_file": "profiles.csv", "flexibility_schedule_file": "schedule.csv"}
        machines = {"deferrable_appliances": {"washer": files | {"attributes": {"trigger_threshold": 0.2}}}}
        schema["buildings"]["mall"] |= machines | of_mall
        schema["actions"]["deferrable_appliance"] = {"active": True}

    path = edited(small, folder, change)
    (folder / "profiles.csv").write_text(PROFILES, encoding="utf-8")
    (folder / "schedule.csv").write_text(SCHEDULE, encoding="utf-8")
    return path
