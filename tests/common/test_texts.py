"""What a file says cannot act on a terminal."""

from common.texts import printable


def test_characters_that_act_on_a_terminal_are_escapes_and_others_stay() -> None:
    assert printable("größer → 100 %") == "größer → 100 %"
    assert printable("a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800") == r"a\x1b[2Jb\r\nerror: c\x9b\u202e\ud800"
    assert printable("") == ""
