"""What rules reach on a site, and what perfect foresight would: is there anything to learn?"""

import sys

import tyro

from tuning import HeadroomSettings, UserError, find_headroom


def main(scenario: str = "iquitos") -> None:
    """Print the change of the bill for each baseline and bound.

    Args:
        scenario: a generated site, or the path of a CityLearn schema.json.
    """
    headroom = find_headroom(HeadroomSettings(scenario))
    uncontrolled = headroom.rows[0]
    if not uncontrolled.cost:
        raise UserError(f"{scenario} has no bill: its energy has no price")
    for row in headroom.rows:
        print(f"{row.name:60} {row.cost / uncontrolled.cost - 1.0:+.1%}")


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except UserError as error:
        sys.exit(f"error: {error}")
