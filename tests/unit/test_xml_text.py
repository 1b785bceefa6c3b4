"""XML that breaks the rules as people's files do: read as OpenSim reads it, with a word about what was changed."""

from __future__ import annotations

import pytest

from musculo import MusculoWarning, read_external_loads
from musculo.errors import InvalidFile
from musculo.io.setup import read_setup
from musculo.io.xml_text import parse_text

HEAD = b'<?xml version="1.0" encoding="UTF-8" ?>\n'

# {label: (content, the text that is read, a word of the remark)}
REPAIRED = {
    "a dash of Windows": (HEAD + b"<a>1 \x96 2</a>", "1 \u2013 2", "byte 0x96 in line 2"),
    "Latin-1 without a header": (b"<a>caf\xe9</a>", "caf\xe9", "byte 0xe9 in line 1"),
    "both in one text": (HEAD + b"<a>\xc3\xa9 \xe9</a>", "\xe9 \xe9", "not all UTF-8"),
    "a byte without a character": (HEAD + b"<a>\x81</a>", "\x81", "not all UTF-8"),
    "an encoding that nobody knows": (b'<?xml version="1.0" encoding="foo"?><a>x</a>', "x", "'foo'"),
    "UTF-16 that is not": (b'<?xml version="1.0" encoding="UTF-16"?><a>x</a>', "x", "'UTF-16'"),
    "a mark and a bad byte": (b"\xef\xbb\xbf" + HEAD + b"<a>\x96</a>", "\u2013", "not all UTF-8"),
    "a control character": (HEAD + b"<a>1\x0b2</a>", "1 2", "control characters"),
    "an ampersand": (HEAD + b"<a>A & B &amp; C &#65; &nbsp; &#1;</a>", "A & B & C A &nbsp; &#1;", "an &"),
    "dashes in a comment": (HEAD + b"<a>1<!-- x -- y\n-->2</a>", "1\n2", "1 comment(s)"),
    "a line before the first": (b"\n" + HEAD + b"<a>x</a>", "x", "before the first line"),
    "zeros at the end": (HEAD + b"<a>x</a>\0\0", "x", "after the last"),
}


@pytest.mark.parametrize("case", REPAIRED)
def test_what_opensim_reads_is_read(case):
    content, text, remark = REPAIRED[case]
    remarks: list[str] = []
    assert parse_text(content, "f", "hint", remarks).text == text
    assert remark in "; ".join(remarks)
    with pytest.warns(MusculoWarning, match="^f: "):
        parse_text(content, "f", "hint")


def test_valid_text_is_left_alone():
    for content, text in (
        (HEAD + "<a>\u2013 &amp;<![CDATA[<!-- & -->]]></a>".encode(), "\u2013 &<!-- & -->"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>', "\xe9"),
        ('<?xml version="1.0" encoding="UTF-16"?><a>\xe9</a>'.encode("utf-16"), "\xe9"),
    ):
        remarks: list[str] = []
        assert parse_text(content, "f", "hint", remarks).text == text
        assert remarks == []


@pytest.mark.parametrize(
    "content",
    [b"<a>1 < 2</a>", b"<a>x</a>y", b"<a>x", b"<a/><b/>", b"<a>\0</a>", b'<!DOCTYPE a [<!ENTITY e "x">]><a>&f;</a>'],
)
def test_what_is_no_xml_is_refused_with_the_first_complaint(content):
    with pytest.raises(InvalidFile, match=r"^f:1: not well-formed XML ((?s:.)*); hint$"):
        parse_text(content, "f", "hint")


def test_set_ups_and_loads_are_read_too(tmp_path):
    setup = tmp_path / "setup.xml"
    setup.write_bytes(
        HEAD + b'<OpenSimDocument Version="40000"><InverseDynamicsTool name="a \x96 b"/></OpenSimDocument>'
    )
    assert read_setup(setup).name == "a \u2013 b"
    assert "0x96 in line 2" in read_setup(setup).notes[0]
    (tmp_path / "d.mot").write_text("d\nversion=1\nnRows=1\nendheader\ntime\tfx\tfy\tfz\n0\t1\t2\t3\n")
    loads = tmp_path / "loads.xml"
    loads.write_bytes(
        HEAD + b'<OpenSimDocument Version="40000"><ExternalLoads name="l"><objects><ExternalForce name="r\x96">'
        b"<applied_to_body>foot</applied_to_body><force_identifier>f</force_identifier></ExternalForce></objects>"
        b"<datafile>d.mot</datafile></ExternalLoads></OpenSimDocument>"
    )
    read = read_external_loads(loads)
    assert read.forces[0].name == "r\u2013"
    assert any("0x96" in note for note in read.notes)
