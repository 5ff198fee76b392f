"""What a section of a report is about; tables that several of its figures read are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from results import analysis
from results.analysis.judged import Verdict
from results.analysis.judged import verdict as verdict_of
from results.analysis.searched import aims, searched
from results.experiment_file import Facts, read_facts
from results.loader import Results

if TYPE_CHECKING:
    import pandas as pd

Table = TypeVar("Table")


@dataclass(frozen=True)
class Search:
    """A search.

    Attributes:
        results: of it.
        judgement: of the page, where there is exactly one.
    """

    results: Results
    judgement: Results | None = None
    _tables: dict[Any, Any] = field(default_factory=dict, repr=False)

    ranked: ClassVar[tuple[str, ...]] = ()

    def table(self, made: Callable[..., Table], *more: Any) -> Table:
        """What a function of `results.analysis` says of the search, computed once."""
        if made not in self._tables:
            self._tables[made] = made(self.results, *more)
        found: Table = self._tables[made]
        return found

    @cached_property
    def facts(self) -> Facts:
        """What its folder tells."""
        return read_facts(self.results.folder)

    @property
    def aims(self) -> tuple[str, ...]:
        """See `results.analysis.searched.aims`."""
        return aims(self.facts)

    @property
    def best(self) -> int | None:
        """Number of the winner."""
        return self.table(analysis.best_trial)

    @property
    def default(self) -> int | None:
        """Number of the default's trial."""
        return self.table(analysis.default_trial)

    @property
    def rated(self) -> int:
        """How many of its own trials have a rating."""
        return int(self.table(searched)["rating"].notna().sum())

    @property
    def order(self) -> list[str]:
        """Hyperparameters, the important ones first."""
        return list(self.table(analysis.importance)["hyperparameter"])

    @property
    def lucky(self) -> pd.DataFrame:
        """See `results.analysis.luck`."""
        return self.table(analysis.luck, self.judgement)

    @property
    def terms(self) -> pd.DataFrame:
        """See `results.analysis.reward_terms`."""
        return self.table(analysis.reward_terms, self.judgement)

    @property
    def confirmed(self) -> pd.DataFrame:
        """See `results.analysis.confirmed`."""
        return self.table(analysis.confirmed)


@dataclass(frozen=True)
class Judged:
    """A judgement.

    Attributes:
        results: of it.
        experiments: of the page.
    """

    results: Results
    experiments: tuple[Results, ...]

    @cached_property
    def evaluations(self) -> pd.DataFrame:
        """Rows of contenders, baselines and bounds."""
        return self.results.evaluations[self.results.evaluations["contender"].notna()]

    @cached_property
    def verdict(self) -> Verdict | None:
        """The table of its verdict; None where nothing was judged."""
        return None if self.evaluations.empty else verdict_of(self.results)

    @property
    def ranked(self) -> list[str]:
        """Contenders, the best first."""
        return list(self.verdict.table["contender"]) if self.verdict else []

    @property
    def terms(self) -> pd.DataFrame | None:
        """See `results.analysis.reward_terms`; None where nothing was judged."""
        return analysis.reward_terms(self.results, self.results) if self.verdict else None

    @cached_property
    def lucky(self) -> pd.DataFrame | None:
        """Contenders beside the search that they come from, on the test split; None where these are not on the page."""
        import pandas as pd

        lucky = [analysis.luck(one, self.results) for one in self.experiments] if self.verdict else []
        if not any(len(one) for one in lucky):
            return None
        # Experiments of one algorithm share its default, which the judgement trained once.
        whole = pd.concat([one[one["split"] == "test"] for one in lucky], ignore_index=True)
        return whole.drop_duplicates(["name", "split"], ignore_index=True)

    @property
    def confirmed(self) -> pd.DataFrame:
        """Of a judgement no row: it trains nothing of a search again."""
        return analysis.confirmed(self.results)
