"""Experiments that a command reads and does not change: in a folder, or at a URI, of which what is read is copied first."""

from dataclasses import replace
from pathlib import Path

from common.errors import ScenarioError, UsageError
from common.uris import is_uri, uri_of
from envs.scenarios.schema_file import read_schema
from envs.scenarios.tariff import FILE_NAME
from envs.scenarios.trust import named_files, root_of
from results.places import TABLES, local_folder
from tuning.experiment.folder import STATED, Experiment, open_experiment

READ = (*STATED, *TABLES[1:])


def open_to_read(given: str | Path) -> Experiment:
    """Open an experiment in a folder or at a URI to read its settings and results; see `open_experiment`.

    Checkpoints of one at a URI are fetched by `with_checkpoints`, its journal by `tuning.storage.journal_mirror`.
    """
    if not is_uri(given):
        return open_experiment(given)
    experiment = open_experiment(local_folder(given, READ))
    return with_found_site(experiment, str(given))


def with_checkpoints(experiment: Experiment, number: int) -> Experiment:
    """An experiment with the checkpoints of a trial: those at a URI are fetched."""
    paths = experiment.paths
    if uri := uri_of(paths.folder):
        local_folder(uri, [f"{paths.checkpoints(number).relative_to(paths.folder).as_posix()}/"])
    return experiment


def searched_here(experiment: Experiment, number: int) -> Experiment:
    """The same of an experiment that is searched here: one with a storage has its checkpoints there, and in no folder here."""
    if not experiment.storage:
        return experiment
    stored = open_to_read(experiment.storage.uri).trusting(experiment.settings.trust_scenario)
    return with_checkpoints(stored, number)


FOLDER = "site/"  # of the copy, below the place of the experiment


def is_given(scenario: str) -> bool:
    """Whether a scenario is the path of a schema."""
    return scenario.endswith(".json")


def site_files(scenario: str) -> dict[str, Path]:
    """Files of a given site by their keys, the schema last; none of a generated one.

    Files that lie elsewhere are left out: a scenario that is trusted may name some, and each machine needs them under their
    paths.
    """
    schema = Path(scenario)
    if not is_given(scenario):
        return {}
    content = read_schema(schema)
    root, folder = root_of(schema, content), schema.parent.resolve()
    named = {root / file.relative for file in named_files(content) if file.opened}
    # Under the name of its folder, by which results name the site.
    above, files = f"{FOLDER}{folder.name}/", {}
    for path in sorted({schema.parent / FILE_NAME, *named}):
        if path.is_file() and path.resolve().is_relative_to(folder):
            files[above + path.resolve().relative_to(folder).as_posix()] = path
    files.pop(above + schema.name, None)
    return {**files, above + schema.name: schema}


def with_found_site(experiment: Experiment, uri: str) -> Experiment:
    """An experiment with a given site that this machine has: where its search was begun, or in a copy from its storage.

    Files of another content than it was begun with, such as those of another version, are passed over. Raises a UsageError if
    neither is there.
    """
    name = experiment.settings.scenario
    if not is_given(name):
        return experiment
    is_there = Path(name).is_file()
    if is_there and _has_its_data(experiment):
        return experiment
    # The path is one of the machine where the search began, whatever its system.
    wanted = name.replace("\\", "/").rpartition("/")[2]
    copies = sorted(path for path in (local_folder(uri, [FOLDER], "site") / FOLDER).glob("*/*.json") if path.name == wanted)
    if not copies:
        why = "that path has other data on this machine: put those of the experiment" if is_there else "put it"
        raise UsageError(f"{uri} has no copy of its site {name}: {why} under that path on this machine")
    # `results` name it as before.
    return replace(experiment, settings=replace(experiment.settings, scenario=str(copies[0].resolve())), begun_with=name)


def _has_its_data(experiment: Experiment) -> bool:
    """Whether the files under the path of a site have the data that the experiment was begun with, as far as it is known."""
    from envs.scenarios.scenario import scenario

    settings, begun = experiment.settings, experiment.compatibility.get("scenario")
    try:
        # Read anew: a task keeps the site that it read.
        return begun is None or scenario(settings.scenario, settings.trust_scenario, settings.splits).key == begun
    except ScenarioError:
        # Such as one that needs trust: what opens it says so.
        return True
