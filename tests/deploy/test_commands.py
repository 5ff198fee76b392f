"""Commands of this project in the files of `deploy/` have options that there are, and values that these take."""

import re
import shlex
from pathlib import Path

import pytest
from ray.dashboard.modules.job.cli import submit

from common.errors import UserError
from tests.deploy.files import FILES, ROOT
from tuning.cli.command import parse
from tuning.experiment.settings import Settings

RUN = re.compile(r"python -m tuning\.run((?:[^\n`]|\n +--)*)")
SUBMIT = re.compile(r"ray job submit((?: [^\n]*?)) -- ")
NAMED = {path.name: path for path in FILES}


def commands(path: Path, kind: re.Pattern[str]) -> list[list[str]]:
    return [shlex.split(found) for found in kind.findall(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", NAMED)
def test_every_search_is_one_that_parses(name: str) -> None:
    for words in commands(NAMED[name], RUN):
        try:
            parse(Settings, words, None, "tuning.run").check()
        except (UserError, SystemExit) as error:
            pytest.fail(f"{shlex.join(words)}: {error}")


@pytest.mark.parametrize("name", NAMED)
def test_every_job_is_submitted_with_options_of_ray(name: str) -> None:
    known = {option for parameter in submit.params for option in parameter.opts}
    for words in commands(NAMED[name], SUBMIT):
        assert {word for word in words if word.startswith("--")} <= known


def blocks(path: Path) -> list[str]:
    """Commands of a file that belong together: of a page its fences, of others the comment at the beginning."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.findall(r"^```\n(.*?)^```", content, re.MULTILINE | re.DOTALL)
    return [content.partition("\n\n")[0].partition("\napiVersion")[0]]


def test_what_submits_a_job_sends_its_token() -> None:
    for path in (*FILES, ROOT / "docs" / "deploy.md"):
        for block in blocks(path):
            before, submits, _ = block.partition("ray job submit -")
            assert not submits or "RAY_AUTH_MODE=token" in before, path


@pytest.mark.parametrize("name", ["cluster.yaml", "raycluster.yaml", "rayjob.yaml"])
def test_a_search_on_a_cluster_that_grows_says_for_how_many_trials(name: str) -> None:
    assert commands(NAMED[name], RUN)
    assert all("--concurrency" in words for words in commands(NAMED[name], RUN))
