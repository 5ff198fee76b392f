"""The settings of an experiment, and those of a site that other commands share; command lines are generated from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from common.errors import UsageError
from common.json_values import checked, described
from common.texts import hint, option, option_words, printable
from envs.scenarios.splits import Split, Splits
from tuning.experiment.option_values import ALL, SAMPLERS, SCHEDULERS, Budget, choice, one_of

if TYPE_CHECKING:
    from envs.gym.task import EnvTask
    from envs.objective.aim import Aim, RewardShare
    from envs.task import SiteTask, Task

# Settings that may change when an experiment is continued.
RESUMABLE = (
    "trials", "budget", "confirm", "steps", "concurrency", "retries", "keep_checkpoints", "device", "gpu_memory", "on_oom",
)  # fmt: skip
WHOLE_TRIALS = 4  # that the default budget pays for
BEGUN_FOR_EACH = 4  # trials that freeze-thaw begins, about, for each that the budget would pay for as a whole
MOST_CONFIRM = 0.5  # of a budget
CONFIRM_MORE = 4.0 / 3.0  # times --confirm, at most, where that itself does not pay for the least
LEAST_CONFIRMING_RUNS = 2  # with fresh seeds, of the best and of the default: one has no interval
MOST_DIGITS = 18  # of a number of trials
REOPENING = ("extend", "retry_failed")  # what becomes of trials that have ended
# Commands to this run, not properties of the experiment. No file gives them: a stranger's would grant trust in a scenario, or
# let Ray join a cluster, which runs what it is sent and sends what is run here, name code to import, or send results elsewhere.
OF_A_RUN = ("resume", *REOPENING, "trust_scenario", "address", "callback", "track")
# Settings that mean something for one of both alone.
OF_A_SITE = (
    "scenario", "train", "validation", "test", "train_buildings", "validation_buildings", "test_buildings", "backend", "reward",
    "weights", "validation_weeks", "teacher",
)  # fmt: skip
OF_AN_ENVIRONMENT = ("env_config", "episodes", "minimize")


# How a program gives what a command line takes as words.
_FORMS = {
    "set": """; as in set=(("gamma=0.9", "batch_size=512"),)""", "objective": '; as in objective="co2 bill"',
    "budget": '; as in budget="30m"', "trial": '; as in trial="3"',
}  # fmt: skip
# An option that takes several words and keeps them as one text.
WORDS = PrimitiveConstructorSpec(
    nargs="*",
    metavar="NAME [NAME]",
    instance_from_str=" ".join,
    is_instance=lambda value: isinstance(value, str),
    str_from_instance=str.split,
)


def _texts(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Texts of `KEY=VALUE` by key. Raises a UsageError for another form, or a key that stands twice."""
    texts: dict[str, str] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not (name and separator and text):
            raise UsageError(f"{option} {pair}: it takes KEY=VALUE, as in {option} batch_size=512")
        if name in texts:
            raise UsageError(f"{option} {pair}: {name} is set twice, to {texts[name]} before")
        texts[name] = text
    return texts


def check_types(settings: Any) -> None:
    """Raise a UsageError for a setting of another type, as a program may give it."""
    hints = get_type_hints(type(settings))
    for entry in fields(settings):
        try:
            checked(getattr(settings, entry.name), hints[entry.name], entry.name)
        except ValueError as error:
            raise UsageError(f"{error}{_FORMS.get(entry.name, '')}") from None


def check_whole_numbers(settings: Any, least_values: Mapping[str, int]) -> None:
    """Raise a UsageError for a whole number that is below its least value."""
    for name, least in least_values.items():
        value = getattr(settings, name)
        if value < least:
            raise UsageError(f"{option(name)} {value}: it is at least {least}")


def check_gpu_memory(gib: float) -> None:
    """Raise a UsageError unless the value of `--gpu-memory` is 0 or more, and finite."""
    if not 0.0 <= gib < math.inf:
        raise UsageError(f"--gpu-memory {gib:g}: it is a number of GiB from 0 on, where 0 stands for the default")


@dataclass(frozen=True)
class SiteSettings:
    """A site and its splits, with the options and the words of a search."""

    scenario: str = "iquitos"
    """Site to control: iquitos, iquitos-38, or the path of a CityLearn schema.json."""
    train: tuple[str, ...] = ()
    """What trains: ranges of days, such as 0-99 120-239, or dates, such as 01-01..08-28, of a schema.json; years, such as
    1 4 5, of a generated site. By default three weeks of every five, or years 1, 4 and 5."""
    validation: tuple[str, ...] = ()
    """What validates, likewise. A schema.json needs all three or none."""
    test: tuple[str, ...] = ()
    """What only the judge sees, likewise."""
    train_buildings: tuple[str, ...] = ()
    """Buildings of the schema that train, by name; by default all. Others are not simulated."""
    validation_buildings: tuple[str, ...] = ()
    """Buildings that validate; by default those that train."""
    test_buildings: tuple[str, ...] = ()
    """Buildings of the test; by default those that train."""
    trust_scenario: bool = False
    """Trust the scenario as your own code: its schema may then name classes and pickles of its own, which run, and files
    elsewhere. Likewise the code of an environment that an experiment names; --env itself trusts what it names. It is never
    stored, so a command that continues needs it again."""

    @property
    def splits(self) -> Splits:
        """The splits as stated, in fields of the names that `Splits` has."""
        return Splits(**{entry.name: getattr(self, entry.name) for entry in fields(Splits)})


@dataclass(frozen=True)
class TrialSettings(SiteSettings):
    """What a trial learns, how long, and on how much of a card."""

    algo: Annotated[str, choice()] = "ppo"
    """Learning algorithm."""
    env: str = ""
    """Gymnasium environment in place of a site: an id, such as Pendulum-v1, or code of yours, as module:function or
    path/to/file.py:function, which makes one. docs/environments.md says what runs."""
    env_config: str = ""
    """TOML or JSON file with keyword arguments of the environment."""
    backend: Literal["auto", "batch", "citylearn"] = "auto"
    """What steps the scenario: many copies at once with CityLearn's numbers, or CityLearn itself. By default the first
    where it does all that the scenario uses."""
    num_envs: int = 32
    """Copies of the site that a trial steps at once with the batch backend; fewer where n_steps would leave less than 16
    hours to each. Of an environment by default 8."""
    steps: int = 250_000
    """Environment steps of a trial; the most that one may learn."""
    set: Annotated[tuple[tuple[str, ...], ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """Fix hyperparameters: several in one --set, or --set several times."""
    preset: str = ""
    """One named assignment, such as rtx4060-after, oom-safe or stable-baselines3, in place of a search; with --trials several
    times, with different seeds. --set goes before it."""
    teacher: Literal["none", "mpc"] = "none"
    """What policies begin as a copy of, to learn on from there: model predictive control on the train split, or nothing."""
    gpu_memory: float = 0.0
    """GPU memory that all trials on a card may take together, GiB; 0 for the smaller of 8 and what the card has."""


@dataclass(frozen=True)
class Settings(TrialSettings):
    """Search for hyperparameters of a controller, and write all measurements as Parquet.

    What is controlled is one of CityLearn's sites, or any other Gymnasium environment.
    """

    algo: Annotated[str, choice(ALL)] = "ppo"
    """Learning algorithm; all: one experiment of each, one after the other, and a comparison."""
    episodes: int = 0
    """Episodes by which a policy of an environment is rated; 0 for as many as take a fifth of a trial, from 5 to 50."""
    reward: Literal["improvement", "schema"] = "improvement"
    """Reward: the weighted improvement on the uncontrolled site, or the schema's own."""
    weights: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=NUMBER")] = ()
    """Weights of the reward improvement: co2, cost, solar, ramping, ev, peak, comfort. Those that are left out are 0, but
    comfort, which is 1; by default co2=0.5 cost=0.15 solar=0.2 ramping=0.05 ev=0.1 comfort=1."""
    objective: Annotated[str, WORDS] = "score"
    """What the search improves: score, or a KPI in its direction, such as peak_kw; docs/aims.md lists them. Two, as in
    --objective co2 bill, give a front: the trials that no other one is better than in both. Of an environment: score, which is
    the return of an episode, or info:KEY for a value that the info of its last step reports."""
    minimize: bool = False
    """Less of the objective info:KEY of an environment is better."""
    require: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME>=NUMBER")] = ()
    """What a winner has to meet, in quotes: any KPI, as in --require 'ev_served>=0.95' 'peak_kw<=2700'."""
    trials: int = 0
    """Most trials; 0 for as many as the budget allows, for 1 with --preset, and for 4 without a budget."""
    budget: str = ""
    """What the search may use: time, such as 30m or 8h, or environment steps of all trials, such as 20M. By default as many
    steps as four whole trials take, fewer with fewer --trials, or a quarter of --trials if that is more; with another
    --scheduler there is none."""
    confirm: float = 0.15
    """Part of the budget that trains the best again with fresh seeds, beside the default; 0 for none. Where it does not pay for
    two such trainings of each, it is up to a third larger; where that does not pay either, it is left to the search."""
    evaluations: int = 10
    """Evaluations of a trial on the validation split, evenly spaced; the last ends it. After each, a trial may be frozen or
    stopped."""
    keep: Literal["best", "last"] = "best"
    """Evaluation that a trial is rated by, and whose policy is exported and judged: its best, or its last."""
    last_evaluation: Annotated[int, tyro.conf.Suppress] = 0
    """Number of the evaluation with which a trial ends; 0 for that of its last step. A judgement trains each contender as far
    as its search had rated it."""
    validation_weeks: int = 52
    """Weeks of the validation split that an evaluation runs through, evenly spaced; 0 for all of it. Where CityLearn itself
    steps, the default is what takes a fifth of a trial, and the best three run through all at the end."""
    further_weeks: Annotated[bool, tyro.conf.Suppress] = False
    """Whether they do: where nobody chose the number."""
    seed: int = 0
    """Seed of the experiment."""
    start_from: tuple[str, ...] = ("default",)
    """What the first trials try: names of presets, values of one's own, or both, as in default "planned gamma=0.95"
    "n_steps=8192 n_epochs=10". What a start does not set is its preset's, or the default's. By default, and with default alone,
    the preset that is known to work. On a site of one building with a storage, that with a plan too; on one of several, what is
    known to work there."""
    learn_from: tuple[str, ...] = ()
    """Folders or URIs of other experiments of the same algorithm, of any site and budget: what ranked high there shapes the
    first draws, as long as trials here agree. Their trials and ranks are stored in the new experiment."""
    space: str = ""
    """TOML file with bounds or choices of one's own; docs/formats.md shows its form."""
    sampler: Annotated[str, one_of(SAMPLERS.keys)] = "tpe"
    """How Optuna proposes hyperparameters."""
    scheduler: Annotated[str, one_of(SCHEDULERS.keys)] = "freeze-thaw"
    """Which trials go on: freeze-thaw continues the one that is expected to gain most, or begins another; the next three stop
    what does badly."""
    retries: int = 1
    """How often a trial that crashes is started again, from its checkpoint. A lost process or node does not count."""
    keep_checkpoints: str = "best:10"
    """Which ended trials keep their checkpoints: best:K, or all. Others can be neither extended nor exported later. Frozen
    trials keep theirs."""
    concurrency: int = 0
    """Trials that run at once; 0 for as many as cores and memory allow. More than a cluster holds wait, and ask an autoscaler
    for nodes."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where trials learn: by default on a card if there is one. With small networks the cores, cpu, may be as fast; python
    -m tuning.doctor measures it. With gpu a search without a card is refused."""
    on_oom: Literal["retry", "adapt"] = "retry"
    """What becomes of a trial that runs out of memory: it is tried once more, alone; with adapt, where that does not help, it
    goes on with minibatches in halves, then in bfloat16 too."""
    name: str = ""
    """Name of the experiment; by default algorithm, scenario and a number."""
    dir: str = "experiments"
    """Folder that holds the experiments, or a URI such as s3://bucket/experiments; docs/storage.md."""
    storage: str = ""
    """URI of a place that holds the experiments too, beside a local --dir. With --resume, an experiment of a folder alone moves
    there."""
    address: str = ""
    """Ray cluster to join: auto, or host:port of one; by default that of RAY_ADDRESS, else this machine alone, as with
    local."""
    resume: str = ""
    """Folder, name or URI of an experiment to continue. --trials, --budget, --confirm, --steps, --concurrency, --address,
    --retries, --keep-checkpoints, --device, --gpu-memory, --on-oom, --track and --callback may be given anew.
    The command that began it, with its --name, continues it too: where it was begun, or with a storage on any machine."""
    extend: bool = False
    """Let trials that are complete go on to a larger number of --steps, from their checkpoints."""
    retry_failed: bool = False
    """Let trials that failed begin anew, as once their cause is mended."""
    track: tuple[Literal["csv", "tensorboard", "mlflow", "wandb"], ...] = ()
    """Where else reports of trials go: CSV or events of TensorBoard in folders of these names in the experiment, or one run for
    each trial in MLflow or Weights & Biases, as their own environment variables say. It is never stored, so a command that
    continues needs it again."""
    callback: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MODULE:NAME")] = ()
    """Callbacks of Ray Tune, such as my_callbacks:mlflow. Their code runs here, so the name is
    never stored, and a command that continues needs it again."""

    def check(self) -> None:
        """Raise a UsageError for the first setting that is of another type, out of its range, or has nothing to act on."""
        check_types(self)
        least_values = dict.fromkeys(("steps", "evaluations", "num_envs"), 1)
        from_zero = ("trials", "validation_weeks", "episodes", "seed", "concurrency", "retries", "last_evaluation")
        check_whole_numbers(self, least_values | dict.fromkeys(from_zero, 0))
        self._check_kind()
        if self.episodes == 1:
            raise UsageError("--episodes 1: of one return nobody knows how far it is from the mean; give at least 2")
        for kind, known in (("sampler", SAMPLERS), ("scheduler", SCHEDULERS)):
            if (name := getattr(self, kind)) not in known:
                raise UsageError(f"--{kind} {printable(name)}: {hint(name, known)}")
        if self.evaluations > self.steps:
            raise UsageError(
                f"--evaluations {self.evaluations}: a trial of {self.steps} steps can be evaluated at most that often"
            )

        if self.last_evaluation > self.evaluations:
            raise UsageError(f"last_evaluation {self.last_evaluation}: a trial is evaluated {self.evaluations} times")
        check_gpu_memory(self.gpu_memory)
        if not 0.0 <= self.confirm <= MOST_CONFIRM:
            raise UsageError(f"--confirm {self.confirm:g}: it is a part of the budget from 0 to {MOST_CONFIRM:g}")
        _ = self.kept_trials, self.aim, self.starts
        if (budget := self.limit) and not budget.is_time and budget.amount < self.rung_steps:
            time = f", {self.budget}m for minutes" if self.budget.isdigit() else ""
            raise UsageError(
                f"--budget {self.budget}: that is {budget.shown}, and a trial takes {self.rung_steps:,} to its first "
                f"evaluation; give more{time}, or a larger --evaluations"
            )
        if self.aim.second:
            self._check_for_a_front()
        if self.preset and (self.start_from not in ((), ("default",)) or self.space):
            raise UsageError("--preset runs one assignment, so there is nothing for --start-from or --space to act on")
        if self.learn_from and (self.preset or SAMPLERS[self.sampler].draws_alone):
            alone = f"--sampler {self.sampler} draws from the whole space alone"
            other = "--preset runs one assignment" if self.preset else alone
            raise UsageError(f"{other}, so there is nothing for --learn-from to act on; leave one of them out")

    def _check_kind(self) -> None:
        others, remedy = (OF_A_SITE, "with --env, leave it out") if self.env else (OF_AN_ENVIRONMENT, "name one with --env")
        kind = "a site" if self.env else "an environment"
        for name in others:
            if (value := getattr(self, name)) != getattr(Settings, name):
                raise UsageError(f"{' '.join(option_words(name, value))}: it is an option of {kind}; {remedy}")

    def _check_for_a_front(self) -> None:
        """Raise a UsageError for what a search with two objectives cannot be combined with."""
        if SCHEDULERS[self.scheduler].by_one_number:
            raise UsageError(
                f"--scheduler {self.scheduler}: it stops trials by one number, and so both ends of the front of --objective "
                f"{self.objective}; take freeze-thaw or none"
            )
        if SAMPLERS[self.sampler].of_one_objective:
            others = [name for name, sampler in SAMPLERS.items() if not sampler.of_one_objective]
            raise UsageError(
                f"--sampler {self.sampler}: it searches for one objective, not for {self.objective}; take {' or '.join(others)}"
            )

    @property
    def rung_steps(self) -> int:
        """Steps to the first evaluation of a trial, and between two."""
        return self.steps // self.evaluations

    @property
    def ending_evaluation(self) -> int:
        """Number of the evaluation that ends a trial."""
        return self.last_evaluation or self.evaluations

    @property
    def reward_share(self) -> RewardShare | None:
        """How two objectives share the reward, which is drawn for each trial; None where there is nothing to draw."""
        return self.aim.share if self.reward == "improvement" and not self.env else None

    @cached_property
    def aim(self) -> Aim:
        """What is wanted of a policy. Raises a UserError if an option is not valid."""
        # Imported here: it needs NumPy.
        from envs.objective.aim import Aim

        check_types(self)
        if not self.env:
            return Aim.parse(self.weights, self.objective, self.require)
        from envs.gym.task import measure_of

        aim = Aim.parse((), self.objective, self.require, measure_of(self.minimize))
        if aim.second:
            raise UsageError(f"--objective {self.objective}: a search in an environment has one objective")
        return aim

    @property
    def freezes(self) -> bool:
        """Whether trials are frozen and thawed. With a preset all trials are alike, so there is nothing to choose."""
        return SCHEDULERS[self.scheduler].freezes and not self.preset

    @property
    def most_trials(self) -> float:
        """Number of trials that are begun at most; infinite where the budget ends the search."""
        if self.trials:
            return self.trials
        if self.limit:
            return math.inf
        return 1 if self.preset else WHOLE_TRIALS

    @property
    def most_confirm(self) -> float:
        """Largest part of the budget that trains the best again."""
        return round(CONFIRM_MORE * self.confirm, 9)  # 0.15 gives 0.2, and no less by a rounding

    @property
    def confirming_parts(self) -> tuple[float, float] | None:
        """Least and largest part of the budget that trains the best again; None where it does not pay for that."""
        if not (limit := self.limit) or self.preset or not self.confirm:
            return None
        pays = limit.is_time or self.most_confirm * limit.amount >= 2 * LEAST_CONFIRMING_RUNS * self.steps
        return (self.confirm, self.most_confirm) if pays else None

    def expected_trials(self, pace: float = math.nan) -> int:
        """About how many trials are begun; for a budget of time by the pace [steps/s], NaN where it has not been measured."""
        limit = self.limit
        if not limit or self.trials:
            return int(self.most_trials)
        if limit.is_time and math.isnan(pace):
            return BEGUN_FOR_EACH * WHOLE_TRIALS
        return max(1, round(BEGUN_FOR_EACH * limit.amount * (pace if limit.is_time else 1.0) / self.steps))

    @property
    def limit(self) -> Budget | None:
        """What the search may use; None for what its trials take. Raises a UsageError if `budget` names none."""
        if self.budget:
            return Budget.parse(self.budget)
        if not self.freezes:
            return None
        whole = self.trials or WHOLE_TRIALS
        return Budget(self.steps * max(min(whole, WHOLE_TRIALS), whole / WHOLE_TRIALS), "steps")

    @property
    def kept_trials(self) -> float:
        """Number of ended trials that keep their checkpoints; infinite for all."""
        if self.keep_checkpoints == "all":
            return math.inf
        name, _, count = self.keep_checkpoints.partition(":")
        if name != "best" or not (count.isascii() and count.isdecimal()) or len(count) > MOST_DIGITS:
            raise UsageError(f"--keep-checkpoints {self.keep_checkpoints}: it takes best:K, as in best:10, or all")
        return int(count)

    @property
    def task(self) -> Task:
        """What trials are to solve; see `aim`."""
        return self.env_task if self.env else self.site_task

    @cached_property
    def env_task(self) -> EnvTask:
        """The same where it is an environment."""
        from envs.gym.source import Source, config_of
        from envs.gym.task import EnvTask

        source = Source(self.env, config_of(self.env_config or {}))
        return EnvTask(source, self.aim, self.episodes, trusted=self.trust_scenario)

    @cached_property
    def site_task(self) -> SiteTask:
        """The same where it is a site; a UsageError where it is none."""
        if self.env:
            raise UsageError(f"{self.env} is an environment, and this is for sites alone: their years, tariffs and controllers")
        # Imported here: it needs NumPy.
        from envs.seen import Seen
        from envs.task import SiteTask

        return SiteTask(
            self.scenario, self.trust_scenario, self.splits, self.backend, self.reward, self.aim, self.validation_weeks,
            Seen.of(self.aim.weights),
        )  # fmt: skip

    def words_of(self, split: Split) -> str:
        """What a split consists of where it was stated; see `Splits.words`."""
        if self.env:
            return f"{self.episodes} episodes"
        return self.splits.words(split, "days" if self.scenario.endswith(".json") else "years")

    @property
    def further_words(self) -> str:
        """What the best run through at the end of a search, beyond its evaluations."""
        return f"further {'episodes' if self.env else 'weeks'}"

    @property
    def rewarded_by(self) -> str:
        """What trials are rewarded by, as results say it."""
        return "environment" if self.env else self.reward

    @property
    def simulator(self) -> str:
        """What steps trials, as results say it; `auto` before a search has settled it."""
        return "gymnasium" if self.env else self.backend

    @property
    def stepped_by(self) -> Literal["batch", "citylearn", "gymnasium"]:
        """The backend, which is settled when an experiment is created. Raises a UsageError if it is not, as after an edit."""
        if self.env:
            return "gymnasium"
        if self.backend == "auto":
            raise UsageError(f"the backend of {self.name or 'the experiment'} is auto, not what stepped it: restore its file")
        return self.backend

    def fixed_texts(self) -> dict[str, str]:
        """Texts of `--set` by name; see `_texts`."""
        if () in self.set:
            raise UsageError("--set: it takes KEY=VALUE, as in --set batch_size=512")
        return _texts("--set", [pair for group in self.set for pair in group])

    @property
    def starts(self) -> tuple[tuple[str, dict[str, str]], ...]:
        """What `--start-from` names: of each start its preset, and texts of further values by name; see `_texts`."""
        starts = []
        for start in self.start_from:
            words = start.split()
            if not words:
                raise UsageError('--start-from: a start is empty; it takes a preset, KEY=VALUE, or both: "planned gamma=0.95"')
            named = "=" not in words[0]
            starts.append((words[0] if named else "default", _texts("--start-from", words[1:] if named else words)))
        return tuple(starts)

    def to_json(self) -> dict[str, Any]:
        """Plain values of JSON that `from_json` reads."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for name in OF_A_RUN:
            del values[name]
        return values

    @classmethod
    def from_json(cls, values: Any) -> Settings:
        """Settings of values that `to_json` made, checked by the annotations of the fields and `check`. Raises a ValueError."""
        stored = {entry.name for entry in fields(cls)} - set(OF_A_RUN)
        if isinstance(values, dict) and (unknown := sorted(values.keys() - stored)):
            raise ValueError(f"another version of this package made it: it has the setting {', '.join(unknown)}")
        settings = described(cls, values, "settings", frozenset(OF_A_RUN))
        settings.check()
        return settings


def changed(before: Settings, now: Settings) -> list[str]:
    """What differs and may not, when `before` is continued with `now`: each option with both values."""
    old, new = before.to_json(), now.to_json()
    differ = [name for name in old if name not in RESUMABLE and json.dumps(old[name]) != json.dumps(new[name])]
    return [f"{option(name)} was {typed(old[name])}, now {typed(new[name])}" for name in differ]


def typed(value: Any) -> str:
    """A setting as it would be typed."""
    if isinstance(value, list | tuple):
        # One text with several words, such as a start with values of its own, is typed in quotes.
        return " ".join(f'"{each}"' if isinstance(each, str) and " " in each else typed(each) for each in value) or "not given"
    return str(value) if value != "" else "not given"
