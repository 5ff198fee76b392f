from pathlib import Path

import pytest

from common.cache_folder import FOLDER_VARIABLE, cache_folder


def test_the_variable_names_the_cache_and_the_system_has_a_place_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    for unset in (lambda: monkeypatch.setenv(FOLDER_VARIABLE, ""), lambda: monkeypatch.delenv(FOLDER_VARIABLE)):
        unset()
        assert cache_folder().name == "building-tuner"
