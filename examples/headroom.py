"""What rules reach on a site, and what perfect foresight would: is there anything to learn?"""

import tyro

from tuning import HeadroomSettings, find_headroom


def main(scenario: str = "iquitos") -> None:
    """Print the change of the bill for each baseline and bound.

    Args:
        scenario: a generated site, or the path of a CityLearn schema.json.
    """
    headroom = find_headroom(HeadroomSettings(scenario))
    uncontrolled = headroom.rows[0]
    for row in headroom.rows:
        print(f"{row.name:60} {row.cost / uncontrolled.cost - 1.0:+.1%}")


if __name__ == "__main__":
    tyro.cli(main)
