"""The forecaster that selects its methods by a backtest."""

import importlib.util
import math
import os
import pickle
import subprocess
import tempfile
import unittest
import warnings

import numpy

from unfold.errors import DataError, UsageError
from unfold.estimators import Forecaster

PANDAS = importlib.util.find_spec("pandas") is not None


def monthly(count=72, noise=2.0, seed=0):
    t = numpy.arange(count)
    return 50 + 0.5 * t + 10 * numpy.sin(t * math.pi / 6) + numpy.random.default_rng(seed).normal(size=count) * noise


class NumbersTest(unittest.TestCase):
    def setUp(self):
        self.y = monthly()

    def test_forecasts_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "y.csv")
            with open(path, "w") as file:
                file.write("y\n" + "".join(f"{value!r}\n" for value in self.y.tolist()))
            printed = subprocess.run([os.environ["TESTED_COMMAND"], "forecast", path, "--horizon", "6", "--coverage", "80,95"],
                                     capture_output=True, text=True, check=True).stdout
        rows = numpy.array([[float(cell) for cell in line.split("\t")[1:]] for line in printed.splitlines()[1:]])
        fitted = Forecaster().fit(self.y)
        numpy.testing.assert_allclose(fitted.predict(6), rows[:, 0], rtol=1e-9)
        for coverage, columns in ((0.95, [1, 4]), (0.8, [2, 3])):
            limits = fitted.predict_interval(6, coverage=coverage)
            numpy.testing.assert_allclose(numpy.array(limits).T, rows[:, columns], rtol=1e-9)

    def test_better_than_the_season_before(self):
        y = monthly(96)
        mean = Forecaster(threads=1).fit(y[:84]).predict(12)
        self.assertLess(numpy.abs(mean - y[84:]).mean(), 0.8 * numpy.abs(y[72:84] - y[84:]).mean())

    def test_steps_may_be_listed(self):
        fitted = Forecaster(["ets"], threads=1).fit(self.y, fh=[1, 3])
        numpy.testing.assert_array_equal(fitted.predict(), fitted.predict(3)[[0, 2]])
        low, high = fitted.predict_interval(numpy.array([2]))
        self.assertEqual(low.shape, (1,))
        self.assertTrue((low < high).all())
        for wrong in (0, -1, [], [0, 1], [1.5]):
            with self.assertRaises(UsageError):
                fitted.predict(wrong)
        with self.assertRaisesRegex(UsageError, "fh is missing"):
            Forecaster().fit(self.y).predict()

    def test_quantiles_are_ordered(self):
        found = Forecaster(["ets"], threads=1).fit(self.y).predict_quantiles(4, alpha=[0.05, 0.5, 0.9])
        self.assertEqual(list(found), [0.05, 0.5, 0.9])
        self.assertTrue((found[0.05] < found[0.5]).all() and (found[0.5] < found[0.9]).all())

    def test_forms_of_several_series(self):
        both = numpy.array([self.y, self.y[::-1]])
        members = ["naive", "ets"]
        alone = [Forecaster(members, threads=1, season=12).fit(one).predict(3) for one in both]
        settings = {"members": members, "threads": 1, "season": 12}
        numpy.testing.assert_array_equal(Forecaster(**settings).fit(both.T).predict(3), numpy.array(alone).T)
        numpy.testing.assert_array_equal(Forecaster(**settings).fit(list(both)).predict(3), alone)
        named = Forecaster(**settings).fit({"a": both[0], "b": both[1].tolist()})
        self.assertEqual(list(named.predict(3)), ["a", "b"])
        numpy.testing.assert_array_equal(named.predict(3)["b"], alone[1])
        self.assertEqual(named.backtest(3)["a"]["season"], 12)
        ragged = Forecaster(**settings).fit([self.y, self.y[:30]])
        self.assertEqual(ragged.predict(2).shape, (2, 2))

    def test_missing_values_and_notes(self):
        y = self.y.copy()
        y[10:13] = math.nan
        y[40] += 300
        fitted = Forecaster(threads=1).fit(y)
        self.assertTrue(numpy.isfinite(fitted.predict(3)).all())
        self.assertTrue(any("outlier" in note for note in fitted.notes_), fitted.notes_)
        for wrong, message in (([math.nan] * 3, "no observed value"), ([1, math.inf], "infinite at position 1"),
                               ([], "no values"), (numpy.zeros((2, 2, 2)), "shape"), (["a"], "not numeric")):
            with self.assertRaisesRegex(DataError, message):
                Forecaster().fit(wrong)

    def test_known_covariates(self):
        x = numpy.random.default_rng(1).normal(size=(90, 2))
        y = 3 + 2 * x[:, 0] - x[:, 1] + numpy.random.default_rng(2).normal(size=90) * 0.05
        fitted = Forecaster(threads=1).fit(y[:80], x[:80])
        self.assertLess(numpy.abs(fitted.predict(10, x[80:]) - y[80:]).max(), 0.5)
        for call, message in ((lambda: fitted.predict(10), "X is missing"), (lambda: fitted.predict(3, x[:2]), "3 rows"),
                              (lambda: Forecaster().fit(y).predict(2, x), "fit had none"),
                              (lambda: Forecaster().fit(y, x[:5]), "5 rows"), (lambda: fitted.update(y[80:]), "X must")):
            with self.assertRaisesRegex(ValueError, message):
                call()
        fitted.update(y[80:85], x[80:85])
        self.assertLess(numpy.abs(fitted.predict(5, x[85:]) - y[85:]).max(), 0.5)

    def test_messages_about_parameters(self):
        with self.assertRaisesRegex(UsageError, "coverage .0.8, 0.95.: must be one probability"):
            Forecaster(members=["naive"], threads=1).fit(self.y).predict_interval(2, coverage=[0.8, 0.95])
        with self.assertRaisesRegex(UsageError, r"\['ets:A,Ad,N', 'theta', 'naive'\]"):
            Forecaster(members="ets:A,Ad,N,theta, naive").fit(self.y)

    def test_backtest_lists_the_members(self):
        found = Forecaster(["naive", "ets", "theta"], threads=1).fit(self.y).backtest(4)
        self.assertEqual({one["name"] for one in found["members"]}, {"naive", "ets", "theta"})
        self.assertAlmostEqual(sum(one["weight"] for one in found["members"]), 1)
        self.assertLess(found["mase"], max(one["mase"] for one in found["members"] if one["name"] == "naive"))

    def test_intervals_adapt_to_updates(self):
        rng = numpy.random.default_rng(4)
        noise = rng.normal(size=260) * numpy.where(numpy.arange(260) < 100, 1, 4)
        fitted = Forecaster(["mean"], threads=1, origins=5).fit(noise[:100])
        inside = []
        for t in range(100, 260):
            low, high = fitted.predict_interval(1)
            inside.append(low[0] <= noise[t] <= high[0])
            fitted.update(noise[t:t + 1])
        self.assertGreater(numpy.mean(inside[60:]), 0.7)
        self.assertLess(numpy.mean(inside[60:]), 0.9)

    def test_parameters_state_and_copies(self):
        with self.assertRaises(AttributeError):
            Forecaster().predict(2)
        with self.assertRaisesRegex(UsageError, "NetworkForecaster"):
            Forecaster("gru:32").fit(self.y)
        with self.assertRaisesRegex(UsageError, "does not exist"):
            Forecaster(["nothing"]).fit(self.y).predict(2)
        fitted = Forecaster(["ets"], season=12, threads=1).fit(self.y)
        self.assertEqual(fitted.get_params()["season"], 12)
        numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(3), fitted.predict(3))

    @unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "matplotlib is not installed")
    def test_plot_draws_every_series(self):
        import matplotlib

        matplotlib.use("Agg")
        self.assertEqual(len(Forecaster(["ets"], threads=1).fit(self.y).plot(4).lines), 2)
        self.assertEqual(len(Forecaster(["ets"], threads=1).fit([self.y, self.y]).plot(4)), 2)


@unittest.skipUnless(PANDAS, "pandas is not installed")
class PandasTest(unittest.TestCase):
    def setUp(self):
        import pandas

        self.pandas = pandas
        self.settings = {"members": ["seasonal-naive"], "threads": 1}

    def test_forecasts_continue_the_index(self):
        pandas = self.pandas
        indexes = {"MS": pandas.date_range("2015", periods=60, freq="MS"), "D": pandas.date_range("2015", periods=60),
                   "h": pandas.date_range("2015", periods=60, freq="h", tz="Europe/Berlin"),
                   "B": pandas.bdate_range("2015", periods=60), "Q": pandas.period_range("2001", periods=60, freq="Q"),
                   "range": pandas.RangeIndex(10, 70), "years": pandas.Index(range(1950, 2010)),
                   "difference": pandas.timedelta_range("0 min", periods=60, freq="15min")}
        for name, index in indexes.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error")
                y = pandas.Series(monthly(60), index, name="sales")
                found = Forecaster(season=12, **self.settings).fit(y[:57]).predict(3)
                self.assertEqual(found.index.tolist(), index[57:].tolist())
                self.assertEqual(found.name, "sales")
                numpy.testing.assert_allclose(found.to_numpy(), y.to_numpy()[45:48])

    def test_missing_times_are_missing_values(self):
        pandas = self.pandas
        for freq in ("D", "MS", "h", "W", "B"):
            with self.subTest(freq), warnings.catch_warnings():
                warnings.simplefilter("error")
                index = pandas.date_range("2018-01-01", periods=70, freq=freq)
                y = pandas.Series(numpy.arange(70) % 5 + 1.0, index)
                found = Forecaster(season=5, **self.settings).fit(y[:66].drop(index[[20, 33]])).predict(4)
                self.assertEqual(found.index.tolist(), index[66:].tolist())
                self.assertEqual(found.to_numpy().tolist(), y.to_numpy()[66:].tolist())

    def test_many_missing_times_as_in_the_command(self):
        pandas = self.pandas
        for freq, absent in (("D", 0.15), ("D", 0.4), ("B", 0.15), ("h", 0.2), ("MS", 0.2), ("ME", 0.2), ("QS", 0.15),
                             ("W", 0.15)):
            with self.subTest(freq=freq, absent=absent), warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
                warnings.simplefilter("error")
                try:
                    index = pandas.date_range("2018-01-01", periods=150, freq=freq)
                except ValueError:  # a name that this version of pandas does not know
                    continue
                random = numpy.random.default_rng(3)
                y = pandas.Series((10 + numpy.arange(150) % 7 + random.normal(size=150)).round(3), index, name="y")
                y = y[(random.uniform(size=150) >= absent) | numpy.isin(numpy.arange(150), [0, 149])]
                forecaster = Forecaster(["naive", "drift", "theta"], threads=1).fit(y)
                found = forecaster.predict(5)
                self.assertEqual(found.index.tolist(), pandas.date_range(index[-1], periods=6, freq=freq)[1:].tolist())
                self.assertIn(f"{150 - len(y)} of the 150 times of the index do not occur", forecaster.notes_[0])
                path = os.path.join(folder, "y.csv")
                y.to_csv(path, index_label="ds")
                done = subprocess.run([os.environ["TESTED_COMMAND"], "forecast", path, "--horizon", "5", "--members",
                                       "naive,drift,theta", "--threads", "1"], capture_output=True, text=True, check=True)
                self.assertIn(f"{150 - len(y)} of the 150 times", done.stderr)
                rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
                self.assertEqual(pandas.to_datetime([row[0] for row in rows]).tolist(), found.index.tolist())
                numpy.testing.assert_allclose([float(row[1]) for row in rows], found.to_numpy(), rtol=1e-9)

    def test_indexes_with_most_times_missing_are_irregular(self):
        index = self.pandas.date_range("2018-01-01", periods=400)
        index = index[numpy.random.default_rng(0).uniform(size=400) < 0.3]
        with self.assertWarnsRegex(UserWarning, "different distances"):
            Forecaster(["naive"], threads=1).fit(self.pandas.Series(numpy.arange(len(index)) + 1.0, index))

    def test_one_absurd_gap_does_not_use_memory(self):
        index = self.pandas.date_range("1900-01-01", periods=200, freq="s")
        index = index.append(index + self.pandas.Timedelta(days=36500))[numpy.r_[0:50, 52:400]]
        with self.assertWarnsRegex(UserWarning, "different distances"):
            Forecaster(["naive"], threads=1).fit(self.pandas.Series(numpy.arange(398) + 1.0, index))

    def test_shops_that_are_closed_on_sundays(self):
        index = self.pandas.date_range("2018-01-01", periods=140)
        index = index[index.day_of_week != 6]
        y = self.pandas.Series(numpy.arange(len(index)) % 6 + 1.0, index)
        found = Forecaster(**self.settings).fit(y[:110]).predict(9)
        self.assertEqual(found.index.tolist(), index[110:119].tolist())
        self.assertEqual(found.to_numpy().tolist(), y.to_numpy()[110:119].tolist())

    def test_tables_and_groups(self):
        pandas = self.pandas
        index = pandas.date_range("2020-01-31", periods=48, freq="ME")
        table = pandas.DataFrame({"a": monthly(48), "b": monthly(48, seed=1)}, index)
        found = Forecaster(season=12, **self.settings).fit(table).predict(2)
        self.assertEqual(found.columns.tolist(), ["a", "b"])
        self.assertEqual(found.index[0], pandas.Timestamp("2024-01-31"))
        long = pandas.concat({"x": table["a"], "y": table["b"][:40]}, names=["shop", "month"])
        grouped = Forecaster(season=12, **self.settings).fit(long)
        forecast = grouped.predict(2)
        self.assertEqual(forecast.index.names, ["shop", "month"])
        numpy.testing.assert_array_equal(forecast["x"].to_numpy(), found["a"].to_numpy())
        self.assertEqual(forecast["y"].index[0], pandas.Timestamp("2023-05-31"))
        later = grouped.update(pandas.concat({"y": table["b"][40:]}, names=["shop", "month"])).predict(2)
        numpy.testing.assert_array_equal(later["y"].to_numpy(), found["b"].to_numpy())
        self.assertEqual(set(grouped.backtest(2)), {"x", "y"})
        low, high = grouped.predict_interval(2)
        self.assertTrue((low <= later).all() and (later <= high).all())

    def test_unsorted_and_irregular_times_have_a_warning(self):
        index = self.pandas.date_range("2020", periods=40)
        y = self.pandas.Series(numpy.arange(40.0), index)
        with self.assertWarnsRegex(UserWarning, "not in the order of time"):
            mixed = Forecaster(["drift"], threads=1).fit(y.sample(frac=1, random_state=0))
        numpy.testing.assert_allclose(mixed.predict(2).to_numpy(), [40, 41])
        irregular = y.set_axis(index + self.pandas.to_timedelta(numpy.arange(40) ** 2, unit="min"))
        with self.assertWarnsRegex(UserWarning, "different distances"):
            fitted = Forecaster(["drift"], threads=1).fit(irregular)
        self.assertEqual(fitted.predict(2).index.tolist(), [40, 41])
        with self.assertRaisesRegex(DataError, "not after the last value"):
            mixed.update(y[:3])

    def test_covariates_are_found_by_their_times(self):
        index = self.pandas.date_range("2020", periods=90)
        x = self.pandas.DataFrame({"price": numpy.random.default_rng(0).normal(size=90)}, index)
        y = 4 + 2 * x["price"]
        fitted = Forecaster(threads=1).fit(y[:80], x)
        numpy.testing.assert_allclose(fitted.predict(5, x).to_numpy(), y[80:85].to_numpy(), atol=0.3)
        with self.assertRaisesRegex(DataError, "no row for 2020-03-31"):
            fitted.predict(11, x)

    def test_numbers_continue_the_dates(self):
        dated = self.pandas.Series(monthly(), self.pandas.date_range("2020-01-01", periods=72, freq="MS"))
        fitted = Forecaster(members=["seasonal-naive"], threads=1).fit(dated[:70])
        expected = Forecaster(members=["seasonal-naive"], threads=1).fit(dated).predict(3)
        self.pandas.testing.assert_series_equal(fitted.update(dated.iloc[70:].tolist()).predict(3), expected)
        irregular = dated.iloc[[0, 1, 3, 6, 14, 15, 30, 50, 51, 71]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Forecaster(members=["mean"], threads=1).fit(irregular)
        with self.assertWarnsRegex(UserWarning, "the new values have no times"):
            fitted.update([50.0])

    def test_covariates_that_no_member_reads_are_reported(self):
        known = numpy.arange(72) % 2
        with self.assertWarnsRegex(UserWarning, r"X is not used.*'ets\+known'"):
            Forecaster(members=["ets"]).fit(monthly(), X=known)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Forecaster(members=["ets", "ets+known"]).fit(monthly(), X=known)
            Forecaster().fit(monthly(), X=known)

    def test_covariates_are_found_by_their_names(self):
        days = self.pandas.date_range("2024-01-01", periods=207)
        draw = numpy.random.default_rng(0)
        known = self.pandas.DataFrame({"promo": (draw.random(207) < 0.2) * 1.0, "price": 10 + draw.normal(size=207)}, days)
        y = (100 + 80 * known.promo - 3 * known.price)[:200]
        fitted = Forecaster(members=["ar+known"]).fit(y, X=known[:200])
        expected = fitted.predict(7, known[200:])
        numpy.testing.assert_array_equal(fitted.predict(7, known[200:][["price", "promo"]]), expected)
        with self.assertRaisesRegex(DataError, "no column 'promo'"):
            fitted.predict(7, known[200:].rename(columns={"promo": "Promo"}))
        with self.assertRaisesRegex(DataError, "column 'other', which it did not have"):
            fitted.predict(7, known[200:].assign(other=1.0))

    def test_texts_are_read_as_indicators_of_categories(self):
        draw = numpy.random.default_rng(1)
        days = self.pandas.date_range("2024-01-01", periods=207)
        kind = draw.choice(["normal", "normal", "fair", "strike"], 207)
        known = self.pandas.DataFrame({"kind": kind, "promo": draw.random(207) < 0.2, "price": draw.normal(size=207)}, days)
        y = (100 + 40 * (kind == "fair") - 60 * (kind == "strike") + 20 * known.promo - 3 * known.price)[:200]
        coded = self.pandas.DataFrame({"fair": kind == "fair", "strike": kind == "strike", "promo": known.promo,
                                       "price": known.price}, days).astype(float)
        fitted = Forecaster(members=["ar+known"]).fit(y, X=known[:200])
        expected = Forecaster(members=["ar+known"]).fit(y, X=coded[:200]).predict(7, coded[200:])
        numpy.testing.assert_array_equal(fitted.predict(7, known[200:]), expected)
        numpy.testing.assert_array_equal(fitted.predict(7, known[200:][["price", "kind", "promo"]]), expected)
        arrays = Forecaster(members=["ar+known"]).fit(y.to_numpy(), X=known[:200].to_numpy(dtype=object))
        self.assertEqual(arrays.predict(7, known[200:].to_numpy(dtype=object)).shape, (7,))
        with self.assertRaisesRegex(DataError, "column kind: 'flood' did not occur in fit"):
            fitted.predict(7, known[200:].assign(kind="flood"))
        with self.assertRaisesRegex(DataError, "has 200 categories; at most 50"):
            Forecaster().fit(y, X=self.pandas.DataFrame({"name": [f"n{i}" for i in range(200)]}, days[:200]))

    def test_a_calendar_serves_all_series(self):
        days = self.pandas.date_range("2024-01-01", periods=107)
        calendar = self.pandas.DataFrame({"promo": (numpy.random.default_rng(0).random(107) < 0.3) * 1.0}, days)
        shops = {name: (level + 50 * calendar.promo)[:100] for name, level in (("a", 100), ("b", 200))}
        groups = self.pandas.concat(shops, names=["shop"])
        fitted = Forecaster(members=["ar+known"]).fit(groups, X=calendar[:100])
        forecast = fitted.predict(7, calendar[100:])
        apart = Forecaster(members=["ar+known"]).fit(shops, X=calendar[:100]).predict(7, calendar[100:])
        for name in shops:
            numpy.testing.assert_array_equal(numpy.ravel(forecast.loc[name]), numpy.ravel(apart[name]))

    def test_dates_as_text_are_refused(self):
        y = self.pandas.Series(monthly(), self.pandas.date_range("2020-01-01", periods=72, freq="MS").strftime("%Y-%m-%d"))
        with self.assertRaisesRegex(DataError, "dates as text, such as '2020-01-01'"):
            Forecaster().fit(y)


if __name__ == "__main__":
    unittest.main()
