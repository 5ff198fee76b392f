"""What a command does, a script does in one call, from names that are imported when they are used."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import tuning

SOURCE = Path(tuning.__file__)


@pytest.mark.parametrize("name", tuning.__all__)
def test_every_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    assert getattr(tuning, name).__doc__


def test_no_public_name_is_a_module_whose_import_would_replace_it() -> None:
    modules = {module.name for module in pkgutil.iter_modules(tuning.__path__)}
    assert {"run", "judge", "search"} <= modules
    assert not modules & set(tuning.__all__)


def test_type_checkers_see_the_names_that_are_there() -> None:
    (block,) = [node for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module
    }
    assert imports == {name: getattr(tuning, name).__module__ for name in tuning.__all__}
    assert (SOURCE.parent / "py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute tunee"):
        tuning.tunee  # noqa: B018


def test_every_command_is_a_thin_skin_over_a_call() -> None:
    commands = [module.name for module in pkgutil.iter_modules(tuning.__path__) if not module.ispkg]
    assert sorted(commands) == ["__main__", "doctor", "export", "headroom", "judge", "resources", "rollout", "run", "site"]
    for name in commands:
        module = importlib.import_module(f"tuning.{name}")
        assert callable(module.main)
        assert len(Path(str(module.__file__)).read_text(encoding="utf-8").splitlines()) < 120, name


@pytest.mark.parametrize(
    ("call", "kind", "change", "says"),
    [
        ("compare", "JudgeSettings", {"experiments": ("one",), "top": "2"}, 'top is "2", not a whole number'),
        ("compare", "JudgeSettings", {"experiments": "one"}, 'experiments is "one", not a list, each a text or a path'),
        ("find_headroom", "HeadroomSettings", {"split": "dev"}, 'split is "dev", not one of train, validation, test'),
        ("roll_out", "RolloutSettings", {"experiment": "one", "trial": 3}, 'trial is 3, not a text; as in trial="3"'),
        ("export_policy", "ExportSettings", {"experiment": "one", "to": 5}, "to is 5, not a path"),
        ("predict_memory", "MemorySettings", {"gpu_memory": "8"}, 'gpu_memory is "8", not a number'),
        ("examine", "DoctorSettings", {"switches": 1}, "switches is 1, not true or false"),
    ],
)
def test_a_value_of_another_type_is_refused_in_a_line(call: str, kind: str, change: dict[str, object], says: str) -> None:
    with pytest.raises(tuning.UserError, match=re.escape(says)):
        getattr(tuning, call)(getattr(tuning, kind)(**change))
