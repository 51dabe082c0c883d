"""Intervals of a stream of forecasts: compared with a slow reference, and on series whose variance changes."""

import math
import pickle
import unittest

import numpy

from unfold.estimators import NetworkForecaster
from unfold.estimators._adaptive_intervals import FEWEST, MOST, RATE, AdaptiveIntervals, ModelLimits


def changing_series(seed, length, change, ratio, persistence=0.6):
    """Return a series of the first order, whose errors are ``ratio`` times as large from position ``change`` on."""
    source = numpy.random.default_rng(seed)
    errors = numpy.where(numpy.arange(length) < change, 1, ratio) * source.normal(size=length)
    series = numpy.zeros(length)
    for t in range(1, length):
        series[t] = persistence * series[t - 1] + errors[t]
    return series


def stream_by_definition(series, model, horizon, start, coverage):
    """Return the factors [time][h] of one column: all intervals and scores are kept and searched again at each time."""
    factors = []
    for now in range(start, len(series)):
        factors.append([])
        for h in range(horizon):
            scores, level = [], 1 - coverage
            for origin in range(start, now - h):  # values before `now` are observed
                error = series[origin + h] - model[origin]
                score = abs(error) / (2 if error < 0 else 3)
                used = factors[origin - start][h]
                if not math.isnan(used):
                    level = min(1, max(0, level + RATE * (1 - coverage - (score > used))))
                scores.append(score)
            recent = sorted(scores[-MOST:])
            place = math.ceil((len(recent) + 1) * (1 - level) - 1e-9)
            known = len(scores) >= FEWEST
            factors[-1].append(recent[min(max(place, 1), len(recent)) - 1] if known else math.nan)
    return factors


class AdaptiveIntervalsTest(unittest.TestCase):
    def test_factors_are_those_of_the_definition(self):
        series = changing_series(1, 260, 130, 4)
        model = numpy.round(series + numpy.random.default_rng(2).normal(size=260))
        horizon, start = 3, 10
        for coverage in (0.8, 0.5):
            expected = stream_by_definition(series, model, horizon, start, coverage)
            intervals = AdaptiveIntervals()
            for now in range(start, len(series)):
                mean = numpy.full((horizon, 1), model[now])
                low, high = intervals.issue(now, coverage, ModelLimits(mean, mean - 2, mean + 3))
                usual = 1 if coverage == 0.8 else 0.6744897501960817 / 1.2815515655446004
                for h, factor in enumerate(expected[now - start]):
                    used = usual if math.isnan(factor) else factor
                    self.assertAlmostEqual(low[h, 0], model[now] - 2 * used, 12)
                    self.assertAlmostEqual(high[h, 0], model[now] + 3 * used, 12)
                intervals.observe(series[:now + 1, None])

    def test_two_coverages_and_columns_are_adapted_separately(self):
        source = numpy.random.default_rng(3)
        values = source.normal(size=(900, 2)) * [1, 5]
        intervals, inside = AdaptiveIntervals(), {0.5: [], 0.9: []}
        for now in range(900):
            limits = ModelLimits(numpy.zeros((1, 2)), numpy.full((1, 2), -1.0), numpy.full((1, 2), 1.0))
            for coverage, found in inside.items():
                low, high = intervals.issue(now, coverage, limits)
                found.append((low[0] <= values[now]) & (values[now] <= high[0]))
            intervals.observe(values[:now + 1])
        for coverage, found in inside.items():
            for share in numpy.mean(found[100:], axis=0):
                self.assertAlmostEqual(share, coverage, delta=0.03)
        self.assertEqual({h: len(scores) for h, scores in intervals._scores.items()}, {0: MOST})

    def test_repeated_requests_count_once(self):
        values = numpy.random.default_rng(4).normal(size=(200, 1))
        once, twice = AdaptiveIntervals(), AdaptiveIntervals()
        limits = ModelLimits(numpy.zeros((2, 1)), numpy.full((2, 1), -1.0), numpy.full((2, 1), 1.0))
        for now in range(200):
            twice.issue(now, 0.8, limits)
            numpy.testing.assert_array_equal(once.issue(now, 0.8, limits), twice.issue(now, 0.8, limits))
            for intervals in (once, twice):
                intervals.observe(values[:now + 1])

    def test_an_interval_without_width_is_not_scored(self):
        intervals, mean = AdaptiveIntervals(), numpy.ones((1, 1))
        for now in range(50):
            low, high = intervals.issue(now, 0.95, ModelLimits(mean, mean, mean))
            self.assertEqual((low[0, 0], high[0, 0]), (1, 1))
            intervals.observe(numpy.zeros((now + 1, 1)))
        self.assertEqual(intervals._scores, {})

    def test_a_mean_outside_its_limits_is_within_the_interval(self):
        low, high = ModelLimits(numpy.full((1, 1), 5.0), numpy.zeros((1, 1)),
                                numpy.full((1, 1), 4.0)).scaled(0.8, numpy.ones((1, 1)))
        self.assertEqual((low[0, 0], high[0, 0]), (0, 5.4))


class StreamTest(unittest.TestCase):
    def test_intervals_follow_a_change_of_the_variance(self):
        horizon, start, change = 2, 300, 380
        for ratio, outside in ((3, "below"), (1 / 3, "above")):
            series = changing_series(5, 680, change, ratio)
            fitted = NetworkForecaster("ar:2", threads=1).fit(series[:start])
            fixed, adaptive = [], []
            for t in range(start, len(series) - horizon):
                for found, y in ((fixed, fitted.series_), (adaptive, None)):
                    low, high = fitted.predict_interval(horizon, y=y, samples=50)
                    found.append((low <= series[t:t + horizon]) & (series[t:t + horizon] <= high))
                fitted.update(series[t:t + 1])
            for h in range(horizon):
                after = numpy.mean(fixed[change - start:], axis=0)[h]
                self.assertTrue(after < 0.4 if outside == "below" else after > 0.95, after)
                after = numpy.mean(adaptive[change - start:], axis=0)[h]
                self.assertTrue(0.75 <= after <= 0.85, after)

    def test_update_appends_values_and_keeps_the_model(self):
        series = changing_series(6, 120, 60, 1)
        fitted = NetworkForecaster("gru:2", steps=3, threads=1).fit(series[:80])
        low, high = fitted.predict_interval(4, samples=20)
        first = fitted.predict(4, y=series[:100], samples=20)
        self.assertIs(fitted.update(series[80:100]), fitted)
        numpy.testing.assert_array_equal(fitted.series_, series[:100])
        numpy.testing.assert_array_equal(fitted.predict(4, samples=20), first)
        before = fitted.model_.to_bytes()
        fitted.update(series[100:110], train=True)
        numpy.testing.assert_array_equal(fitted.series_, series[:110])
        self.assertNotEqual(fitted.model_.to_bytes(), before)
        for wrong, message in ((series[:4].reshape(2, 2), "update: y has 2 columns"), ([math.nan], "not finite"),
                               ([], "T >= 1")):
            with self.assertRaisesRegex(ValueError, message):
                fitted.update(wrong)
        with self.assertRaisesRegex(ValueError, "T >= 2"):
            fitted.update(series[110:111], train=True)
        numpy.testing.assert_array_equal(fitted.series_, series[:110])

    def test_intervals_of_other_probabilities_are_wider_or_narrower(self):
        series = changing_series(7, 100, 50, 1)
        fitted = NetworkForecaster("gru:2", steps=3, threads=1).fit(series)
        widths = []
        for coverage in (0.5, 0.8, 0.95):
            low, high = fitted.predict_interval(3, samples=50, coverage=coverage)
            widths.append(high - low)
        self.assertTrue((widths[0] < widths[1]).all() and (widths[1] < widths[2]).all())
        for coverage in (0, 1, 95, math.nan):
            with self.assertRaisesRegex(ValueError, "must be above 0 and below 1"):
                fitted.predict_interval(3, coverage=coverage)

    def test_pickle_continues_the_stream(self):
        series = changing_series(8, 130, 60, 3)
        fitted = NetworkForecaster("gru:2", steps=3, threads=1).fit(series[:60])
        for t in range(60, 90):
            fitted.predict_interval(1, samples=20)
            fitted.update(series[t:t + 1])
        again = pickle.loads(pickle.dumps(fitted))
        for t in range(90, 95):
            numpy.testing.assert_array_equal(fitted.predict_interval(1, samples=20), again.predict_interval(1, samples=20))
            for one in (fitted, again):
                one.update(series[t:t + 1])


if __name__ == "__main__":
    unittest.main()
