"""What environments say of single buildings in their infos."""

from typing import Final

BUILDING_REWARDS: Final = "building_rewards"  # what each building earned in a step, shape (copies, N)
