"""The forecaster for sktime. Skipped if sktime is not installed."""

import importlib.util
import unittest
import warnings

import numpy


@unittest.skipIf(importlib.util.find_spec("sktime") is None, "sktime is not installed")
class SktimeTest(unittest.TestCase):
    def setUp(self):
        import pandas

        warnings.simplefilter("ignore")
        self.index = pandas.period_range("2015-01", periods=60, freq="M")
        self.y = pandas.Series(numpy.sin(numpy.arange(60) / 2), self.index, name="wave")

    def test_example_runs(self):
        import doctest

        import unfold.sktime

        failed, count = doctest.testmod(unfold.sktime)
        self.assertEqual(failed, 0)
        self.assertGreater(count, 3)

    def test_forecasts_have_the_index_of_the_horizon(self):
        import pandas

        from unfold.sktime import UnfoldForecaster

        fitted = UnfoldForecaster(threads=1).fit(self.y[:50], fh=[1, 3])
        found = fitted.predict()
        self.assertEqual(found.index.tolist(), self.index[[50, 52]].tolist())
        self.assertEqual(found.name, "wave")
        fitted.update(self.y[50:])
        self.assertEqual(fitted.predict().index[0], self.index[-1] + 1)
        frame = pandas.DataFrame({"a": self.y, "b": -self.y})
        both = UnfoldForecaster(threads=1).fit(frame).predict(fh=[2])
        self.assertEqual((both.columns.tolist(), both.shape), (["a", "b"], (1, 2)))

    def test_intervals_are_those_of_unfold(self):
        import pandas

        from unfold.sktime import UnfoldForecaster

        fitted = UnfoldForecaster(["ets", "mean"], threads=1).fit(self.y[:30], fh=[1, 2])
        found = fitted.predict_interval(coverage=[0.8, 0.95])
        self.assertEqual(found.columns.tolist(), [("wave", c, side) for c in (0.8, 0.95) for side in ("lower", "upper")])
        low, high = fitted.forecaster_.predict_interval(2)
        numpy.testing.assert_array_equal(found["wave", 0.8].to_numpy(), numpy.array([low, high]).T)
        self.assertTrue((found["wave", 0.95, "upper"] > found["wave", 0.8, "upper"]).all())
        both = UnfoldForecaster(["mean"], threads=1).fit(pandas.DataFrame({"a": self.y, "b": -self.y}))
        self.assertEqual(both.predict_quantiles(fh=[2], alpha=[0.1, 0.5]).columns.tolist(),
                         [(name, alpha) for name in "ab" for alpha in (0.1, 0.5)])

    def test_forecasts_and_covariates_are_those_of_unfold(self):
        import pandas

        from unfold.estimators import Forecaster
        from unfold.sktime import UnfoldForecaster

        known = pandas.DataFrame({"x": numpy.cos(numpy.arange(60) / 3)}, self.index)
        mine = UnfoldForecaster(threads=1).fit(self.y[:50], X=known[:50]).predict(fh=[1, 2, 3], X=known[50:53])
        theirs = Forecaster(threads=1).fit(self.y[:50], known[:50]).predict(3, known[50:53])
        pandas.testing.assert_series_equal(mine, theirs, check_freq=False)

    @unittest.skipIf(importlib.util.find_spec("pytest") is None, "the checks of sktime need pytest")
    def test_checks_of_sktime_pass(self):
        from sktime.utils.estimator_checks import check_estimator

        from unfold.sktime import UnfoldForecaster

        tests = ["test_constructor", "test_valid_object_tags", "test_predict_time_index", "test_update_predict_single",
                 "test_random_tags", "test_fit_updates_state_and_cutoff", "test_clone", "test_save_estimators_to_file",
                 "test_predict_interval", "test_predict_quantiles", "test_pred_int_tag"]
        found = check_estimator(UnfoldForecaster, raise_exceptions=False, verbose=False, tests_to_run=tests)
        self.assertGreater(len(found), 20)
        self.assertEqual({name: result for name, result in found.items() if str(result) != "PASSED"}, {})


if __name__ == "__main__":
    unittest.main()
