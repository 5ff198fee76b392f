"""The front door of all commands: options from a dataclass, and one line for each error."""

import contextlib
import gc
import io
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, make_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from common.command_line import refuse, status_of
from common.errors import InconsistentError, UsageError
from common.texts import hint, number, option, printable, whole_number
from tuning.cli.console import steady_output
from tuning.cli.help import ALL, documented, short_help
from tuning.runtime.processes import Interrupted, stop_signals_as_interrupts
from tuning.runtime.ray_session import set_environment

T = TypeVar("T")
INCONSISTENT = UNWRITTEN = 1  # exit status
SELDOM = 50_000  # objects more, after which a command looks for garbage: imports have none, and looking takes a tenth of them
_NUMBERS = ConstructorRegistry()
UNKNOWN = "Unrecognized options: "  # as tyro says it
_PLAINLY = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"^Error parsing (?=-)", ""),
        (r"^Missing from .*?: ", "missing: "),
        (r"\.? \(required\)(?= |$)", ";"),
        (r";$", ""),
        (r"^Missing value for argument '(.*)'\..*", r"\1: its value is missing"),
        (r"^invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)$", r"\2 '\1': it takes one of \3"),
    )
)


def command(
    kind: type[T],
    arguments: Sequence[str] | None,
    program: str,
    answer: Callable[[T], int],
    groups: Mapping[str, Sequence[str | None]] | None = None,
    read: Callable[[Sequence[str]], Sequence[str]] = list,
) -> int:
    """Carry out a command.

    Args:
        kind: dataclass of its options.
        arguments: of the command line; those of this process by default.
        program: how it is called.
        answer: carries it out; imports what is heavy, so that `--help` answers at once.
        groups: of its options, for a `--help` of one screen; see `tuning.cli.help.short_help`. Without them, it has them all.
        read: gives the arguments as they are parsed, such as with those of a file.

    Returns:
        Exit status: the answer's; with a line on stderr 1 for a failed internal check or output that cannot be written, and 2
        for a command that cannot be carried out as given; 130 after Ctrl-C or SIGTERM.
    """
    gc.set_threshold(SELDOM)
    warnings.formatwarning = lambda message, *_: f"warning: {printable(str(message))}\n"
    given = sys.argv[1:] if arguments is None else list(arguments)
    with steady_output() as output:
        if groups and {"-h", "--help"} & set(given):
            print(short_help(kind, program, groups))
            return 0
        words = ["--help" if word == ALL and groups else word for word in given]
        status = status_of(lambda: _carry_out(kind, words, program, answer, read))
    if output and output.is_lost and not status:
        refuse(f"what this command prints could not be written: {output.error}")
        return UNWRITTEN
    return status


def _carry_out(kind: type[T], words: Sequence[str], program: str, answer: Callable[[T], int], read: Any) -> int:
    try:
        if "--help" not in words:
            _refuse_twice(kind, words)
        options = parse(kind, read(words), None, program)
        set_environment()
        with stop_signals_as_interrupts():
            return answer(options)
    except InconsistentError as error:
        refuse(f"internal consistency check failed; please report this: {error}")
        return INCONSISTENT
    except Interrupted:
        raise  # a line has said what there is
    except KeyboardInterrupt:
        print("stopped; this command has written no results", file=sys.stderr)
        raise


def _refuse_twice(kind: type[Any], words: Sequence[str]) -> None:
    given = [word.partition("=")[0].replace("_", "-") for word in words]
    # Pairs of --set add up. Of the others the last would hold, and a bound before it would be lost.
    several = [entry.name for entry in fields(kind) if isinstance(entry.default, tuple) or entry.name == "objective"]
    for name in map(option, several):
        if name != "--set" and given.count(name) > 1:
            raise UsageError(f"{name} is given twice; give all of its values after one {name}")


# Of options that are numbers: what stands for one in the help, what reads it, and the types that are one.
_READ: dict[Any, tuple[str, Callable[[str], Any], tuple[type, ...]]] = {
    int: ("INT", whole_number, (int,)), float: ("FLOAT", number, (int, float)),
}  # fmt: skip


@_NUMBERS.primitive_rule
def _numbers(option: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """How the text of an option becomes a number; None for options of other types."""
    if option.type not in _READ:
        return None
    name, read, kinds = _READ[option.type]
    return PrimitiveConstructorSpec(
        1, name, lambda texts: read(texts[0]), lambda value: type(value) in kinds, lambda value: [str(value)]
    )


def parse(kind: type[T], arguments: Sequence[str], default: T | None, program: str) -> T:
    """Read a command line. `default` gives the values of options that are not given; without it the fields' own do.

    Raises:
        UsageError: for an unknown option, or a value of the wrong type.
        SystemExit: after `--help`.
    """
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            if "--help" in arguments or "-h" in arguments:
                kind = _with_texts(kind)
            if default is None:
                return tyro.cli(kind, args=arguments, prog=program, registry=_NUMBERS)
            return tyro.cli(kind, args=arguments, default=default, prog=program, registry=_NUMBERS)
    except SystemExit as stop:
        if not stop.code:
            raise
        message = _plain(_first_paragraph(boxed.getvalue()))
        raise UsageError(f"{message}; {_remedy(kind, message)}") from None


def _with_texts(kind: type[Any]) -> type[Any]:
    """The same options, whose texts are whole paragraphs; tyro breaks each where its source does."""

    def hinted(default: str) -> str:
        shown = default.strip("[]'")
        return f"(default: {shown})" if shown not in ("", "None") else ""

    texts, types = documented(kind), get_type_hints(kind, include_extras=True)
    told = [
        (entry.name, Annotated[types[entry.name], tyro.conf.arg(help=texts.get(entry.name), help_behavior_hint=hinted)], entry)
        for entry in fields(kind)
    ]
    return make_dataclass(kind.__name__, told, bases=(kind,), namespace={"__doc__": kind.__doc__}, frozen=True, kw_only=True)


def _remedy(kind: type[Any], message: str) -> str:
    """What to do about the first option that tyro does not know, if there is one."""
    words = [word.rstrip(",").partition("=")[0] for word in message.removeprefix(UNKNOWN).split()]
    unknown = next((word for word in words if word.startswith("--")), "")
    options = [option(entry.name) for entry in fields(kind)]
    if message.startswith(UNKNOWN) and not unknown and words and "--scenario" in options:
        return f"did you mean --scenario {words[0]}?"
    return hint(unknown, options, "see --help") if message.startswith(UNKNOWN) and unknown else "see --help"


def _first_paragraph(box: str) -> str:
    """The message in the box that tyro draws: the lines below the title, up to the next rule."""
    lines = [line.strip(" │") for line in box.splitlines()[1:]]
    below_title = itertools.dropwhile(_is_rule, lines)
    return " ".join(itertools.takewhile(lambda line: not _is_rule(line), below_title)).rstrip(".")


def _plain(message: str) -> str:
    """What tyro says of an option, as all other messages say it."""
    for pattern, plain in _PLAINLY:
        message = pattern.sub(plain, message)
    return message


def _is_rule(line: str) -> bool:
    return not line.strip("─-")
