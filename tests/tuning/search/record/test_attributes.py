"""Names in studies on disk: to change one would make them unreadable, and two that are equal would overwrite each other."""

from tuning.search.record import attributes

STORED = {
    "HYPERPARAMETERS": "hyperparameters", "SAME_AS": "same_as", "REFUSED": "refused", "REASON": "reason", "GAINS": "gains",
    "CONFIRMS": "confirms", "CONFIRM_RUN": "confirm_run", "CONFIRM_ROLE": "confirm_role",
    "CONFIRM_STEPS": "confirm_steps", "CONFIRM_AFTER": "confirm_after",
    "PREDICTED": "predicted memory", "MEASURED": "measured memory", "REQUIRED": "requirements",
    "ALIKE": "does what an earlier trial does",
}  # fmt: skip


def test_names_are_those_that_studies_have() -> None:
    found = {name: value for name, value in vars(attributes).items() if name.isupper()}
    assert found == STORED
    assert len(set(found.values())) == len(found)
