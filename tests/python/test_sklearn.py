"""scikit-learn's own checks of estimators that apply to sequences. Skipped if scikit-learn is not installed.

The data of these estimators are sequences: lists of texts, words or vectors, of any lengths. Most of the checks call
``fit`` with a matrix of numbers and compare results for its rows and columns; they do not apply: everything named
check_*_array*, check_*_dtype*, check_n_features*, check_feature_names*, check_*_sparse*, check_*_nan_inf,
check_fit2d_*, check_methods_*_invariance, check_classifiers_*, check_regressors_*, check_dict_unchanged,
check_dont_overwrite_attributes, check_fit_score_takes_y, check_estimators_pickle and the like. test_estimators.py tests
the same properties on sequences: identical results for the same seed and for any grouping of rows, pickles, classes_,
sums of probabilities, errors before fit.
"""

import importlib.util
import unittest

from unfold.estimators import DensityEstimator, Forecaster, SequenceClassifier, SequenceTagger, SymbolModel

CHECKS = [
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
]


@unittest.skipIf(importlib.util.find_spec("sklearn") is None, "scikit-learn is not installed")
class ScikitLearnTest(unittest.TestCase):
    estimators = [SequenceClassifier, SequenceTagger, Forecaster, DensityEstimator, SymbolModel]

    def test_applicable_scikit_learn_checks_pass(self):
        from sklearn.utils import estimator_checks

        run = 0
        for estimator in self.estimators:
            for name in CHECKS:
                if hasattr(estimator_checks, name):
                    with self.subTest(estimator.__name__, check=name):
                        getattr(estimator_checks, name)(estimator.__name__, estimator())
                        run += 1
        self.assertGreaterEqual(run, 6 * len(self.estimators))

    def test_cloning_and_grid_search_work(self):
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


if __name__ == "__main__":
    unittest.main()
