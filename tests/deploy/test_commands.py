"""Commands of this project in the files of `deploy/` have options that there are, and values that these take."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from ray.dashboard.modules.job.cli import submit

from common.errors import UserError
from tests.deploy.files import FILES
from tuning.cli.options import parse
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


def test_the_files_have_such_commands() -> None:
    assert {name for name, path in NAMED.items() if commands(path, RUN)} >= {
        "rayjob.yaml", "raycluster.yaml", "runtime_env.yaml", "cluster.yaml", "on-premises.yaml",
    }  # fmt: skip
