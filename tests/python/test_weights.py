"""Weights of sequences and classes, and training that continues from a fitted model."""

import importlib.util
import pickle
import unittest

import numpy

import unfold
from unfold.crf import CRF
from unfold.estimators import DensityEstimator, NetworkForecaster, SequenceClassifier, SequenceTagger, SymbolModel
from unfold.hmm import GMMHMM, CategoricalHMM, GaussianHMM
from unfold.reservoir import ESN

WHOLE = {"batch": 1000, "split": "100/0/0"}  # every step reads all sequences


def bits(count=24, seed=0):
    """Returns sequences of bits, which are not standardized, and labels that depend on them."""
    rng = numpy.random.RandomState(seed)
    X = rng.randint(2, size=(count, 9)).astype(float)
    return X, numpy.where(X.sum(axis=1) + rng.normal(size=count) > 4.5, "many", "few")


def parameters(fitted):
    return fitted.model_.parameters()


def imbalanced(count, seed):
    """Returns noisy series of which a tenth belong to class 1."""
    rng = numpy.random.RandomState(seed)
    y = (numpy.arange(count) % 10 == 0).astype(int)
    return rng.normal(size=(count, 12)) + 0.35 * y[:, None], y


class SampleWeightTest(unittest.TestCase):
    def assert_near(self, a, b, tolerance):
        for name, array in parameters(a).items():
            numpy.testing.assert_allclose(array, parameters(b)[name], atol=tolerance, err_msg=name)

    def test_weights_of_a_network_equal_repetitions(self):
        X, y = bits()
        weights = numpy.arange(len(X)) % 3 + 1
        for optimizer in ("sgd:rate=0.5", "lbfgs"):
            with self.subTest(optimizer):
                def fit(X, y, weights=None):
                    model = SequenceClassifier("gru:3", optimizer=optimizer, steps=6, threads=1,
                                               options={**WHOLE, "precision": "double"})
                    return model.fit(X, y, sample_weight=weights)

                weighted = fit(X, y, weights)
                repeated = fit(numpy.repeat(X, weights, axis=0), numpy.repeat(y, weights))
                self.assert_near(weighted, repeated, 1e-4 if optimizer == "lbfgs" else 1e-9)
                self.assertGreater(numpy.abs(parameters(weighted)["layer1/g/W"]
                                             - parameters(fit(X, y))["layer1/g/W"]).max(), 1e-4)

    def test_weights_of_the_rows_of_a_table_equal_repetitions(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        rng = numpy.random.RandomState(3)
        X = pandas.DataFrame({"on": rng.randint(2, size=30).astype(float), "kind": rng.choice(["a", "b", "c"], 30)})
        y = numpy.where((X["on"] == 1) ^ (X["kind"] == "a"), "many", "few")
        weights = numpy.arange(len(X)) % 3 + 1

        def fit(X, y, weights=None):
            # Stochastic optimizers replace rare categories with <unk> at random, separately for each row.
            model = SequenceClassifier("gru:3", optimizer="lbfgs", steps=6, threads=1,
                                       options={**WHOLE, "precision": "double"})
            return model.fit(X, y, sample_weight=weights)

        weighted, rows = fit(X, y, weights), numpy.repeat(numpy.arange(len(X)), weights)
        self.assertEqual(weighted.rows_, "independent")
        self.assert_near(weighted, fit(X.iloc[rows].reset_index(drop=True), y[rows]), 1e-9)
        self.assertEqual(weighted.predict_proba(X).shape, (30, 2))
        self.assertNotEqual(weighted.model_bytes_, fit(X, y).model_bytes_)

    def test_weights_of_words_equal_repetitions(self):
        words = [["rare", "x"], ["often", "y"], ["often", "x"], ["both", "rare"], ["often", "both"]] * 3
        y = ["p", "q", "p", "q", "q"] * 3
        weights = numpy.array([4, 1, 1, 2, 1] * 3)  # "rare" is frequent by weight
        repeated = [[one for one, n in zip(values, weights) for _ in range(n)] for values in (words, y)]
        for model in ("gru:3", "bag:4,start=logistic"):
            with self.subTest(model):
                def fit(X, y, weights=None):
                    return SequenceClassifier(model, optimizer="lbfgs", steps=6, threads=1,
                                              options={**WHOLE, "precision": "double"}).fit(X, y, weights)

                weighted, alphabets = fit(words, y, weights), []
                for fitted in (weighted, fit(*repeated), fit(words, y)):
                    alphabets.append(fitted.model_.card["data"]["fields"][1]["alphabet"]["symbols"])
                self.assertEqual(alphabets[0], ["<unk>", "rare", "x", "both", "often", "y"])
                self.assertEqual(alphabets[1], alphabets[0])
                self.assertNotEqual(alphabets[2], alphabets[0])
                if model == "gru:3":
                    self.assert_near(weighted, fit(*repeated), 1e-9)
                for scale in (0.1, 3):
                    self.assertEqual(fit(words, y, scale * weights).model_.card["data"], weighted.model_.card["data"])

    def test_weights_of_sequences_of_different_lengths_equal_repetitions(self):
        X, _ = bits()
        ragged = [row[:3 + i % 7] for i, row in enumerate(X)]
        tags = [[int(x) for x in row] for row in ragged]
        weights = numpy.arange(len(X)) % 4 + 1

        def fit(X, y, weights=None):
            return SequenceTagger("gru:3", optimizer="sgd:rate=0.5", steps=6, threads=1,
                                  options={**WHOLE, "precision": "double"}).fit(X, y, weights)

        weighted = fit(ragged, tags, weights)
        repeated = fit(*([one for one, n in zip(values, weights) for _ in range(n)] for values in (ragged, tags)))
        self.assert_near(weighted, repeated, 1e-6)
        self.assertGreater(numpy.abs(parameters(weighted)["layer1/g/W"]
                                     - parameters(fit(ragged, tags))["layer1/g/W"]).max(), 1e-4)

    def test_weights_of_lengths_equal_repetitions(self):
        sequences = [list("ab" * (1 + i % 5)) for i in range(20)]
        weights = numpy.arange(20) % 3 + 1.0
        repeated = [one for one, n in zip(sequences, weights) for _ in range(int(n))]

        def lengths(sequences, weights=None):
            data = {"text": sequences, **({} if weights is None else {"w": weights})}
            run = unfold.train(data, predict="text", read="text", ends="poisson", model="gru:2", steps=1, threads=1,
                               split="100/0/0", weights=None if weights is None else "w")
            return run.model.card["configuration"]["length"]["parameters"]

        numpy.testing.assert_allclose(lengths(sequences, weights), lengths(repeated), rtol=1e-6)
        self.assertNotEqual(lengths(sequences, weights), lengths(sequences))

    def test_weights_of_a_network_in_shards_and_windows_equal_those_of_whole_batches(self):
        X, y = bits()
        weights = numpy.arange(len(X)) % 3 + 1

        def fit(**options):
            model = SequenceClassifier("gru:3", optimizer="sgd:rate=0.5", steps=4, threads=1,
                                       options={**WHOLE, "precision": "double", **options})
            return model.fit(X, y, weights)

        for options in ({"shards": 2}, {"memory_limit": 60_000}):
            with self.subTest(options):
                self.assert_near(fit(), fit(**options), 1e-9)

    def test_only_ratios_of_weights_matter(self):
        X, y = bits()
        weights = numpy.arange(len(X)) % 4 + 1.0
        for model in ("gru:3", "esn:20"):
            small, large = (SequenceClassifier(model, threads=1, options=WHOLE if model == "gru:3" else None,
                                               steps=5 if model == "gru:3" else None).fit(X, y, scale * weights)
                            for scale in (0.25, 16))
            self.assertEqual(small.model_bytes_, large.model_bytes_)
        same = SequenceClassifier("esn:20", threads=1).fit(X, y)
        self.assertEqual(SequenceClassifier("esn:20", threads=1).fit(X, y, numpy.full(len(X), 3)).model_bytes_,
                         same.model_bytes_)

    def test_sequences_of_weight_0_are_left_out(self):
        X, y = bits()
        weights = numpy.where(numpy.arange(len(X)) % 4 == 0, 0.0, numpy.arange(len(X)) % 3 + 1)
        kept = weights > 0
        ragged = [row[:5 + i % 3] for i, row in enumerate(X)]
        words = [[str(int(x)) for x in row] for row in X]
        for sequences in (X, ragged, words):
            a = SequenceClassifier("gru:3", steps=3, threads=1).fit(sequences, y, weights)
            b = SequenceClassifier("gru:3", steps=3, threads=1).fit(
                [one for one, stays in zip(sequences, kept) if stays], y[kept], weights[kept])
            self.assertEqual(a.model_bytes_, b.model_bytes_)

    def test_weights_of_classes_multiply_those_of_sequences(self):
        X, y = bits()
        weights = numpy.arange(len(X)) % 3 + 1.0
        by_class = SequenceClassifier("gru:3", class_weight={"many": 5}, steps=3, threads=1).fit(X, y, weights)
        by_sequence = SequenceClassifier("gru:3", steps=3, threads=1).fit(X, y, numpy.where(y == "many", 5, 1) * weights)
        self.assertEqual(by_class.model_bytes_, by_sequence.model_bytes_)

    def test_balanced_weights_find_the_rare_class(self):
        X, y = imbalanced(300, 0)
        other, truth = imbalanced(300, 1)
        for model, settings in (("esn:60", {}), ("gru:8", {"optimizer": "adam:rate=0.01", "steps": 60})):
            with self.subTest(model):
                plain = SequenceClassifier(model, threads=1, **settings).fit(X, y)
                balanced = SequenceClassifier(model, class_weight="balanced", threads=1, **settings).fit(X, y)
                recall = [(one.predict(other)[truth == 1] == 1).mean() for one in (plain, balanced)]
                self.assertGreater(recall[1], recall[0] + 0.2)

    def test_weights_select_the_model_of_series(self):
        X, y = imbalanced(60, 2)
        fitted = SequenceClassifier(class_weight="balanced", threads=1).fit(X, y)
        self.assertEqual(fitted.predict_proba(X).shape, (60, 2))

    def test_tagger_has_weights_of_sequences(self):
        X, _ = bits()
        tags = [[int(x) for x in row] for row in X]
        plain = SequenceTagger("gru:3", steps=3, threads=1).fit(X, tags)
        weights = numpy.arange(len(X)) % 3 + 1
        self.assertNotEqual(SequenceTagger("gru:3", steps=3, threads=1).fit(X, tags, weights).model_bytes_,
                            plain.model_bytes_)

    def test_weights_of_losses_with_parameters_equal_repetitions(self):
        X, _ = bits()
        chunks = [["B-N" if x else "O" for x in row] for row in X]
        weights = numpy.arange(len(X)) % 3 + 1
        for loss in ("crf", "crf:steps=read", "crf:segments=3", "hybrid", "hybrid:training=frames"):
            with self.subTest(loss):
                def fit(X, y, weights=None):
                    model = SequenceTagger("gru:3", optimizer="sgd:rate=0.1", steps=5, threads=1,
                                           options={**WHOLE, "precision": "double", "predict": f"tag={loss}"})
                    return model.fit(X, y, weights)

                weighted = fit(X, chunks, weights)
                repeated = fit(numpy.repeat(X, weights, axis=0),
                               [tags for tags, n in zip(chunks, weights) for _ in range(n)])
                self.assert_near(weighted, repeated, 1e-9)
                own = [name for name in parameters(weighted) if name.endswith("/transitions")][0]
                self.assertGreater(numpy.abs(parameters(weighted)[own] - parameters(fit(X, chunks))[own]).max(), 1e-5)

    def test_errors_describe_the_problem(self):
        X, y = bits(6)
        fresh = SequenceClassifier("gru:2", steps=1)
        for weights, what in (([1, 2], r"must have shape \(6,\)"),
                              ([[1] * 6], r"must have shape \(6,\)"),
                              ([1, 1, -1, 1, 1, 1], "the weight of sequence 2 is -1.0"),
                              ([1, 1, 1, numpy.nan, 1, 1], "the weight of sequence 3 is nan"),
                              ([0] * 6, "all weights are zero"),
                              (["a"] * 6, "not numeric")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                fresh.fit(X, y, weights)
        for classes, what in (("even", '"balanced" or a dictionary'), ({"none": 2}, "'none' is not a class of y"),
                              ({"many": -1}, "at least 0"), ([1, 2], "not list")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                SequenceClassifier("gru:2", class_weight=classes, steps=1).fit(X, y)
        with self.assertRaisesRegex(ValueError, "hf.* does not support weights of examples"):
            SequenceClassifier("gru:2", optimizer="hf", steps=1, threads=1).fit(X, y, numpy.arange(6) + 1)

    def test_a_grid_passes_weights(self):
        if importlib.util.find_spec("sklearn") is None:
            self.skipTest("scikit-learn is not installed")
        from sklearn.model_selection import GridSearchCV

        X, y = bits(40)
        grid = GridSearchCV(SequenceClassifier("gru:2", steps=2, threads=1), {"class_weight": [None, "balanced"]}, cv=2)
        self.assertIn(grid.fit(X, y, sample_weight=numpy.arange(40) + 1.0).best_params_["class_weight"],
                      (None, "balanced"))


class DensityWeightTest(unittest.TestCase):
    """A row of weight 2 counts like two equal rows."""

    WHOLE = {"split": "100/0/0", "precision": "double"}

    def rows(self, kind, count=40):
        random = numpy.random.RandomState(1)
        numbers = random.normal(size=(count, 3)) @ random.normal(size=(3, 3)) + 1
        return (numbers > 1).astype(float) if kind == "bits" else numbers

    def assert_scores_equal(self, a, b, X, tolerance):
        numpy.testing.assert_allclose(a.score_samples(X), b.score_samples(X), atol=tolerance)

    def test_weights_equal_repetitions(self):
        weights = numpy.arange(40) % 3 + 1
        for model, kind, settings in (
                ("gaussian-mixture:1", "numbers", {}),
                ("gaussian-mixture:1,covariance=diagonal", "numbers", {}),
                ("bernoulli-mixture:1", "bits", {}),
                ("nade:4", "bits", {"optimizer": "sgd:rate=0.1", "steps": 5}),
                ("rnade:3,components=2", "numbers", {"optimizer": "sgd:rate=0.01", "steps": 5}),
                ("made:8,layers=1", "bits", {"optimizer": "sgd:rate=0.1", "steps": 5}),
                ("linear-ar", "numbers", {"optimizer": "sgd:rate=0.1", "steps": 5})):
            with self.subTest(model):
                X = self.rows(kind)
                options = {**self.WHOLE, **({"batch": 1000} if settings else {})}

                def fit(X, weights=None):
                    return DensityEstimator(model, threads=1, options=options, **settings).fit(X, sample_weight=weights)

                weighted = fit(X, weights)
                self.assert_scores_equal(weighted, fit(numpy.repeat(X, weights, axis=0)), X, 1e-6)
                self.assertGreater(numpy.abs(weighted.score_samples(X) - fit(X).score_samples(X)).max(), 1e-3)

    def test_weights_find_the_mode_of_a_mixture(self):
        random = numpy.random.RandomState(0)
        X = numpy.concatenate([random.normal(-4, 1, (30, 2)), random.normal(4, 1, (30, 2))])
        weights = numpy.repeat([1, 3], 30)
        fitted = DensityEstimator("gaussian-mixture:2", threads=1, options=self.WHOLE).fit(X, sample_weight=weights)
        repeated = DensityEstimator("gaussian-mixture:2", threads=1, options=self.WHOLE).fit(
            numpy.repeat(X, weights, axis=0))
        self.assert_scores_equal(fitted, repeated, X, 1e-2)
        self.assertAlmostEqual((fitted.sample(2000)[:, 0] > 0).mean(), 0.75, delta=0.05)

    def test_weights_select_the_model(self):
        X = self.rows("numbers", 60)
        fitted = DensityEstimator(threads=1).fit(X, sample_weight=numpy.arange(60) % 4 + 0.5)
        self.assertTrue(numpy.isfinite(fitted.score_samples(X)).all())
        self.assertAlmostEqual(fitted.score(X, sample_weight=numpy.arange(60) == 3), fitted.score_samples(X)[3])

    def test_weights_of_1_change_no_bit_and_rows_of_weight_0_are_left_out(self):
        X = self.rows("numbers")
        zeros = (numpy.arange(40) % 4 > 0).astype(float)
        for model, settings in (("gaussian-mixture:2", {}), ("rnade:3", {"steps": 5})):
            def fit(X, weights=None):
                return DensityEstimator(model, threads=1, **settings).fit(X, sample_weight=weights).model_bytes_

            self.assertEqual(fit(X, numpy.ones(40)), fit(X))
            self.assertEqual(fit(X, zeros), fit(X[zeros > 0]))
            self.assertEqual(fit(X, 2 * zeros + (numpy.arange(40) == 1)),
                             fit(X[zeros > 0], (2 * zeros + (numpy.arange(40) == 1))[zeros > 0]))

    def test_errors_describe_the_problem(self):
        X = self.rows("numbers", 6)
        for weights, what in (([1] * 5, "one weight per row"), ([1, 1, -2, 1, 1, 1], "the weight of row 2 is -2.0")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                DensityEstimator("gaussian-mixture:1").fit(X, sample_weight=weights)


class ChainWeightTest(unittest.TestCase):
    """The weights of the sequences of hidden Markov models, conditional random fields and echo state networks."""

    LENGTHS = numpy.array([20, 5, 30, 10, 15])
    WEIGHTS = numpy.array([1, 3, 0, 2, 1])

    def observations(self, kind):
        random = numpy.random.RandomState(3)
        if kind is CategoricalHMM:
            return random.randint(4, size=(80, 1))
        return random.normal(size=(80, 2)) + 3 * (random.rand(80, 1) > 0.5)

    def repeated(self, X):
        ends = numpy.cumsum(self.LENGTHS)
        parts = [X[end - n:end] for end, n, w in zip(ends, self.LENGTHS, self.WEIGHTS) for _ in range(w)]
        return numpy.concatenate(parts), numpy.repeat(self.LENGTHS, self.WEIGHTS)

    def started(self, kind, X, **arguments):
        random = numpy.random.RandomState(0)
        model = kind(2, init_params="", n_iter=6, tol=0, **arguments)
        model.startprob_, model.transmat_ = numpy.array([0.7, 0.3]), numpy.array([[0.8, 0.2], [0.3, 0.7]])
        if kind is CategoricalHMM:
            model.emissionprob_ = random.dirichlet(numpy.ones(4), size=2)
            return model
        shape = {"spherical": (2,), "diag": (2, 2), "tied": (2, 2), "full": (2, 2, 2)}[model.covariance_type]
        if kind is GaussianHMM:
            model.means_ = numpy.array([[0.0, 0.0], [2.0, 2.0]])
            model.covars_ = numpy.ones(shape) if len(shape) < 2 or model.covariance_type == "diag" else (
                numpy.broadcast_to(numpy.eye(2), shape).copy())
            return model
        model.means_ = numpy.array([[[0.0, 0.0], [1.0, 0.0]], [[2.0, 2.0], [3.0, 2.0]]])
        model.weights_, model.covars_ = numpy.full((2, 2), 0.5), numpy.ones((2, 2, 2))
        return model

    def kinds(self):
        yield CategoricalHMM, {}
        for covariance in ("spherical", "diag", "tied", "full"):
            yield GaussianHMM, {"covariance_type": covariance}
        yield GMMHMM, {"n_mix": 2}

    def attributes(self, model):
        names = ("startprob_", "transmat_", "emissionprob_", "means_", "covars_", "weights_")
        return {name: getattr(model, name) for name in names if hasattr(model, name)}

    def test_weights_of_hidden_markov_models_equal_repetitions(self):
        for kind, arguments in self.kinds():
            for holes in (False, True) if kind is not CategoricalHMM else (False,):
                with self.subTest(kind.__name__, holes=holes, **arguments):
                    X = self.observations(kind)
                    if holes:
                        X[::7, 0] = numpy.nan
                    weighted = self.started(kind, X, **arguments).fit(X, self.LENGTHS, sample_weight=self.WEIGHTS)
                    repeated = self.started(kind, X, **arguments).fit(*self.repeated(X))
                    for name, value in self.attributes(repeated).items():
                        numpy.testing.assert_allclose(self.attributes(weighted)[name], value, atol=1e-9, err_msg=name)
                    numpy.testing.assert_allclose(weighted.monitor_.history, repeated.monitor_.history, rtol=1e-9)

    def test_weights_of_1_change_no_bit_and_sequences_of_weight_0_are_left_out(self):
        kept = numpy.repeat(self.WEIGHTS > 0, self.LENGTHS)
        for kind, arguments in self.kinds():
            with self.subTest(kind.__name__, **arguments):
                X = self.observations(kind)

                def fit(X, lengths, weights=None):
                    return self.attributes(kind(2, random_state=0, **arguments).fit(X, lengths, sample_weight=weights))

                plain, lengths = fit(X, self.LENGTHS), self.LENGTHS[self.WEIGHTS > 0]
                for name, value in fit(X, self.LENGTHS, [1] * 5).items():
                    numpy.testing.assert_array_equal(value, plain[name])
                for weights in (self.WEIGHTS, self.WEIGHTS > 0):
                    weights = weights.astype(float)
                    others = fit(X[kept], lengths, weights[weights > 0])
                    for name, value in fit(X, self.LENGTHS, weights).items():
                        numpy.testing.assert_array_equal(value, others[name])

    def test_initial_covariances_are_weighted(self):
        X = self.observations(GaussianHMM)
        arguments = {"params": "", "init_params": "c", "covariance_type": "full"}
        models = []
        for data, lengths, weights in ((X, self.LENGTHS, self.WEIGHTS), (*self.repeated(X), None)):
            model = self.started(GaussianHMM, X).set_params(**arguments)
            models.append(model.fit(data, lengths, sample_weight=weights))
        numpy.testing.assert_allclose(models[0].covars_, models[1].covars_, rtol=1e-12)

    def test_positions_have_no_weights(self):
        X = self.observations(GaussianHMM)
        with self.assertRaisesRegex(ValueError, "positions are not separate examples; pass one weight for each of the 5"):
            GaussianHMM(2).fit(X, self.LENGTHS, sample_weight=numpy.ones(80))
        with self.assertRaisesRegex(ValueError, r"must have shape \(5,\), one weight per sequence"):
            GaussianHMM(2).fit(X, self.LENGTHS, sample_weight=[1, 2])

    def labeled(self):
        random = numpy.random.RandomState(5)
        X = [[{"word": f"w{random.randint(9)}", "long": bool(random.randint(2)), "size": random.rand()}
              for _ in range(n)] for n in self.LENGTHS]
        y = [[random.choice(["A", "B", "C"]) for _ in range(n)] for n in self.LENGTHS]
        return X, y

    def test_weights_of_a_random_field_equal_repetitions(self):
        X, y = self.labeled()
        again = [[one for one, w in zip(values, self.WEIGHTS) for _ in range(w)] for values in (X, y)]
        for options in ({"c2": 0.1}, {"c1": 0.2, "c2": 0.05}, {"c2": 0.1, "min_freq": 3},
                        {"c2": 0.1, "all_possible_states": True, "all_possible_transitions": True}):
            with self.subTest(options):
                weighted = CRF(epsilon=1e-8, delta=1e-13, **options).fit(X, y, sample_weight=self.WEIGHTS)
                repeated = CRF(epsilon=1e-8, delta=1e-13, **options).fit(*again)
                self.assertAlmostEqual(weighted.objective_, repeated.objective_, places=7)
                for name in ("state_features_", "transition_features_"):
                    a, b = getattr(weighted, name), getattr(repeated, name)
                    for key in {*a, *b}:
                        self.assertAlmostEqual(a.get(key, 0), b.get(key, 0), delta=1e-4)

    def test_weights_of_1_and_0_of_a_random_field(self):
        X, y = self.labeled()
        plain = CRF(c2=0.1).fit(X, y)
        self.assertEqual(CRF(c2=0.1).fit(X, y, sample_weight=[1] * 5).state_features_, plain.state_features_)
        kept = [i for i, weight in enumerate(self.WEIGHTS) if weight > 0]
        left = CRF(c2=0.1).fit([X[i] for i in kept], [y[i] for i in kept])
        zeros = CRF(c2=0.1).fit(X, y, sample_weight=self.WEIGHTS > 0)
        self.assertEqual((zeros.state_features_, zeros.attributes_), (left.state_features_, left.attributes_))
        only = plain.score(X, y, sample_weight=[0, 1, 0, 0, 0])
        self.assertAlmostEqual(only, plain.score(X[1:2], y[1:2]))
        with self.assertRaisesRegex(ValueError, "one weight per sequence"):
            plain.fit(X, y, sample_weight=[1, 2])

    def test_weights_of_a_reservoir_equal_repetitions(self):
        random = numpy.random.RandomState(2)
        X = [random.normal(size=(n, 1)) for n in (60, 40, 50)]
        y = [numpy.cumsum(x, axis=0) + random.normal(size=x.shape) for x in X]
        weights = [2, 1, 3]
        repeated = [[one for one, w in zip(values, weights) for _ in range(w)] for values in (X, y)]
        for units in (10, 120):  # with few positions per unit, lambda is selected by blocks
            fits = [ESN(units, ridge=1e-3, threads=1, options={"precision": "double"}).fit(*data)
                    for data in ((X, y, weights), repeated, (X, y))]
            a, b, c = (numpy.concatenate(fit.predict(X)) for fit in fits)
            numpy.testing.assert_allclose(a, b, atol=1e-7)
            self.assertGreater(numpy.abs(a - c).max(), 1e-4)
            self.assertEqual(ESN(units, threads=1).fit(X, y, [1, 1, 1]).model_bytes_,
                             ESN(units, threads=1).fit(X, y).model_bytes_)
        with self.assertRaisesRegex(ValueError, "for classes at every position does not support weights"):
            SequenceTagger("esn:10", threads=1).fit([[1.0, 2.0]] * 4, [[0, 1]] * 4, [1, 2, 3, 4])


class WarmStartTest(unittest.TestCase):
    STILL = {"optimizer": "sgd:rate=1e-30", "steps": 1, "threads": 1}

    def test_fit_continues_from_the_parameters(self):
        X, y = bits()
        fitted = SequenceClassifier("gru:3", steps=20, threads=1, warm_start=True).fit(X, y)
        before, scale = parameters(fitted), fitted.model_.card["data"]
        other = numpy.random.RandomState(1).normal(3, 2, size=(30, 12))
        fitted.set_params(**self.STILL).fit(other, numpy.repeat(y[:15], 2))
        self.assertEqual(fitted.model_.card["data"], scale)
        for name, array in parameters(fitted).items():
            numpy.testing.assert_array_equal(array, before[name])
        fitted.set_params(warm_start=False).fit(X, y)
        self.assertGreater(numpy.abs(parameters(fitted)["layer1/g/W"] - before["layer1/g/W"]).max(), 1e-5)

    def test_unseen_labels_and_other_data_raise_errors(self):
        X, y = bits()
        fitted = SequenceClassifier("gru:3", steps=2, threads=1, warm_start=True).fit(X, y)
        with self.assertRaisesRegex(ValueError, "'new' is not a class of the fitted model"):
            fitted.fit(X, numpy.where(numpy.arange(len(y)) == 3, "new", y))
        with self.assertRaisesRegex(ValueError, "2 features per position"):
            fitted.fit(numpy.stack([X, X], axis=2), y)
        with self.assertRaisesRegex(ValueError, "warm_start requires a model that is trained by gradients.*esn:10"):
            SequenceClassifier("esn:10", threads=1, warm_start=True).fit(X, y).fit(X, y)

    def test_the_selected_model_is_kept(self):
        X, y = bits()
        fitted = SequenceClassifier(steps=2, threads=1, warm_start=True, options={"model": "gru:3"}).fit(X, y)
        fitted.set_params(options=None).fit(X, y)
        self.assertTrue(fitted.model_.spec.startswith("gru:3"))

    def test_other_estimators_continue(self):
        wave = numpy.sin(numpy.arange(80) / 3)
        X, _ = bits()
        tags = [[int(x) for x in row] for row in X]
        rows = numpy.random.RandomState(0).randint(2, size=(60, 3)).astype(float)
        for make, data in ((lambda **s: NetworkForecaster("gru:3", **s), [(wave,), (wave[:50] + 1,)]),
                           (lambda **s: SequenceTagger("gru:3", **s), [(X, tags), (X[:9], tags[:9])]),
                           (lambda **s: DensityEstimator("nade:3", **s), [(rows,), (rows[:40],)]),
                           (lambda **s: SymbolModel("gru:3", **s), [(["abcab" * 30],), (["bca" * 30],)])):
            fitted = make(steps=4, threads=1, warm_start=True).fit(*data[0])
            with self.subTest(type(fitted).__name__):
                before = parameters(fitted)
                fitted.set_params(**self.STILL).fit(*data[1])
                for name, array in parameters(fitted).items():
                    numpy.testing.assert_array_equal(array, before[name])

    def test_train_starts_from_a_model_or_its_bytes(self):
        first = unfold.train(text="abcab" * 40, model="gru:3", steps=5, threads=1)
        for start in (first.model, first.model_bytes):
            again = unfold.train(text="bbc" * 40, start_from=start, optimizer="sgd:rate=1e-30", steps=1, threads=1)
            numpy.testing.assert_array_equal(again.model.parameters()["layer1/g/W"],
                                             first.model.parameters()["layer1/g/W"])
        with self.assertRaisesRegex(TypeError, "start_from must be"):
            unfold.train(text="ab" * 40, start_from=3)
        with self.assertRaises(unfold.ModelError):
            unfold.train(text="ab" * 40, start_from=b"nothing")


class PartialFitTest(unittest.TestCase):
    def test_parts_of_the_data_are_learned(self):
        X, y = bits(200, 3)
        model = SequenceClassifier("gru:8", optimizer="adam:rate=0.02", threads=1)
        for i in range(60):
            part = slice(i % 4, None, 4)
            self.assertIs(model.partial_fit(X[part], y[part], classes=["few", "many"]), model)
        self.assertGreater(model.score(X, y), 0.75)
        again = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
        self.assertEqual(again.model_bytes_, model.partial_fit(X, y).model_bytes_)

    def test_a_class_may_be_missing_from_the_first_part(self):
        X, y = bits(60)
        for sequences in (X, [[str(int(x)) for x in row] for row in X]):
            model = SequenceClassifier("gru:3", threads=1)
            few = [i for i in range(60) if y[i] == "few"]
            model.partial_fit([sequences[i] for i in few], y[few], classes=["few", "many", "never"])
            self.assertEqual(model.classes_.tolist(), ["few", "many", "never"])
            self.assertEqual(model.predict_proba(sequences).shape, (60, 3))
            self.assertEqual(model.partial_fit(sequences, y).classes_.tolist(), ["few", "many", "never"])

    def test_errors_describe_the_problem(self):
        X, y = bits()
        with self.assertRaisesRegex(ValueError, "'many' is not in classes|'few' is not in classes"):
            SequenceClassifier("gru:3").partial_fit(X, y, classes=["x", "z"])
        with self.assertRaisesRegex(ValueError, "not supported for partial_fit"):
            SequenceClassifier("gru:3", class_weight="balanced").partial_fit(X, y)
        model = SequenceClassifier("gru:3", threads=1).partial_fit(X, y)
        for make, data in ((lambda: SequenceClassifier("esn:10", threads=1), (X, y)),
                           (lambda: SymbolModel("ngram:2"), (["abab" * 9],))):
            with self.assertRaisesRegex(ValueError, "partial_fit requires a model that is trained by gradients"):
                make().partial_fit(*data)
        with self.assertRaisesRegex(ValueError, "'z' is not a class"):
            model.partial_fit(X[:2], ["few", "z"])
        with self.assertRaisesRegex(ValueError, "the first call must have each class in y, but 5"):
            SequenceTagger("gru:3", threads=1).partial_fit([[1.0, 2.0]], [[0, 1]], classes=[0, 1, 5])

    def test_other_estimators(self):
        wave = numpy.sin(numpy.arange(200) / 3)
        model = NetworkForecaster("gru:4", threads=1)
        for begin in range(0, 200, 50):
            model.partial_fit(wave[begin:begin + 50])
        numpy.testing.assert_array_equal(model.series_, wave)
        self.assertEqual(model.predict(3, samples=5).shape, (3,))
        with self.assertRaisesRegex(ValueError, "the fitted series has"):
            model.partial_fit(numpy.ones((5, 2)))
        X, _ = bits()
        tagger = SequenceTagger("gru:3", threads=1).partial_fit(X, [[int(x) for x in row] for row in X], classes=[0, 1])
        self.assertEqual(tagger.partial_fit(X[:4], [[int(x) for x in row] for row in X[:4]]).classes_.tolist(), [0, 1])
        text = SymbolModel("gru:4", threads=1, options={"window": 8, "batch": 2}).partial_fit(["abc" * 40])
        with self.assertRaises(unfold.DataError):
            text.partial_fit(["abz" * 40])
        text.set_params(unknown="skip").partial_fit(["abz" * 40])
        self.assertEqual(text.model_.alphabet, ["a", "b", "c"])


if __name__ == "__main__":
    unittest.main()
