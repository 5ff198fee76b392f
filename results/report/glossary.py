"""The words of a report that a reader may not know, each in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "Trial": "One training with one set of hyperparameters. A search runs many, and the best one wins.",
    "Policy": "What a trial trains: the controller that decides each hour what batteries and vehicles do.",
    "Steps": "Hours of a simulated site from which a trial has learned. Sites that are simulated at once add up.",
    "Hyperparameter": "A setting of the training that is chosen before it starts, such as learning_rate, how far a policy "
    "changes at once. The reference of hyperparameters in docs/reference explains each.",
    "Default": "The hyperparameters with which the program trains unless told otherwise. It is not the site's present control.",
    "Uncontrolled": "The site without control: batteries idle, and vehicles charge at full power at once. Savings are "
    "against it.",
    "Score": "The mean reward an hour of a policy: 0 is the uncontrolled site, and more is better. A rating ranks trials: the "
    "score, or what the search was told to aim at.",
    "Validation hours": "Hours that no training uses. The search compares trials on them, so they flatter its winner. Test "
    "hours are kept for a judgement.",
    "Evaluation": "A run of the policy through the validation hours, several times in a training.",
    "Frozen": "A trial that was paused with its state, because others did better. It may go on later. A pruned trial ends for "
    "good, and a complete one has taken all of its steps.",
    "Seed": "The number from which random draws start. Training again with fresh seeds shows what was luck.",
    "95 % interval": "Where the true value probably lies. One that contains 0 leaves open whether there is an effect.",
    "Judgement": "A comparison on test hours, with fresh seeds, simple rules and a bound that no controller can beat.",
    "Slot": "A place on a machine or card in which one trial runs at a time.",
}
