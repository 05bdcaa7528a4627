# SPDX-License-Identifier: Apache-2.0
"""Every published value of the calibration vectors, within its stated tolerance; how many is printed.

LLMBar: verdicts of real judges on 499 judge and dataset pairs, in both orders of the answers. The
published kappa of that benchmark comes from labels whose vocabularies differ (gold 1 and 2, verdicts
1 and 0); it is reproduced with that mistake here, and the right value stands beside it.
"""

import csv
import json
from fractions import Fraction

import pytest

from evalsite.judging.statistics import agreement, binomial, paired, position, prevalence, raters, resampling, special
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.calibration import GateOutcome

CHOICE = {"1": position.Choice.A, "2": position.Choice.B, "N": None}
ALPHA = Fraction(1, 20)


class Compared:
    """Counts what was compared, so that a test that compared nothing is seen."""

    def __init__(self) -> None:
        self.count = 0

    def close(self, found, expected, tolerance, what=""):
        self.count += 1
        if expected is None:
            assert isinstance(found, Undefined), (what, found)
            assert found.reason
            return
        assert not isinstance(found, Undefined), (what, found)
        assert abs(float(found) - expected) <= tolerance, (what, float(found), expected)


@pytest.fixture
def compared(request):
    counter = Compared()
    yield counter
    assert counter.count > 0
    print(f"\n{request.node.name}: {counter.count} published values compared")


@pytest.fixture
def load(vectors):
    def read(name):
        return json.loads((vectors / "calibration" / name).read_bytes())

    return read


def test_krippendorff(load, compared):
    for case in load("krippendorff.json")["cases"]:
        for metric, expected in case["expected"].items():
            found = raters.krippendorff_alpha(case["units"], getattr(raters, metric))
            compared.close(found, expected, case.get("tol", 0), case["id"])
            if metric in case.get("exact", {}):
                assert found == Fraction(case["exact"][metric])
                compared.count += 1
    assert compared.count == 26


def test_two_raters(load, compared):
    data = load("cohen_kappa.json")
    functions = {
        "po": agreement.observed,
        "kappa": agreement.cohen_kappa,
        "ase": agreement.kappa_error,
        "scott_pi": agreement.scott_pi,
        "gwet_ac1": agreement.gwet_ac1,
        "brennan_prediger": agreement.brennan_prediger,
        "pabak": agreement.brennan_prediger,
    }
    for case in data["cases"]:
        table, expected = case["table"], dict(case["expected"])
        for name, value in expected.items():
            what = f"{case['id']} {name}"
            if name in functions:
                compared.close(functions[name](table), value, case["tol"], what)
            elif name == "pe":
                seen, kappa = agreement.observed(table), agreement.cohen_kappa(table)
                compared.close((seen - kappa) / (1 - kappa), value, case["tol"], what)
            elif name in {"ci_low", "ci_high"}:
                side = 1.959963984540054 * (-1 if name == "ci_low" else 1)
                found = float(agreement.cohen_kappa(table)) + side * agreement.kappa_error(table)
                compared.close(found, value, case["tol"], what)
            else:
                assert name == "krippendorff_alpha"
                size = range(len(table))
                units = [(i, j) for i in size for j in size for _ in range(table[i][j])]
                compared.close(raters.krippendorff_alpha(units), value, case["tol"], what)
    raw = data["raw"]

    def weighted(first, second, weight=None):
        values = [(row[first], row[second]) for row in raw["ratings"]]
        known = sorted({value for pair in values for value in pair})  # the source drops what nobody said
        table = agreement.table_of([(known.index(a), known.index(b)) for a, b in values], len(known))
        return agreement.cohen_kappa(table, weight) if weight else agreement.cohen_kappa(table)

    expected, tolerance = raw["expected"], raw["tol"]
    compared.close(weighted(1, 2), expected["kappa2_unweighted_r2r3"], tolerance["r2r3"])
    compared.close(weighted(1, 2, agreement.linear), expected["kappa2_linear_r2r3"], tolerance["r2r3"])
    compared.close(weighted(1, 2, agreement.squared), expected["kappa2_squared_r2r3"], tolerance["r2r3"])
    compared.close(weighted(0, 1, agreement.squared), expected["kappa2_squared_r1r2"], tolerance["r1r2"])
    assert compared.count == 38


def test_many_raters(load, compared):
    functions = {
        "po": raters.RaterTable.observed,
        "fleiss_kappa": raters.fleiss_kappa,
        "gwet_ac1": raters.gwet_ac1,
        "gwet_ac1_se": raters.ac1_error,
        "conger_kappa": raters.conger_kappa,
        "brennan_prediger": raters.brennan_prediger,
    }
    for case in load("fleiss_multi.json")["cases"]:
        if "counts" in case:
            table = raters.RaterTable(counts=tuple(map(tuple, case["counts"])))
            units = [[k for k, count in enumerate(unit) for _ in range(count)] for unit in case["counts"]]
        else:
            units = case.get("units") or case["ratings"]
            table = raters.RaterTable.of(units, case.get("categories"))
        for name, value in case["expected"].items():
            what = f"{case['id']} {name}"
            if name == "krippendorff_alpha":
                compared.close(raters.krippendorff_alpha(units), value, case["tol"], what)
            elif name == "kappa2_cols23":
                pairs = [(row[1] - 1, row[2] - 1) for row in case["ratings"]]
                found = agreement.cohen_kappa(agreement.table_of(pairs, 5))
                compared.close(found, value, case["tol_cols23"], what)
            else:
                compared.close(functions[name](table), value, case["tol"], what)
    assert compared.count == 23


def test_intervals_and_least_labels(load, compared):
    data = load("proportion_ci.json")
    for case in data["cases"]:
        for method, function in (("clopper_pearson", binomial.clopper_pearson), ("wilson", binomial.wilson)):
            for found, expected in zip(function(case["k"], case["n"]), case[method], strict=True):
                compared.close(found, expected, case["tol"], f"{method} {case['k']}/{case['n']}")
    for errors, least in data["one_sided_min_n"]["p0.05"].items():
        assert binomial.min_labels(int(errors), ALPHA, ALPHA) == least
        assert binomial.exact_gate(int(errors), least, ALPHA, ALPHA) is GateOutcome.PASS
        assert binomial.exact_gate(int(errors), least - 1, ALPHA, ALPHA) is GateOutcome.INSUFFICIENT
        assert binomial.upper_bound(int(errors), least, ALPHA) < 0.05
        compared.count += 1
    assert compared.count == 12 * 4 + 6


def test_mcnemar_and_cochran(load, compared):
    data = load("mcnemar.json")
    for case in data["cases"]:
        one, two = case["table"][0][1], case["table"][1][0]
        if "exact_p" in case:
            compared.close(paired.mcnemar(one, two), case["exact_p"], 5e-7)
        for name, corrected in (("_corr", True), ("", False)):
            if f"chi2{name}" in case:
                value, probability = paired.mcnemar_chi_squared(one, two, corrected=corrected)
                compared.close(value, case[f"chi2{name}"], case.get("tol", 5e-6))
                compared.close(probability, case[f"p{name}"], 5e-8 if case[f"p{name}"] > 1e-3 else 5e-9)
    for case in data["cochran_q"]:
        value, probability = paired.cochran_q(case["x"])
        compared.close(value, case["Q"], 5e-7)
        compared.close(probability, case["p"], 5e-7)
    assert compared.count == 6 + 4 * 4 + 2


def test_corrected_rates(load, compared):
    data = load("rogan_gladen.json")
    for case in data["cases"]:
        rates = (Fraction(case["positives"], case["n"]), Fraction(str(case["sens"])), Fraction(str(case["spec"])))
        compared.close(prevalence.rogan_gladen(*rates), case["expected"], case.get("tol", 0), case["id"])
        ends = [
            prevalence.rogan_gladen(Fraction(end), *rates[1:])
            for end in binomial.clopper_pearson(case["positives"], case["n"])
        ]
        if "ci_cp" in case:  # the source cuts -0.065 to -0.06, which is a whole unit
            for found, expected in zip(ends, case["ci_cp"], strict=True):
                compared.close(found, expected, 2 * case["tol"], case["id"])
        if "ci_blaker" in case:  # a shorter exact interval, which is none of ours: it lies within
            low, high = case["ci_blaker"]
            assert ends[0] - case["tol"] <= low < high <= ends[1] + case["tol"], case["id"]
            compared.count += 2
    given, expected = data["interval"]["inputs"], data["interval"]["expected"]
    rate, spec, sens = (Fraction(str(given[name])) for name in ("p", "q0_spec", "q1_sens"))
    compared.close(prevalence.rogan_gladen(rate, sens, spec), expected["theta"], data["interval"]["tol"])
    found = prevalence.lee_interval(rate, given["n"], spec, given["m0"], sens, given["m1"])
    for end, value in zip(found, expected["ci95"], strict=True):
        compared.close(end, value, data["interval"]["tol"])
    assert compared.count == 20


def test_repetitions(load, compared):
    data = load("pass_k.json")
    airline = data["tau_bench_airline_gpt4o"]
    for k, expected in airline["expected_pass_hat_k"].items():
        values = [paired.pass_hat_k(len(row), sum(row), int(k)) for row in airline["rewards"]]
        compared.close(paired.mean_over(values), expected, airline["tol"], f"pass^{k}")
    for case in data["pass_at_k"]:
        compared.close(paired.pass_at_k(case["n"], case["c"], case["k"]), case["expected"], 1e-12)
    case = data["undefined"]
    compared.close(paired.pass_hat_k(case["n"], case["c"], case["k"]), case["expected"], 0)
    compared.close(paired.pass_at_k(case["n"], case["c"], case["k"]), case["expected"], 0)
    assert compared.count == 9


def test_clusters_and_quantiles(load, compared):
    data = load("clustered_se.json")
    for case in data["cases"]:
        compared.close(resampling.clustered_error(case["values"], case["clusters"]), case["expected"], case["tol"])
    compared.close(resampling.clustered_error([1.0, 2.0], [0, 0]), None, 0)
    for freedom, expected in data["t_quantile_0.975"].items():
        compared.close(special.t_quantile(0.975, int(freedom)), expected, 1e-9 * expected, freedom)
    assert compared.count == 9


def test_position_bias_of_mt_bench(load, compared):
    """The printed percentages follow from the counts, and every pair is in exactly one of them."""
    for row in load("mtbench_zheng2023.json")["table2_position_bias"]:
        a, b = position.Choice.A, position.Choice.B
        pairs = [(a, a)] * row["consistent"] + [(a, b)] * row["first"] + [(b, a)] * row["second"]
        counts = position.count_positions([*pairs, *[(a, None)] * row["error"]])
        assert counts.pairs == row["n"]
        found = (counts.consistent, counts.flips_to_first, counts.flips_to_second, counts.unavailable)
        for count, percent in zip(found, row["published_pct"], strict=True):
            compared.close(Fraction(100 * count, row["n"]), percent, 0.0500001)
    assert compared.count == 24


def _rows(vectors, name):
    with (vectors / "calibration" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_published_counts_of_llmbar(vectors, compared):
    """What the benchmark printed follows from its verdicts, its kappa only with unequal vocabularies."""
    differ = 0
    for row in _rows(vectors, "llmbar_verdicts.csv"):
        gold, first, second = row["gold"], row["judge_order1"], row["judge_order2"]
        right = [a == g for a, g in zip(first, gold, strict=True)], [b == g for b, g in zip(second, gold, strict=True)]
        counts = {
            "n": len(gold),
            "pub_correct_1": sum(right[0]),
            "pub_correct_2": sum(right[1]),
            "pub_correct_both": sum(a and b for a, b in zip(*right, strict=True)),
        }
        for name, found in counts.items():
            compared.close(found, int(row[name]), 0, name)
        same = sum(a == b for a, b in zip(first, second, strict=True))
        compared.close(same, int(row["pub_equal"]), 0, "pub_equal")
        pairs = [(int(g), 1 if j == "1" else 0) for g, j in zip(gold, first, strict=True)]
        wrong = agreement.cohen_kappa(agreement.table_of(pairs, 3))
        published = float(row["pub_kappa_1_BUGGY"])
        compared.close(wrong, published, 1e-9, f"{row['dataset']} {row['evaluator']}")
        decided = [(int(g) - 1, int(j) - 1) for g, j in zip(gold, first, strict=True) if j != "N"]
        found = agreement.cohen_kappa(agreement.table_of(decided, 2))
        differ += not isinstance(found, Undefined) and abs(float(found) - published) > 0.3
        orders = [(int(a == "1"), int(b == "1")) for a, b in zip(first, second, strict=True)]
        found = agreement.cohen_kappa(agreement.table_of(orders, 2))
        compared.close(found, float(row["pub_kappa_between_orders"]), 1e-9, "kappa between orders")
    assert compared.count == 499 * 7
    assert differ == 207


def test_calibration_rows_of_llmbar(vectors, compared):
    verdicts = {(row["dataset"], row["evaluator"]): row for row in _rows(vectors, "llmbar_verdicts.csv")}
    assert len(verdicts) == 499
    for row in _rows(vectors, "llmbar_expected.csv"):
        source = verdicts[row["dataset"], row["evaluator"]]
        gold, first, second = source["gold"], source["judge_order1"], source["judge_order2"]
        decided = [(g, j) for g, j in zip(gold, first, strict=True) if j != "N"]
        agree = sum(g == j for g, j in decided)
        found = {
            "labeled": len(gold),
            "judged": len(decided),
            "unavailable": len(gold) - len(decided),
            "agree": agree,
            "false_pass": decided.count(("2", "1")),
            "false_fail": decided.count(("1", "2")),
        }
        pairs = position.count_positions((CHOICE[a], CHOICE[b]) for a, b in zip(first, second, strict=True))
        found |= {
            "pairs_both_decided": pairs.decided,
            "consistent": pairs.consistent,
            "flip_first_slot": pairs.flips_to_first,
            "flip_second_slot": pairs.flips_to_second,
        }
        for name, value in found.items():
            compared.close(value, int(row[name]), 0, name)
        low, high = binomial.wilson(agree, len(decided))
        table = agreement.table_of([(int(g) - 1, int(j) - 1) for g, j in decided], 2)
        for name, value in {
            "agreement": agreement.observed(table),
            "wilson_low": low,
            "wilson_high": high,
            "kappa": agreement.cohen_kappa(table),
            "published_kappa_buggy": float(source["pub_kappa_1_BUGGY"]),
            # Where nothing flipped the file says 1; there is nothing to test, which is null here.
            "flip_exact_p": Fraction(1) if isinstance(pairs.bias_p, Undefined) and row["consistent"] else pairs.bias_p,
        }.items():
            compared.close(value, float(row[name]) if row[name] else None, 6e-7, name)
        assert isinstance(pairs.bias_p, Undefined) == (pairs.flips_to_first + pairs.flips_to_second == 0)
    assert compared.count == 242 * 16
