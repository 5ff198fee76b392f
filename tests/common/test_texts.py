"""What a file says cannot act on a terminal."""

from common.texts import duration, markdown, printable


def test_characters_that_act_on_a_terminal_are_escapes_and_others_stay() -> None:
    assert printable("größer → 100 %") == "größer → 100 %"
    assert printable("a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800") == r"a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800"
    assert printable("") == ""


def test_a_text_stands_for_itself_in_markdown() -> None:
    assert markdown("ppo-1 3, pv_kwp=4162: +0.07 (+0.06 to +0.08)") == "ppo-1 3, pv_kwp=4162: +0.07 (+0.06 to +0.08)"
    assert markdown("a | [b](c)\n<img> `*`") == r"a \| \[b\](c)\\n\<img\> \`\*\`"


def test_a_duration_has_hours_minutes_and_seconds() -> None:
    assert [duration(seconds) for seconds in (-1.0, 59.6, 3723.4)] == ["0:00:00", "0:01:00", "1:02:03"]
