"""Colours of a report: by name in the specifications, and light or dark where they are shown.

Categories are those of Okabe and Ito (2008), amounts those of cividis (Nunez et al. 2018): both are told apart by the
colour-blind. Specifications say `var(--c1)`, so a page changes its colours without drawing its charts again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "card": "#f6f7f9",
    "ink": "#1a1d21",
    "soft": "#4d555e",
    "line": "#d9dde2",
    "link": "#005a8f",
    "c1": "#0072b2",  # blue
    "c2": "#d55e00",  # vermillion
    "c3": "#00875f",  # green, darkened from #009e73 for small marks on white
    "c4": "#b3568c",  # purple, darkened from #cc79a7
    "c5": "#8a6100",  # orange, darkened from #e69f00
    "c6": "#2f2f2f",  # black
    "grey": "#767c84",
}
DARK: Mapping[str, str] = {
    "paper": "#14171a",
    "card": "#1d2125",
    "ink": "#eceff2",
    "soft": "#b4bcc5",
    "line": "#363c43",
    "link": "#7cc4ef",
    "c1": "#56b4e9",  # sky blue
    "c2": "#ff8a33",  # vermillion, lightened from #d55e00
    "c3": "#1fbf91",  # green, lightened from #009e73
    "c4": "#cc79a7",  # purple
    "c5": "#f0e442",  # yellow
    "c6": "#f5f5f5",  # white for black
    "grey": "#8b939c",
}
AMOUNTS = "cividis"  # scheme of Vega for amounts
TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0  # least ratios of WCAG 2.2, level AA: of text, and of what a picture shows
_NAME = re.compile(r"var\(--([a-z0-9]+)\)")


def colour(name: str) -> str:
    """How a specification names a colour."""
    return f"var(--{name})" if name in LIGHT else _unknown(name)


def _unknown(name: str) -> str:
    raise KeyError(f"no colour {name}: there are {', '.join(LIGHT)}")


def themed(spec: Any, theme: Mapping[str, str] = LIGHT) -> Any:
    """A specification with each colour as its number, for programs that know no names."""
    if isinstance(spec, str):
        return _NAME.sub(lambda match: theme[match[1]], spec)
    if isinstance(spec, Mapping):
        return {key: themed(value, theme) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [themed(value, theme) for value in spec]
    return spec


def variables(theme: Mapping[str, str]) -> str:
    """A theme as CSS declarations."""
    return ";".join(f"--{name}:{value}" for name, value in theme.items())


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours by WCAG 2.2, from 1 to 21."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(value: str) -> float:
    """Relative luminance of a colour, by WCAG 2.2."""
    parts = (int(value[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
