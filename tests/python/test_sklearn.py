"""scikit-learn's own checks of estimators. Skipped if scikit-learn is not installed.

Every check runs. The checks that cannot pass are declared to scikit-learn as expected failures, with the reason.
"""

import importlib.util
import pickle
import unittest
import warnings

import numpy

from unfold.crf import CRF
from unfold.estimators import DensityEstimator, Forecaster, NetworkForecaster, SequenceClassifier, SequenceTagger, SymbolModel
from unfold.hmm import CategoricalHMM, GaussianHMM
from unfold.reservoir import ESN

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
        for estimator, reason in ((SequenceTagger(), TAGS), (Forecaster(), SERIES), (NetworkForecaster(), SERIES),
                                  (SymbolModel(), TEXTS),
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

    def test_grids_of_estimators_of_lists_of_labels(self):
        from sklearn.model_selection import GridSearchCV, cross_val_score

        X = [[{"word": word} for word in words.split()] for words in ("the cat", "a dog barks", "cats sleep")] * 4
        y = [["D", "N"], ["D", "N", "V"], ["N", "V"]] * 4
        grid = GridSearchCV(CRF(), {"c2": [0.1, 10]}, cv=3).fit(X, y)
        self.assertEqual(grid.best_params_, {"c2": 0.1})
        words = [[item["word"] for item in sequence] for sequence in X]
        tagger = SequenceTagger("gru:3", steps=3, threads=1, options={"batch": 4})
        self.assertEqual(cross_val_score(tagger, words, y, cv=3).shape, (3,))

    def test_unfitted_estimators_raise_the_error_of_scikit_learn(self):
        from sklearn.exceptions import NotFittedError

        for estimator in (SequenceClassifier(), DensityEstimator(), GaussianHMM(), CRF()):
            method = estimator.score_samples if isinstance(estimator, DensityEstimator) else estimator.predict
            with self.assertRaises(NotFittedError):
                method([[1.0]])


@unittest.skipIf(importlib.util.find_spec("sklearn") is None, "scikit-learn is not installed")
class MetadataRoutingTest(unittest.TestCase):
    def setUp(self):
        import sklearn

        previous = sklearn.get_config()["enable_metadata_routing"]
        self.addCleanup(sklearn.set_config, enable_metadata_routing=previous)
        sklearn.set_config(enable_metadata_routing=True)
        random = numpy.random.RandomState(0)
        self.X = random.randint(2, size=(48, 6)).astype(float)
        self.y = (self.X.sum(axis=1) > 3).astype(int)
        self.w = random.randint(1, 4, size=48).astype(float)

    def classifier(self):
        return SequenceClassifier("gru:2", steps=3, **SMALL)

    def test_cross_validation_passes_weights(self):
        from sklearn.model_selection import KFold, cross_validate

        model = self.classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(model, self.X, self.y, cv=KFold(3), params={"sample_weight": self.w},
                               return_estimator=True)
        for (train, test), fitted, score in zip(KFold(3).split(self.X), found["estimator"], found["test_score"]):
            own = self.classifier().fit(self.X[train], self.y[train], self.w[train])
            self.assertEqual(fitted.model_bytes_, own.model_bytes_)
            self.assertAlmostEqual(score, own.score(self.X[test], self.y[test], self.w[test]))

    def test_weights_that_are_not_passed_have_no_influence(self):
        from sklearn.model_selection import KFold, cross_validate

        model = self.classifier().set_fit_request(sample_weight=False).set_score_request(sample_weight="w")
        found = cross_validate(model, self.X, self.y, cv=KFold(3), params={"w": self.w}, return_estimator=True)
        train = next(KFold(3).split(self.X))[0]
        self.assertEqual(found["estimator"][0].model_bytes_,
                         self.classifier().fit(self.X[train], self.y[train]).model_bytes_)

    def test_unset_requests_raise_the_error_of_scikit_learn(self):
        from sklearn.exceptions import UnsetMetadataPassedError
        from sklearn.model_selection import cross_validate

        with self.assertRaisesRegex(UnsetMetadataPassedError, "sample_weight"):
            cross_validate(self.classifier(), self.X, self.y, params={"sample_weight": self.w})

    def test_grids_and_pipelines_pass_weights(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler

        model = self.classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        grid = GridSearchCV(model, {"class_weight": [None, "balanced"]}, cv=2)
        grid.fit(self.X, self.y, sample_weight=self.w)
        own = self.classifier().set_params(**grid.best_params_).fit(self.X, self.y, self.w)
        self.assertEqual(grid.best_estimator_.model_bytes_, own.model_bytes_)
        pipeline = make_pipeline(MinMaxScaler(), model).fit(self.X, self.y, sample_weight=self.w)
        self.assertEqual(pipeline[-1].model_bytes_, self.classifier().fit(self.X, self.y, self.w).model_bytes_)
        density = DensityEstimator("gaussian-mixture:1", threads=1).set_fit_request(sample_weight=True)
        searched = GridSearchCV(density.set_score_request(sample_weight=True), {"random_state": [1, 2]}, cv=2)
        self.assertIn(searched.fit(self.X, sample_weight=self.w).best_params_["random_state"], (1, 2))

    def test_every_estimator_lists_its_metadata(self):
        from sklearn.base import clone
        from sklearn.utils.metadata_routing import get_routing_for_object

        expected = {SequenceClassifier: {"fit": ["sample_weight"], "partial_fit": ["classes", "sample_weight"],
                                         "score": ["sample_weight"]},
                    DensityEstimator: {"fit": ["sample_weight"], "score": ["sample_weight"]},
                    CRF: {"fit": ["sample_weight"], "score": ["sample_weight"]},
                    GaussianHMM: {"fit": ["lengths", "sample_weight"], "score": ["lengths"]},
                    ESN: {"fit": ["sample_weight"], "score": ["sample_weight"]},
                    Forecaster: {"fit": ["fh"]}, NetworkForecaster: {}}
        for kind, methods in expected.items():
            with self.subTest(kind.__name__):
                routing = get_routing_for_object(kind())
                found = {method: sorted(getattr(routing, method).requests) for method in ("fit", "partial_fit", "score")}
                self.assertEqual({method: names for method, names in found.items() if names}, methods)
        model = pickle.loads(pickle.dumps(clone(CRF().set_fit_request(sample_weight="weight"))))
        self.assertEqual(model.get_metadata_routing().fit.requests, {"sample_weight": "weight"})

    def test_errors_describe_the_problem(self):
        import sklearn

        with self.assertRaisesRegex(ValueError, "SequenceClassifier.fit takes sample_weight, not weight"):
            self.classifier().set_fit_request(weight=True)
        with self.assertRaisesRegex(ValueError, "Forecaster.score takes no metadata"):
            Forecaster().set_score_request(sample_weight=True)
        sklearn.set_config(enable_metadata_routing=False)
        with self.assertRaisesRegex(RuntimeError, "enable_metadata_routing=True"):
            self.classifier().set_fit_request(sample_weight=True)


if __name__ == "__main__":
    unittest.main()
