"""Flame graphs, as the XML that browsers read."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from dbdyno.cpu.flame_graph import flame_graph

SVG = "{http://www.w3.org/2000/svg}"


def frames(drawn: str) -> list[tuple[str, int, float, float, float]]:
    """Give each frame's name, instructions, and place: x, y, width."""
    found = []
    for group in ElementTree.fromstring(drawn).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text is not None and rect is not None
        said = re.fullmatch(r"(.*): ([\d,]+) instructions, [\d.]+ %", title.text)
        assert said is not None
        place = [float(rect.attrib[name]) for name in ("x", "y", "width")]
        found.append((said[1], int(said[2].replace(",", "")), place[0], place[1], place[2]))
    return found


NAMES = st.sampled_from(["a", "b<c>", 'say "x" & y', "sqlite3_step", "select 'ß' where x < 1"])
STACKS = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=6), st.integers(1, 10**9)), min_size=1, max_size=40)


@given(STACKS)
def test_frames_lie_within_their_callers_and_side_by_side(stacks: list[tuple[list[str], int]]) -> None:
    found = frames(flame_graph([f"{';'.join(names)} {cost}" for names, cost in stacks], "all <of it>"))
    assert found[0][:2] == ("all <of it>", sum(cost for _, cost in stacks))
    for _, cost, x, y, width in found[1:]:
        above = [each for each in found if each[3] < y and each[2] <= x + 0.1 and x + width <= each[2] + each[4] + 0.5]
        assert len({each[3] for each in above}) >= (y - found[0][3]) / 17 - 0.5
        assert all(each[1] >= cost for each in above)
    by_row: dict[float, list[tuple[float, float]]] = {}
    for _, _, x, y, width in found:
        by_row.setdefault(y, []).append((x, x + width))
    for row in by_row.values():
        for (_, end), (begin, _) in zip(sorted(row), sorted(row)[1:], strict=False):
            assert end <= begin + 0.2


def test_frames_lead_where_they_are_told_to() -> None:
    drawn = flame_graph(["a;b 3", "a;c 1"], "t", {"b": "l12"}.get)
    links = [link.attrib["href"] for link in ElementTree.fromstring(drawn).iter(f"{SVG}a")]
    assert links == ["#l12"]
    assert [name for name, *_ in frames(drawn)] == ["t", "a", "b", "c"]


def test_nothing_is_drawn_of_nothing() -> None:
    assert frames(flame_graph([], "t")) == []
