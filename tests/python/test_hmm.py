"""Hidden Markov models: known answers, agreement with hmmlearn from the same start, missing values, constraints."""

import importlib.util
import itertools
import logging
import pickle
import unittest
import warnings

import numpy

import unfold.hmm
from unfold._base import NotFittedError
from unfold.errors import UsageError
from unfold.hmm import GMMHMM, CategoricalHMM, GaussianHMM

START = numpy.array([0.5, 0.3, 0.2])
MOVES = numpy.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])


def observations(seed=3, n=2):
    random = numpy.random.RandomState(seed)
    return numpy.concatenate([random.normal(size=(60, n)), random.normal(3, 2, size=(80, n)),
                              random.normal(-2, 0.5, size=(40, n))])


def started(kind, **arguments):
    model = kind(3, init_params="", **arguments)
    model.startprob_, model.transmat_ = START.copy(), MOVES.copy()
    return model


class WeatherTest(unittest.TestCase):
    """The textbook example, computed by summing over all paths."""

    def setUp(self):
        self.model = CategoricalHMM(2, init_params="")
        self.model.startprob_, self.model.transmat_ = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]]
        self.model.emissionprob_ = [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
        self.X = numpy.array([[0], [1], [2], [0]])

    def paths(self):
        start, moves, emissions = (numpy.array(x) for x in ([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]],
                                                            [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]))
        for path in itertools.product(range(2), repeat=len(self.X)):
            p = start[path[0]]
            for t, state in enumerate(path):
                p *= emissions[state, self.X[t, 0]] * (moves[path[t - 1], state] if t else 1)
            yield path, p

    def test_score_posteriors_and_path(self):
        paths = dict(self.paths())
        total = sum(paths.values())
        self.assertAlmostEqual(self.model.score(self.X), numpy.log(total), places=12)
        posteriors = [[sum(p for path, p in paths.items() if path[t] == s) / total for s in range(2)]
                      for t in range(len(self.X))]
        numpy.testing.assert_allclose(self.model.predict_proba(self.X), posteriors, atol=1e-12)
        best = max(paths, key=paths.get)
        probability, path = self.model.decode(self.X)
        self.assertEqual(tuple(path), best)
        self.assertAlmostEqual(probability, numpy.log(paths[best]), places=12)

    def test_missing_symbols_are_summed_over(self):
        holes = self.X.astype(float)
        holes[1] = numpy.nan
        total = 0
        for symbol in range(3):
            self.X[1] = symbol
            total += sum(p for _, p in self.paths())
        self.assertAlmostEqual(self.model.score(holes), numpy.log(total), places=12)

    def test_several_sequences(self):
        twice = numpy.concatenate([self.X, self.X])
        self.assertAlmostEqual(self.model.score(twice, [4, 4]), 2 * self.model.score(self.X), places=12)
        with self.assertRaisesRegex(ValueError, "lengths"):
            self.model.score(twice, [4, 3])


@unittest.skipIf(importlib.util.find_spec("hmmlearn") is None, "hmmlearn is not installed")
class AgreementTest(unittest.TestCase):
    """From the same start, parameters, scores and paths are those of hmmlearn."""

    def setUp(self):
        logging.disable(logging.WARNING)
        self.addCleanup(logging.disable, logging.NOTSET)
        warnings.simplefilter("ignore")

    def agree(self, theirs, ours, names, X, lengths=None):
        theirs.fit(X, lengths)
        ours.fit(X, lengths)
        for name in names:
            numpy.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6)
        numpy.testing.assert_allclose(ours.monitor_.history, list(theirs.monitor_.history), rtol=1e-9)
        self.assertAlmostEqual(ours.score(X, lengths), theirs.score(X, lengths), places=6)
        numpy.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), atol=1e-6)
        for algorithm in ("viterbi", "map"):
            a, b = ours.decode(X, lengths, algorithm), theirs.decode(X, lengths, algorithm)
            self.assertAlmostEqual(a[0], b[0], places=6)
            numpy.testing.assert_array_equal(a[1], b[1])

    def test_gaussian(self):
        from hmmlearn import hmm

        X, n = observations(), 2
        covariances = {"spherical": numpy.array([1, 2, 0.5]), "diag": numpy.array([[1, 1], [2, 2], [0.5, 0.5]]),
                       "tied": numpy.eye(n), "full": numpy.array([numpy.eye(n)] * 3)}
        for kind, lengths, prior in itertools.product(covariances, (None, [60, 80, 40]), (1.0, 2.0)):
            with self.subTest(kind, lengths=lengths, prior=prior):
                arguments = {"covariance_type": kind, "n_iter": 12, "tol": 1e-3, "startprob_prior": prior,
                             "transmat_prior": prior}
                models = [started(k, **arguments) for k in (hmm.GaussianHMM, GaussianHMM)]
                for model in models:
                    model.n_features = n
                    model.means_ = numpy.array([[0, 0.0], [2, 2], [-1, -1]])
                    model.covars_ = covariances[kind]
                names = ["startprob_", "transmat_", "means_"]
                if kind == "spherical":
                    models[0]._covars_ = numpy.tile(covariances[kind][:, None], (1, n))
                    self.agree(*models, names, X, lengths)
                    numpy.testing.assert_allclose(models[1]._covars_, models[0]._covars_[:, 0], rtol=1e-6)
                    continue
                self.agree(*models, [*names, "covars_"], X, lengths)
                self.assertAlmostEqual(models[1].aic(X, lengths), models[0].aic(X, lengths), places=5)
                self.assertAlmostEqual(models[1].bic(X, lengths), models[0].bic(X, lengths), places=5)
                a, b = (model.sample(30, random_state=5) for model in models)
                numpy.testing.assert_allclose(a[0], b[0], rtol=1e-5, atol=1e-5)
                numpy.testing.assert_array_equal(a[1], b[1])

    def test_parts_of_the_parameters(self):
        from hmmlearn import hmm

        X = observations()
        for params in ("st", "mc", "m", "s", "t", "stm"):
            with self.subTest(params):
                models = [started(k, covariance_type="full", params=params) for k in (hmm.GaussianHMM, GaussianHMM)]
                for model in models:
                    model.n_features = 2
                    model.means_ = numpy.array([[0, 0.0], [2, 2], [-1, -1]])
                    model.covars_ = numpy.array([numpy.eye(2)] * 3)
                self.agree(*models, ["startprob_", "transmat_", "means_", "covars_"], X)

    def test_categorical(self):
        from hmmlearn import hmm

        X = numpy.random.RandomState(1).randint(4, size=(200, 1))
        for prior in (1.0, 2.5):
            models = [started(k, n_iter=15, tol=1e-4, emissionprob_prior=prior)
                      for k in (hmm.CategoricalHMM, CategoricalHMM)]
            for model in models:
                model.n_features = 4
                model.emissionprob_ = numpy.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25] * 4])
            self.agree(*models, ["startprob_", "transmat_", "emissionprob_"], X, [150, 50])
            a, b = (model.sample(30, random_state=5) for model in models)
            numpy.testing.assert_array_equal(a[0], b[0])

    def test_mixtures(self):
        from hmmlearn import hmm

        X, n = observations(), 2
        means = numpy.random.RandomState(2).normal(size=(3, 2, n))
        covariances = {"spherical": numpy.ones((3, 2)), "diag": numpy.ones((3, 2, n)),
                       "tied": numpy.array([numpy.eye(n)] * 3), "full": numpy.array([[numpy.eye(n)] * 2] * 3)}
        for kind in covariances:
            with self.subTest(kind):
                models = [started(k, covariance_type=kind, n_mix=2, n_iter=8, tol=1e-4)
                          for k in (hmm.GMMHMM, GMMHMM)]
                for model in models:
                    model.n_features = n
                    model.means_, model.covars_ = means.copy(), covariances[kind].copy()
                    model.weights_ = numpy.full((3, 2), 0.5)
                self.agree(*models, ["startprob_", "transmat_", "means_", "covars_", "weights_"], X, [100, 80])


@unittest.skipIf(importlib.util.find_spec("pandas") is None, "pandas is not installed")
class ColumnNamesTest(unittest.TestCase):
    """The columns of a table are those of fit, in the same order."""

    def test_other_columns_are_refused(self):
        import pandas
        rows = numpy.random.default_rng(0).normal(size=(60, 2)) * [1, 20]
        table = pandas.DataFrame(rows, columns=["speed", "load"])
        model = GaussianHMM(2, random_state=0, n_iter=3).fit(table)
        self.assertEqual(list(model.feature_names_in_), ["speed", "load"])
        self.assertEqual(model.score(table), model.score(rows))
        for call in (model.score, model.predict, model.predict_proba, model.bic):
            with self.assertRaisesRegex(UsageError, "Feature names must be in the same order as they were in fit"):
                call(table[["load", "speed"]])
        with self.assertRaisesRegex(UsageError, "- weight\n(.*\n)*- load"):
            model.score(table.rename(columns={"load": "weight"}))
        self.assertFalse(hasattr(model.fit(rows), "feature_names_in_"))


class FitTest(unittest.TestCase):
    def test_states_are_found_with_missing_values(self):
        X = observations()
        X[numpy.random.RandomState(0).rand(*X.shape) < 0.2] = numpy.nan
        for kind in ("spherical", "diag", "full", "tied"):
            model = GaussianHMM(3, kind, n_iter=50, random_state=0).fit(X)
            truth = numpy.repeat([0, 1, 2], [60, 80, 40])
            found = model.predict(X)
            right = sum(max((found[truth == s] == k).sum() for k in range(3)) for s in range(3))
            self.assertGreater(right, 150)

    def test_mixtures_find_states_with_missing_values(self):
        X = observations()
        X[numpy.random.RandomState(0).rand(*X.shape) < 0.2] = numpy.nan
        truth = numpy.repeat([0, 1, 2], [60, 80, 40])
        for kind in ("spherical", "diag", "full", "tied"):
            found = GMMHMM(3, 2, covariance_type=kind, n_iter=50, random_state=0).fit(X).predict(X)
            right = sum(max((found[truth == s] == k).sum() for k in range(3)) for s in range(3))
            self.assertGreater(right, 150, kind)

    def test_an_iteration_of_mixtures_takes_conditional_expectations_of_missing_values(self):
        X = observations(n=3)[40:100]
        X[numpy.random.RandomState(0).rand(*X.shape) < 0.3] = numpy.nan
        for kind in ("spherical", "diag", "full", "tied"):
            model = started(GMMHMM, n_mix=2, covariance_type=kind, n_iter=1)
            random = numpy.random.RandomState(2)
            model.weights_, model.means_ = numpy.array([[0.3, 0.7]] * 3), random.normal(size=(3, 2, 3))
            matrix = numpy.array([[2, 0.5, 0.1], [0.5, 1, -0.3], [0.1, -0.3, 1.5]])
            full = {"full": matrix, "tied": matrix, "diag": numpy.diag(numpy.diag(matrix)), "spherical": 1.5 * numpy.eye(3)}
            model.covars_ = {"full": numpy.tile(matrix, (3, 2, 1, 1)), "tied": numpy.tile(matrix, (3, 1, 1)),
                             "diag": numpy.tile(numpy.diag(matrix), (3, 2, 1)),
                             "spherical": numpy.full((3, 2), 1.5)}[kind]
            S, old = full[kind], model.means_.copy()
            posteriors = model.predict_proba(X)
            sums, squares, counts = numpy.zeros((3, 2, 3)), numpy.zeros((3, 2, 3, 3)), numpy.zeros((3, 2))
            for x, p in zip(X, posteriors):
                known, hidden = ~numpy.isnan(x), numpy.isnan(x)
                for s in range(3):
                    d = x[known] - old[s][:, known]
                    inverse = numpy.linalg.inv(S[numpy.ix_(known, known)])
                    densities = model.weights_[s] * numpy.exp(-0.5 * numpy.einsum("ci,ij,cj->c", d, inverse, d))
                    for c, share in enumerate(p[s] * densities / densities.sum()):
                        gain = S[numpy.ix_(hidden, known)] @ inverse
                        y, rest = x.copy(), numpy.zeros((3, 3))
                        y[hidden] = old[s, c][hidden] + gain @ d[c]
                        rest[numpy.ix_(hidden, hidden)] = S[numpy.ix_(hidden, hidden)] - gain @ S[numpy.ix_(known, hidden)]
                        counts[s, c] += share
                        sums[s, c] += share * y
                        squares[s, c] += share * (numpy.outer(y - old[s, c], y - old[s, c]) + rest)
            model.fit(X)
            numpy.testing.assert_allclose(model.means_, sums / counts[..., None], rtol=1e-9)
            complete = {"full": squares / counts[..., None, None],
                        "tied": squares.sum(axis=1) / counts.sum(axis=1)[:, None, None],
                        "diag": numpy.einsum("scii->sci", squares) / counts[..., None],
                        "spherical": numpy.einsum("scii->sc", squares) / (3 * (counts + 1) - 2)}[kind]  # of hmmlearn
            numpy.testing.assert_allclose(model.covars_, complete, rtol=1e-9, err_msg=kind)

    def test_the_likelihood_of_missing_values_is_an_integral(self):
        model = started(GaussianHMM, covariance_type="full")
        model.means_, model.covars_ = numpy.array([[0, 1.0], [2, 2], [-1, 0]]), numpy.array([[[2, 0.5], [0.5, 1]]] * 3)
        X = observations()[:5]
        X[2, 1] = numpy.nan
        grid = numpy.linspace(-30, 30, 601)
        total = 0.0
        for value in grid:
            Y = X.copy()
            Y[2, 1] = value
            total += numpy.exp(model.score(Y))
        self.assertAlmostEqual(model.score(X), numpy.log(total * (grid[1] - grid[0])), places=6)

    def test_a_start_that_collapses_is_left_out(self):
        X = observations()
        X[numpy.random.RandomState(0).rand(*X.shape) < 0.2] = numpy.nan
        with self.assertRaisesRegex(ValueError, "positive definite"):
            GMMHMM(3, 2, covariance_type="full", n_iter=50, random_state=3, n_init=1).fit(X)
        fitted = GMMHMM(3, 2, covariance_type="full", n_iter=50, random_state=3, n_init=3).fit(X)
        self.assertTrue(numpy.isfinite(fitted.score(X)))
        with self.assertRaisesRegex(ValueError, "column 1 .* NaN"):
            GMMHMM(2).fit(numpy.column_stack([X[:, 0], numpy.full(len(X), numpy.nan)]))

    def test_the_likelihood_never_falls(self):
        X = observations()
        for model in (GaussianHMM(3, "full", covars_prior=0, n_iter=30, tol=1e-9, random_state=1, n_init=2),
                      CategoricalHMM(3, n_iter=30, tol=1e-9, random_state=1)):
            data = X if isinstance(model, GaussianHMM) else (X[:, :1] > 0).astype(int)
            self.assertGreater(numpy.diff(model.fit(data).monitor_.history).min(), -1e-9)

    def test_transitions_can_be_restricted(self):
        allowed = numpy.triu(numpy.ones((3, 3), dtype=bool))
        model = GaussianHMM(3, random_state=1, allowed_transitions=allowed).fit(observations())
        self.assertTrue((model.transmat_[~allowed] == 0).all())
        numpy.testing.assert_allclose(model.transmat_.sum(axis=1), 1)

    def test_more_starts_are_not_worse(self):
        X = observations()
        one, many = (GaussianHMM(3, random_state=4, n_init=n, n_iter=30).fit(X).score(X) for n in (1, 8))
        self.assertGreaterEqual(many, one - 1e-9)

    def test_they_are_reproducible_and_can_be_pickled(self):
        X = observations()
        a, b = (GMMHMM(2, n_mix=2, random_state=3).fit(X) for _ in range(2))
        numpy.testing.assert_array_equal(a.means_, b.means_)
        self.assertEqual(pickle.loads(pickle.dumps(a)).score(X), a.score(X))
        self.assertEqual(GaussianHMM(3, tol=0.5).get_params()["tol"], 0.5)
        self.assertEqual(repr(GaussianHMM(3)), "GaussianHMM(n_components=3)")
        self.assertIn("<table>", a._repr_html_())

    def test_parameters_that_are_not_set_are_initialized(self):
        X = observations()
        for model, data in ((GaussianHMM(2, init_params="", random_state=0), X),
                            (GMMHMM(2, 2, init_params="", random_state=0), X),
                            (CategoricalHMM(2, init_params="", random_state=0), (X[:, :1] > 0).astype(int))):
            expected = type(model)(**{**model.get_params(), "init_params": "stmcew"}).fit(data)
            numpy.testing.assert_array_equal(model.fit(data).transmat_, expected.transmat_)
            again = type(model)(**{**model.get_params(), "params": ""})
            again.startprob_ = numpy.array([0.25, 0.75])
            self.assertEqual(again.fit(data).startprob_.tolist(), [0.25, 0.75])

    def test_the_advice_for_texts_numbers_their_characters(self):
        for text in ("abba" * 20, b"abba" * 20):
            names, symbols = numpy.unique(list(text), return_inverse=True)
            model = CategoricalHMM(2, random_state=0).fit(symbols.reshape(-1, 1))
            self.assertEqual((len(names), model.emissionprob_.shape), (2, (2, 2)))
        X = ["abba", "ab", "c"]
        names, symbols = numpy.unique(list("".join(X)), return_inverse=True)
        model = CategoricalHMM(2, random_state=0).fit(symbols.reshape(-1, 1), lengths=[len(text) for text in X])
        self.assertEqual(model.emissionprob_.shape, (2, 3))
        names, symbols = numpy.unique([["walk"], ["shop"], ["walk"]], return_inverse=True)
        self.assertEqual(CategoricalHMM(1).fit(symbols.reshape(-1, 1)).n_features, 2)

    def test_errors(self):
        X = observations()
        for unset in (GaussianHMM(2), started(GMMHMM), started(CategoricalHMM)):
            with self.assertRaises(NotFittedError):
                unset.predict(X)
        for lengths, what in (([90, 0, 90], "the length of sequence 1 is 0"), ([90, 80], "sum to .*180, not 170")):
            with self.assertRaisesRegex(ValueError, what):
                GaussianHMM(2).fit(X, lengths)
        fitted = GaussianHMM(2, random_state=0).fit(X)
        for state in (2, -1):
            with self.assertRaisesRegex(ValueError, f"currstate must be a state from 0 to 1, not {state}"):
                fitted.sample(3, currstate=state)
        self.assertEqual(fitted.sample(3, currstate=1)[1][0], 1)
        for model, data, what in (
                (GaussianHMM(0), X, "n_components must be at least 1, not 0"), (GMMHMM(-1), X, "n_components"),
                (CategoricalHMM(0), [[0], [1]], "n_components"), (GaussianHMM(2), X * 1e200, r"values beyond 1e\+150"),
                (GaussianHMM(2), X[:, 0], "shape"), (GaussianHMM(2), X * numpy.inf, "infinity"),
                (GMMHMM(2), X * numpy.nan, "NaN"), (CategoricalHMM(2), X, "symbols"),
                (CategoricalHMM(2), [[-1]], "symbols"), (GaussianHMM(2, "round"), X, "covariance_type"),
                (GaussianHMM(300), X, "too few"), (GaussianHMM(2, n_init=0), X, "n_init"),
                (GaussianHMM(2), [X, X], r"numpy.concatenate\(X\), and lengths="),
                (CategoricalHMM(2), [["walk"], ["shop"]], "each string is a symbol: .* = numpy.unique"),
                (CategoricalHMM(2), ["1", "0"], "not strings"), (CategoricalHMM(2), ["abba", "ab"], "lengths="),
                (CategoricalHMM(2), numpy.array([["1"], ["0"]]), "not strings"),
                (CategoricalHMM(2), "abba", r"numpy.unique\(list\(text\)"),
                (CategoricalHMM(2), b"abba", r"numpy.unique\(list\(text\)")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                model.fit(data)
            self.assertFalse(hasattr(model, "transmat_"))
        with self.assertRaisesRegex(AttributeError, "unfold.hmm has no PoissonHMM; use GaussianHMM"):
            unfold.hmm.PoissonHMM  # noqa: B018
        wrong = started(GaussianHMM)
        wrong.startprob_ = [0.5, 0.5, 0.5]
        wrong.means_ = numpy.zeros((3, 2))
        with self.assertRaisesRegex(ValueError, "startprob_"):
            wrong.fit(X)
        with self.assertRaisesRegex(ValueError, "positive definite"):
            GaussianHMM(2).covars_ = [[-1.0], [1]]


if __name__ == "__main__":
    unittest.main()
