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

        fitted = UnfoldForecaster("gru:3", steps=5, threads=1).fit(self.y[:50], fh=[1, 3])
        found = fitted.predict()
        self.assertEqual(found.index.tolist(), self.index[[50, 52]].tolist())
        self.assertEqual(found.name, "wave")
        fitted.update(self.y[50:])
        self.assertEqual(fitted.predict().index[0], self.index[-1] + 1)
        numpy.testing.assert_array_equal(fitted.forecaster_.series_, self.y.to_numpy())
        frame = pandas.DataFrame({"a": self.y, "b": -self.y})
        both = UnfoldForecaster("gru:3", steps=5, threads=1).fit(frame).predict(fh=[2])
        self.assertEqual((both.columns.tolist(), both.shape), (["a", "b"], (1, 2)))

    def test_intervals_are_those_of_unfold_and_adapt_to_updates(self):
        import pandas

        from unfold.sktime import UnfoldForecaster

        fitted = UnfoldForecaster("gru:3", steps=5, threads=1, samples=20).fit(self.y[:30], fh=[1, 2])
        found = fitted.predict_interval(coverage=[0.8, 0.95])
        self.assertEqual(found.columns.tolist(), [("wave", c, side) for c in (0.8, 0.95) for side in ("lower", "upper")])
        low, high = fitted.forecaster_.predict_interval(2, samples=20, y=self.y[:30].to_numpy())
        numpy.testing.assert_array_equal(found["wave", 0.8].to_numpy(), numpy.array([low, high]).T)
        self.assertTrue((found["wave", 0.95, "upper"] > found["wave", 0.8, "upper"]).all())
        for t in range(30, 55):
            fitted.predict_interval(coverage=0.8)
            fitted.update(self.y[t:t + 1], update_params=False)
        fixed = fitted.forecaster_.predict_interval(2, samples=20, y=self.y[:55].to_numpy())
        self.assertFalse(numpy.array_equal(fitted.predict_interval(coverage=0.8).to_numpy(), numpy.array(fixed).T))
        both = UnfoldForecaster("gru:3", steps=5, threads=1).fit(pandas.DataFrame({"a": self.y, "b": -self.y}))
        self.assertEqual(both.predict_quantiles(fh=[2], alpha=[0.1, 0.5]).columns.tolist(),
                         [(name, alpha) for name in "ab" for alpha in (0.1, 0.5)])

    def test_forecaster_has_the_parameters_and_results_of_that_of_unfold(self):
        from unfold.estimators import Forecaster
        from unfold.sktime import UnfoldForecaster

        settings = {"steps": 5, "threads": 1, "random_state": 3}
        mine = UnfoldForecaster("gru:3", samples=9, **settings).fit(self.y).predict(fh=[1, 2, 3])
        theirs = Forecaster("gru:3", **settings).fit(self.y.to_numpy()).predict(3, samples=9)
        numpy.testing.assert_array_equal(mine.to_numpy(), theirs)

    @unittest.skipIf(importlib.util.find_spec("pytest") is None, "the checks of sktime need pytest")
    def test_checks_of_sktime_pass(self):
        from sktime.utils.estimator_checks import check_estimator

        from unfold.sktime import UnfoldForecaster

        tests = ["test_constructor", "test_valid_object_tags", "test_predict_time_index", "test_update_predict_single",
                 "test_random_tags", "test_fit_updates_state_and_cutoff", "test_clone", "test_save_estimators_to_file"]
        found = check_estimator(UnfoldForecaster, raise_exceptions=False, verbose=False, tests_to_run=tests)
        self.assertGreater(len(found), 20)
        self.assertEqual({name: result for name, result in found.items() if str(result) != "PASSED"}, {})


if __name__ == "__main__":
    unittest.main()
