"""An environment comes from an id, a module or a file, and each fault is one line that says what to do."""

import sys
from functools import partial
from pathlib import Path

import gymnasium as gym
import pytest

from envs.gym import source
from envs.gym.source import EnvError, Source, config_of, name_of
from examples.pump import Pump, make

PUMP = Path(__file__).parents[3] / "examples" / "pump.py"


@pytest.mark.parametrize(
    ("name", "kind", "title"),
    [
        ("CartPole-v1", "CartPoleEnv", "CartPole-v1"),
        ("gymnasium.envs.classic_control:CartPoleEnv", "CartPoleEnv", "gymnasium.envs.classic_control:CartPoleEnv"),
        # Gymnasium's own form: the module registers the id.
        ("gymnasium.envs.classic_control:CartPole-v1", "CartPoleEnv", "gymnasium.envs.classic_control:CartPole-v1"),
        (f"{PUMP}:make", "Pump", "pump:make"),
    ],
)
def test_each_form_of_a_name_makes_its_environment(name: str, kind: str, title: str) -> None:
    source = Source(name)
    env = source.make()
    assert isinstance(env, gym.Env)
    assert (type(env.unwrapped).__name__, source.title, source.names_code) == (kind, title, ":" in name)
    env.close()


def test_a_configuration_becomes_keyword_arguments(tmp_path: Path) -> None:
    (tmp_path / "pump.toml").write_text("volume = 90.0\n", encoding="utf-8")
    (tmp_path / "pump.json").write_text('{"volume": 90.0}', encoding="utf-8")
    texts = {config_of(str(tmp_path / name)) for name in ("pump.toml", "pump.json")} | {config_of({"volume": 90.0})}
    (text,) = texts
    assert config_of(text) == text, "as it is stored"
    assert config_of('{"b": 1, "a": 2}') == '{"a": 2, "b": 1}', "in any order"
    assert Source(f"{PUMP}:make", text).make().unwrapped.volume == 90.0  # type: ignore[attr-defined]


def test_a_file_has_the_files_beside_it_and_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sized_tank.py").write_text("VOLUME = 70.0\n", encoding="utf-8")
    text = "from sized_tank import VOLUME\nfrom examples.pump import Pump\ndef make():\n    return Pump(VOLUME)\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = Source("mine.py:make").found_anywhere
    monkeypatch.chdir(tmp_path.parent)
    assert found.make().unwrapped.volume == 70.0  # type: ignore[attr-defined]
    assert found.title == "mine:make"
    assert Source("CartPole-v1").found_anywhere == Source("CartPole-v1")


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("CartPoll-v1", "{}", "CartPole"),
        ("no_such_module:make", "{}", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("examples.pump:nothing", "{}", "there is no nothing in examples.pump; what is below if __name__"),
        ("examples/pump.py", "{}", "the function is missing behind the file, as in pump.py:make"),
        ("no/such/file.py:make", "{}", "there is no file"),
        ("examples.pump:make", '{"volumes": 1.0}', "unexpected keyword argument 'volumes'"),
        ("math:sqrt", "{}", "whose arguments --env-config gives"),
        ("builtins:dict", "{}", "it makes 'dict', which is no gymnasium.Env"),
        ("sys:exit", "{}", "it ends the program"),
    ],
)
def test_what_makes_none_is_one_line(name: str, config: str, said: str) -> None:
    with pytest.raises(EnvError, match=r"^--env ") as caught:
        Source(name, config).make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_fails_in_code_of_a_user_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also where the file's name begins as a package here does.
    monkeypatch.setattr("envs.gym.source._NOT_OWN", [*source._NOT_OWN, tmp_path / "envs"])
    for name, where in (("envs_mine", r" \(envs_mine.py, line 2, in make\)"), ("envs/ours", "")):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("def make():\n    raise ValueError('stuck')\n", encoding="utf-8")
        with pytest.raises(EnvError, match=rf": ValueError: stuck{where}; it takes"):
            Source(f"{path}:make").make()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("none.toml", None, "No such file"), ("bad.toml", "volume = ", "--env-config"), ("bad.json", "{", "--env-config")],
)
def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(EnvError, match=said):
        config_of(str(tmp_path / name))
    with pytest.raises(EnvError, match=r'--env-config {"volume": 9: .*; it takes keyword arguments as JSON, or a TOML or'):
        config_of('{"volume": 9')
    with pytest.raises(EnvError, match="stored as JSON"):
        config_of({"volume": object()})
    (tmp_path / "list.json").write_text("[3]", encoding="utf-8")
    with pytest.raises(EnvError, match=r"is \[3\]: it takes names and their values"):
        config_of(str(tmp_path / "list.json"))


def test_a_function_is_named_so_that_other_processes_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert name_of(make) == "examples.pump:make"
    monkeypatch.setattr(make, "__module__", "environment_of_script")
    with pytest.raises(EnvError, match='below if __name__ == "__main__":'):
        name_of(make)
    monkeypatch.undo()
    assert name_of(Pump) == "examples.pump:Pump"
    with pytest.raises(EnvError, match="a name of its own"):
        name_of(lambda: Pump())
    for given in (Pump(), partial(Pump, 3.0), 3):
        with pytest.raises(EnvError, match="with its arguments apart: env=Pump"):
            name_of(given)  # type: ignore[arg-type]
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "my script.py", raising=False)
    in_script = type("Mine", (Pump,), {"__module__": "__main__", "__qualname__": "Mine"})
    assert name_of(in_script) == f"{Path('my script.py').resolve()}:Mine"
    monkeypatch.delattr(sys.modules["__main__"], "__file__")
    with pytest.raises(EnvError, match="which see no notebook"):
        name_of(in_script)
