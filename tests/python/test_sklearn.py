"""scikit-learn's own checks of estimators. Skipped if scikit-learn is not installed.

Every check runs. The checks that cannot pass are declared to scikit-learn as expected failures, with the reason.
"""

import importlib.util
import unittest
import warnings

from unfold.crf import CRF
from unfold.estimators import DensityEstimator, Forecaster, SequenceClassifier, SequenceTagger, SymbolModel
from unfold.hmm import CategoricalHMM, GaussianHMM

SMALL = {"threads": 1, "options": {"batch": 16}}

TIME = "the second axis is time: sequences may have any length, and the number of values per position is 1"
SERIES = "fit takes one series, and predict takes the number of values"
TAGS = "fit takes a list of labels for each sequence"
TEXTS = "the data is text"
SYMBOLS = "the data is one column of symbols 0, 1, 2, ..."
SECOND = "the second argument of fit is the lengths of the sequences, as in hmmlearn"
FEATURES = "a position is a dictionary of features, as in sklearn-crfsuite"

CLASSIFIER = {
    "check_n_features_in": TIME,
    "check_n_features_in_after_fitting": TIME,
    "check_classifiers_train": TIME,  # its last step predicts from arrays with more columns
    "check_estimators_partial_fit_n_features": TIME,
    "check_sample_weight_equivalence_on_dense_data": "batches and the validation part depend on the number of sequences",
}

#: Checks that do not call fit; all others expect another form of data.
WITHOUT_DATA = [
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_mixin_order",
]


def small_classifier():
    return SequenceClassifier("gru:8", optimizer="adam:rate=0.03", steps=80, **SMALL)


@unittest.skipIf(importlib.util.find_spec("sklearn") is None, "scikit-learn is not installed")
class ScikitLearnTest(unittest.TestCase):
    def check(self, estimator, expected):
        """Runs all checks; those in `expected` may fail, all others must pass."""
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
        failed = [f"{one['check_name']}: {one['exception']!r}"[:500] for one in found if one["status"] == "failed"]
        self.assertEqual(failed, [])
        return [one["check_name"] for one in found if one["status"] == "passed"]

    def without_data(self, estimator, reason):
        """Runs the checks that do not call fit; `reason` is why the others expect another form of data."""
        from sklearn.utils import estimator_checks

        self.assertTrue(reason)
        for name in WITHOUT_DATA:
            if hasattr(estimator_checks, name):
                with self.subTest(type(estimator).__name__, check=name):
                    getattr(estimator_checks, name)(type(estimator).__name__, estimator)

    def test_classifier(self):
        self.assertGreater(len(self.check(small_classifier(), CLASSIFIER)), 40)

    def test_density_estimator(self):
        self.assertGreater(len(self.check(DensityEstimator("rnade:4", steps=5, threads=1), {})), 30)

    def test_estimators_of_other_data(self):
        for estimator, reason in ((SequenceTagger(), TAGS), (Forecaster(), SERIES), (SymbolModel(), TEXTS),
                                  (CRF(), FEATURES), (CategoricalHMM(), SYMBOLS), (GaussianHMM(), SECOND)):
            self.without_data(estimator, reason)

    def test_clones_and_grids(self):
        from sklearn.base import clone, is_classifier
        from sklearn.model_selection import GridSearchCV

        self.assertTrue(is_classifier(SequenceClassifier()))
        words = [["a", "b"], ["b", "b", "b"], ["a", "a"], ["b", "a", "b"]] * 10
        labels = ["x", "y", "x", "y"] * 10
        plain = SequenceClassifier("bilstm:4", steps=5, threads=1, options={"batch": 4})
        self.assertEqual(clone(plain).get_params(), plain.get_params())
        grid = GridSearchCV(plain, {"steps": [2, 40]}, cv=2).fit(words, labels)
        self.assertIn(grid.best_params_["steps"], [2, 40])
        self.assertEqual(len(grid.predict(words)), len(words))

    def test_unfitted_estimators_raise_the_error_of_scikit_learn(self):
        from sklearn.exceptions import NotFittedError

        for estimator in (SequenceClassifier(), DensityEstimator(), GaussianHMM(), CRF()):
            method = estimator.score_samples if isinstance(estimator, DensityEstimator) else estimator.predict
            with self.assertRaises(NotFittedError):
                method([[1.0]])


if __name__ == "__main__":
    unittest.main()
