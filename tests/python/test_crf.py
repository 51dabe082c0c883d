"""The conditional random field: gradients, agreement with CRFsuite, predictions; and the echo state network."""

import importlib.util
import itertools
import pickle
import random
import unittest

import numpy

from unfold._base import NotFittedError
from unfold.crf import CRF, _Attributes, _Fitting
from unfold.reservoir import ESN


def sequences(count, seed=1):
    source = random.Random(seed)
    words, labels = [f"w{i}" for i in range(12)], "ABC"
    X, y = [], []
    for _ in range(count):
        tags = [source.choice(labels)]
        while len(tags) < source.randint(2, 9):
            tags.append(source.choice("AB" if tags[-1] == "C" else labels))
        own = [source.choice(words[4 * labels.index(t):4 * labels.index(t) + 6]) for t in tags]
        X.append([{"word": w, "long": len(w) > 2, "bias": 1.0, "previous": own[i - 1] if i else "<s>",
                   "near": {"x": source.random()}} for i, w in enumerate(own)])
        y.append(tags)
    return X, y


class CRFTest(unittest.TestCase):
    def test_the_gradient_is_that_of_the_value(self):
        X, y = sequences(5)
        numbers = {}
        data = _Attributes(X, "fit", numbers, new=True)
        labels, classes = CRF._labels(y, data.lengths)
        fitting = _Fitting(data, labels, len(numbers), len(classes), CRF(c2=0.3, all_possible_transitions=True))
        x = numpy.random.RandomState(0).normal(size=len(fitting.empirical))
        gradient = fitting.value(x)[1]
        for i in range(0, len(x), 7):
            step = numpy.zeros_like(x)
            step[i] = 1e-5
            slope = (fitting.value(x + step)[0] - fitting.value(x - step)[0]) / 2e-5
            self.assertAlmostEqual(gradient[i], slope, places=5)

    def test_marginals_and_labels_are_those_of_all_paths(self):
        X, y = sequences(30)
        model = CRF(c2=0.1).fit(X, y)
        x = X[0][:3]
        weights, moves = model.state_features_, model.transition_features_
        from unfold.crf import features_of

        def score(path):
            total = sum(weights.get((name, label), 0) * value for item, label in zip(x, path)
                        for name, value in features_of(item))
            return total + sum(moves.get(pair, 0) for pair in zip(path, path[1:]))

        paths = {path: numpy.exp(score(path)) for path in itertools.product(model.classes_, repeat=3)}
        self.assertEqual(tuple(model.predict_single(x)), max(paths, key=paths.get))
        marginals = model.predict_marginals_single(x)
        for t, label in itertools.product(range(3), model.classes_):
            expected = sum(p for path, p in paths.items() if path[t] == label) / sum(paths.values())
            self.assertAlmostEqual(marginals[t][label], expected, places=9)

    def test_it_learns_and_can_be_pickled(self):
        X, y = sequences(60)
        model = pickle.loads(pickle.dumps(CRF(c1=0.05, c2=0.05).fit(X, y)))
        self.assertGreater(model.score(X, y), 0.8)
        self.assertEqual(model.predict([[{"word": "never seen"}]])[0][0] in model.classes_, True)

    @unittest.skipIf(importlib.util.find_spec("sklearn_crfsuite") is None, "sklearn-crfsuite is not installed")
    def test_the_weights_are_those_of_crfsuite(self):
        import sklearn_crfsuite

        X, y = sequences(60)
        for options in ({"c2": 0.1}, {"c2": 1.0}, {"c1": 0.3, "c2": 0.05},
                        {"c2": 0.2, "all_possible_transitions": True}, {"c2": 0.2, "all_possible_states": True}):
            with self.subTest(options):
                theirs = sklearn_crfsuite.CRF(max_iterations=3000, epsilon=1e-9, delta=1e-13, **options)
                theirs.fit(X, y)
                ours = CRF(max_iterations=3000, epsilon=1e-8, delta=1e-13, **options).fit(X, y)
                for name in ("state_features_", "transition_features_"):
                    a, b = getattr(ours, name), getattr(theirs, name)
                    for key in {*a, *b}:
                        self.assertAlmostEqual(a.get(key, 0), b.get(key, 0), delta=2e-3)
                self.assertEqual(ours.predict(X), [list(theirs.predict_single(x)) for x in X])

    def test_empty_sequences_change_nothing_and_have_no_labels(self):
        X, y = sequences(6)
        plain, fitted = CRF(c1=0.1).fit(X, y), CRF(c1=0.1).fit([[], X[0], [], *X[1:], []], [[], y[0], [], *y[1:], []])
        self.assertEqual(fitted.state_features_, plain.state_features_)
        self.assertEqual(fitted.transition_features_, plain.transition_features_)
        weights = [1, 2, 3, 4, 5, 6]
        numpy.testing.assert_array_equal(CRF().fit([[], *X], [[], *y], sample_weight=[9, *weights])._states,
                                         CRF().fit(X, y, sample_weight=weights)._states)
        self.assertEqual(fitted.predict([X[0], [], X[1]]), [plain.predict_single(X[0]), [], plain.predict_single(X[1])])
        self.assertEqual(fitted.predict_marginals([X[0], []]), [plain.predict_marginals_single(X[0]), []])
        self.assertEqual((fitted.predict([[], []]), fitted.predict_single([])), ([[], []], []))
        self.assertEqual(fitted.predict_marginals([[]]), [[]])
        self.assertEqual(fitted.score([[], *X], [[], *y]), plain.score(X, y))
        for call in (lambda: CRF().fit([[], []], [[], []]), lambda: fitted.score([[]], [[]])):
            with self.assertRaisesRegex(ValueError, "all sequences are empty"):
                call()

    def test_errors(self):
        X, y = sequences(3)
        with self.assertRaisesRegex(ValueError, "sequence 0 is a dict.*predict_single"):
            CRF().fit(X, y).predict(X[0])
        with self.assertRaisesRegex(ValueError, "must be a dict, such as .*, or a list of str, not str"):
            CRF().fit([["the", "cat"]], [["D", "N"]])
        with self.assertRaises(NotFittedError):
            CRF().predict(X)
        for wrong in (lambda: CRF().fit(X, y[:2]), lambda: CRF().fit([], []), lambda: CRF().fit([[]], [[]]),
                      lambda: CRF("l2sgd").fit(X, y), lambda: CRF(c1=-1).fit(X, y), lambda: CRF().fit([["a"]], [["x"]]),
                      lambda: CRF().fit([[{"a": float("nan")}]], [["x"]]), lambda: CRF().fit(X, None)):
            with self.assertRaises(ValueError):
                wrong()


class ESNTest(unittest.TestCase):
    def test_it_follows_a_system(self):
        source = numpy.random.RandomState(0)
        u = source.uniform(0, 0.5, size=1500)
        y = numpy.zeros(1500)
        for t in range(10, 1500):
            y[t] = 0.3 * y[t - 1] + 0.05 * y[t - 1] * y[t - 10:t].sum() + 1.5 * u[t - 10] * u[t - 1] + 0.1
        model = ESN(150, washout=100, random_state=1, threads=1).fit(u[:1200], y[:1200])
        self.assertGreater(model.score(u[1200:], y[1200:]), 0.3)
        again = ESN(150, washout=100, random_state=1, threads=1).fit(u[:1200], y[:1200])
        numpy.testing.assert_array_equal(again.predict(u), model.predict(u))
        numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(u), model.predict(u))

    def test_the_form_of_the_input_is_that_of_the_output(self):
        X = numpy.random.RandomState(0).normal(size=(6, 30, 2))
        model = ESN(20, threads=1).fit(X, X.sum(axis=2, keepdims=True))
        self.assertEqual(model.predict(X).shape, (6, 30))
        self.assertEqual([len(one) for one in model.predict([X[0], X[1][:10]])], [30, 10])
        self.assertEqual(ESN(20, threads=1).fit(X, X).predict(X).shape, X.shape)
        self.assertEqual(ESN(20).get_params()["units"], 20)
        with self.assertRaisesRegex(ValueError, "expecting 2"):
            model.predict(X[:, :, :1])


if __name__ == "__main__":
    unittest.main()
