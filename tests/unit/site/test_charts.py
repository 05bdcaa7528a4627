# SPDX-License-Identifier: Apache-2.0
"""Charts: nothing drawn for what does not exist, the same bytes for the same data, text that stays text."""

import re
from fractions import Fraction
from html import unescape

from support.hostile import HOSTILE

from evalsite.site.charts import Agreement, Moment, Rate, confusion, order, rates
from evalsite.site.scan import check_fragment

HALF = Fraction(1, 2)


def titles(html: str) -> list[str]:
    return [unescape(found) for found in re.findall("<title>(.*?)</title>", html)]


def test_a_rate_is_a_dot_with_its_interval_and_its_limit() -> None:
    row = Rate(label="False passes", value=Fraction(1, 60), high=Fraction(77, 1000), limit=Fraction(1, 20), said="1/60")
    html = rates([row], name="Errors")
    check_fragment(html, at="chart")
    assert titles(html) == ["False passes: 1.7\u2009%, from 0.0\u2009% to 7.7\u2009%, limit 5.0\u2009%"]
    assert html.count("<circle") == 1
    assert "es-dash" in html


def test_what_has_no_value_has_no_dot_and_says_why() -> None:
    html = rates([Rate(label="Kappa", value=None, reason="one class only")], name="Agreement")
    assert "<circle" not in html
    assert "none: one class only" in html


def test_a_bound_decides_the_tone_and_not_the_point() -> None:
    """Within the limit only if the whole interval is; beyond it only if the point is."""
    tones = []
    for value, high in (
        (0, Fraction(4, 100)),
        (Fraction(1, 100), Fraction(6, 100)),
        (Fraction(9, 100), Fraction(2, 10)),
    ):
        html = rates([Rate(label="x", value=value, high=high, limit=Fraction(1, 20))], name="x")
        tones.append(re.findall(r'<g class="(es-[a-z]+)"', html))
    assert tones == [["es-good"], ["es-open"], ["es-bad"]]


def test_values_outside_the_axis_stay_on_it() -> None:
    html = rates([Rate(label="x", value=Fraction(-1, 25), low=Fraction(-1), high=Fraction(2))], name="x")
    places = [float(found) for found in re.findall(r' (?:cx|x1|x2)="([0-9.]+)"', html)]
    assert min(places) >= 190
    assert max(places) <= 490


def test_each_cell_of_a_matrix_says_what_it_counts() -> None:
    cells = [[(3, Agreement.AGREE), (1, Agreement.FALSE_FAIL)], [(0, Agreement.FALSE_PASS), (2, Agreement.AGREE)]]
    html = confusion(["pass", "fail"], ["1", "0"], cells, name="Matrix")
    check_fragment(html, at="chart")
    assert titles(html)[1] == "people said pass, judge said 0: 1 (false fail)"
    assert re.findall(r'class="es-count"[^>]*>(\d+)<', html) == ["3", "1", "0", "2"]
    signs = re.findall(r'class="es-sign"[^>]*>(.)<', html)
    assert signs == ["=", "\u25bc", "\u25b2", "="]


def test_a_step_that_stands_nowhere_is_hollow() -> None:
    html = order([Moment(label="Committed", place="entry 4"), Moment(label="Revealed", place=None)], name="Order")
    check_fragment(html, at="chart")
    assert titles(html) == ["Committed: entry 4", "Revealed: nowhere"]
    assert html.count("es-hollow") == 1


def test_nothing_to_draw_draws_nothing() -> None:
    assert rates([], name="x") == ""
    assert order([], name="x") == ""


def test_foreign_names_stay_text() -> None:
    for hostile in HOSTILE.values():
        row = Rate(label=hostile, value=HALF, said=hostile)
        absent = Rate(label=hostile, value=None, reason=hostile)
        for html in (
            rates([row, absent], name=hostile),
            confusion([hostile], [hostile], [[(1, Agreement.AGREE)]], name=hostile),
            order([Moment(label=hostile, place=hostile, said=hostile)], name=hostile),
        ):
            check_fragment(html, at="chart")


def test_the_same_data_gives_the_same_bytes() -> None:
    rows = [Rate(label="x", value=Fraction(1, 3), low=Fraction(1, 7), high=Fraction(6, 7))]
    assert rates(rows, name="x") == rates(list(rows), name="x")
