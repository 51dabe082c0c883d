"""Estimators learn simple problems, are scikit-learn compatible, and can be pickled."""

import datetime
import importlib
import importlib.util
import json
import math
import pathlib
import pickle
import random
import tempfile
import unittest
import warnings

import numpy

import unfold
from scratch import command
from unfold.estimators import DensityEstimator, NetworkForecaster, NotFittedError, SequenceClassifier, SequenceTagger, SymbolModel
from unfold.hmm import GaussianHMM
from unfold.reservoir import ESN

SMALL = {"threads": 1, "options": {"batch": 8}}


def sequences(count, seed=1):
    """Returns words, and whether most of them are "a"."""
    source = random.Random(seed)
    words = [[source.choice("ab") for _ in range(source.choice([3, 5, 7]))] for _ in range(count)]
    return words, ["many" if sum(x == "a" for x in w) * 2 > len(w) else "few" for w in words]


class ClassifierTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.words, cls.labels = sequences(300)
        cls.fitted = SequenceClassifier("bilstm:12", optimizer="adam:rate=0.02", steps=150, **SMALL)
        cls.fitted.fit(cls.words, cls.labels)

    def test_classifier_learns(self):
        words, labels = sequences(100, seed=2)
        self.assertGreater(self.fitted.score(words, labels), 0.9)
        self.assertEqual(list(self.fitted.classes_), ["few", "many"])

    def test_probabilities_sum_to_one_and_the_largest_is_predicted(self):
        p = self.fitted.predict_proba(self.words[:20])
        self.assertEqual(p.shape, (20, 2))
        numpy.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
        self.assertEqual(list(self.fitted.predict(self.words[:20])), list(self.fitted.classes_[p.argmax(axis=1)]))

    def test_texts_are_read_as_words(self):
        texts = [" ".join(w) for w in self.words[:20]]
        numpy.testing.assert_array_equal(self.fitted.predict_proba(texts), self.fitted.predict_proba(self.words[:20]))

    def test_pickle_predicts_the_same(self):
        again = pickle.loads(pickle.dumps(self.fitted))
        numpy.testing.assert_array_equal(again.predict_proba(self.words), self.fitted.predict_proba(self.words))

    def test_labels_may_be_numbers(self):
        numbers = [3 if label == "many" else -1 for label in self.labels]
        fitted = SequenceClassifier("bilstm:4", steps=5, **SMALL).fit(self.words, numbers)
        self.assertEqual(fitted.classes_.tolist(), [-1, 3])
        self.assertIn(fitted.predict(self.words[:1])[0], (-1, 3))

    def test_series_of_numbers_are_classified_without_settings(self):
        draw = numpy.random.default_rng(1)
        series = [numpy.sin((0.3 + 0.4 * (i % 2)) * numpy.arange(30 + i % 4)) + 0.1 * draw.standard_normal(30 + i % 4)
                  for i in range(40)]
        labels = ["slow", "fast"] * 20
        fitted = SequenceClassifier(threads=1).fit(series, labels)
        self.assertGreater(fitted.score(series, labels), 0.9)
        channels = [numpy.stack([s, -s], axis=1) for s in series]
        fitted = SequenceClassifier("kernels:700", threads=1).fit(channels, labels)
        self.assertEqual(fitted.predict_proba(channels).shape, (40, 2))
        series[3][5] = numpy.nan
        fitted = SequenceClassifier(threads=1).fit(series, labels)
        self.assertEqual(fitted.predict(series[3:4])[0], "fast", "a missing value is left out")

    def test_rows_of_a_table_are_distinguished_from_series(self):
        draw = numpy.random.default_rng(1)
        X = draw.normal(size=(80, 3)) * [1000, 1e-3, 20] + [5000, 0, -3]
        X = X[:, [0, 1, 2, 0, 2]] * [1, 1, 1, 3, 0.1]
        y = numpy.where(X[:, 1] > 0, "high", "low")
        fitted = SequenceClassifier(threads=1).fit(X[:60], y[:60])
        self.assertEqual((fitted.rows_, fitted.n_features_in_), ("independent", 5))
        self.assertGreater(fitted.score(X[60:], y[60:]), 0.85, "each column is standardized")
        again = pickle.loads(pickle.dumps(fitted))
        self.assertTrue((again.predict_proba(X) == fitted.predict_proba(X)).all())
        with self.assertRaisesRegex(unfold.UsageError, "4 features, but .* expecting 5"):
            fitted.predict(X[:, :4])
        self.assertEqual(SequenceClassifier("gru:2", steps=2, threads=1).fit(X, y).rows_, "sequence")
        stated = SequenceClassifier("rnn:4", steps=2, threads=1, options={"rows": "independent"}).fit(X, y, [1, 2] * 40)
        self.assertEqual(stated.rows_, "independent")
        self.assertEqual(stated.partial_fit(X, y).rows_, "independent")
        with self.assertRaisesRegex(unfold.UsageError, "rows"):
            SequenceClassifier(options={"rows": "independent"}).fit([["a"], ["b"]], [0, 1])
        with self.assertRaisesRegex(unfold.UsageError, "rows"):
            SequenceClassifier(options={"rows": "table"}).fit(X, y)
        steps, phases = numpy.arange(24), draw.uniform(0, 6, size=(40, 1))
        series = numpy.sin((0.4 + 0.5 * (numpy.arange(40) % 2))[:, None] * steps + phases)
        fitted = SequenceClassifier(threads=1).fit(series, ["slow", "fast"] * 20)
        self.assertEqual((fitted.rows_, fitted.n_features_in_), ("sequence", 1))

    def test_a_table_gives_the_same_model_as_the_command(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        draw = numpy.random.default_rng(2)
        X = pandas.DataFrame({"size": draw.normal(1000, 300, 60).round(1), "kind": draw.choice(["a", "b"], 60),
                              "share": (draw.random(60) * 1e-3).round(6)})
        y = ((X["share"] > 5e-4) ^ (X["kind"] == "a")).astype(int).to_numpy()
        fitted = SequenceClassifier(threads=1).fit(X, y)
        self.assertEqual(list(fitted.feature_names_in_), ["size", "kind", "share"])
        self.assertGreater(fitted.score(X, y), 0.9)
        with self.assertRaisesRegex(unfold.UsageError, "Feature names unseen at fit time:\n- width"):
            fitted.predict(X.rename(columns={"size": "width"}))
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "table.csv")
            X.assign(label=y).to_csv(path, index=False)
            run = unfold.train(path, out=None, predict="label=softmax", rows="independent", threads=1, seed=1)
        self.assertEqual(fitted.model_bytes_, run.model_bytes)

    def test_errors_describe_the_problem(self):
        fresh = SequenceClassifier(steps=1)
        with self.assertRaises(NotFittedError):
            fresh.predict([["a"]])
        with self.assertRaisesRegex(ValueError, "3 sequences, but 2 targets"):
            fresh.fit([["a"]] * 3, ["x", "y"])
        with self.assertRaisesRegex(ValueError, "have at least two classes"):
            fresh.fit([["a"]] * 3, ["x"] * 3)
        with self.assertRaisesRegex(ValueError, "sequence 1 is empty"):
            fresh.fit([["a"], []], ["x", "y"])
        with self.assertRaisesRegex(ValueError, "not one text"):
            fresh.fit("abc", ["x"])

    def test_an_empty_text_is_a_missing_text(self):
        texts, y = ["how far is it", "who was first"] * 10, ["distance", "person"] * 10
        fitted = SequenceClassifier("bag:4,pool=mean", steps=2, threads=1).fit(texts, y)
        p = fitted.predict_proba(["", " ", None, b"", math.nan, "who"])
        self.assertEqual(p.shape, (6, 2))
        self.assertEqual(len({tuple(row) for row in p[:5].tolist()}), 1)
        self.assertNotEqual(tuple(p[0]), tuple(p[5]))
        SequenceClassifier("bag:4,pool=mean", steps=1, threads=1).fit(["", *texts[1:]], y).predict(texts)
        with self.assertRaisesRegex(ValueError, "all texts are empty"):
            fitted.fit(["", None], ["x", "y"])
        with self.assertRaisesRegex(ValueError, "sequence 1 is empty"):
            fitted.fit(["a b", []], ["x", "y"])
        with self.assertRaisesRegex(ValueError, "sequence 0 is empty"):
            SequenceTagger("bilstm:4", steps=1).fit([""], [[]])

    def test_tables_may_have_missing_texts_and_repeated_names(self):
        if importlib.util.find_spec("pandas") is None:
            self.skipTest("pandas is not installed")
        import pandas
        cells = [["a", "x"], ["b", "y"]] * 10 + [["a", None], [math.nan, "y"], [None, None]]
        labels = [row[0] if isinstance(row[0], str) else "b" for row in cells]
        X = pandas.DataFrame(cells, columns=["one", "two"])
        fitted = SequenceClassifier("gru:4", steps=60, threads=1).fit(X, labels)
        self.assertEqual(fitted.predict(X[:2]).tolist(), ["a", "b"])
        repeated = pandas.DataFrame([[1, 2, "a"], [3, 4, "b"]] * 20, columns=["x", "x", "label"])
        self.assertEqual(unfold.train(repeated, steps=2, model="gru:2").figures["read"], "x,x.2")

    def test_columns_of_texts_are_lists_of_texts(self):
        texts, y = ["how far is it", "who was first"] * 10, ["distance", "person"] * 10
        settings = {"steps": 2, "threads": 1}
        expected = SequenceClassifier("bag:4,pool=mean", **settings).fit(texts, y)
        for library in ("pandas", "polars"):
            if importlib.util.find_spec(library) is None:
                continue
            module = importlib.import_module(library)
            for X in (module.Series(texts), module.DataFrame({"body": texts})):
                with self.subTest(f"{library} {type(X).__name__}"):
                    fitted = SequenceClassifier("bag:4,pool=mean", **settings).fit(X, y)
                    self.assertEqual(fitted.model_bytes_, expected.model_bytes_)
                    self.assertTrue((fitted.predict_proba(X) == expected.predict_proba(texts)).all())
            with self.subTest(f"{library} words"):
                words = module.Series([text.split() for text in texts])
                self.assertEqual(SequenceClassifier("bag:4,pool=mean", **settings).fit(words, y).model_bytes_,
                                 expected.model_bytes_)
            with self.subTest(f"{library} tags"):
                tags = [text.split() for text in texts]
                self.assertEqual(SequenceTagger("bilstm:4", steps=1).fit(module.Series(texts), tags).predict(texts),
                                 SequenceTagger("bilstm:4", steps=1).fit(texts, tags).predict(module.Series(texts)))
            X = module.DataFrame({"subject": [f"ticket {i}" for i in range(20)], "body": texts})
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted = SequenceClassifier("bag:4,pool=mean", **settings).fit(X, y)
                self.assertEqual((fitted.rows_, fitted.predict(X[:3]).shape), ("independent", (3,)))
            with self.assertWarnsRegex(UserWarning, "each row of X is a sequence of 2 symbols.*column subject are texts"):
                SequenceClassifier("bag:4,pool=mean", options={"rows": "sequence"}, **settings).fit(X, y)

    def test_data_in_the_form_of_sktime_has_a_message(self):
        y = ["a", "b"] * 5
        with self.assertWarnsRegex(UserWarning, r"numpy.swapaxes\(X, 1, 2\)"):
            SequenceClassifier("gru:2", steps=1, threads=1).fit(numpy.zeros((10, 1, 7)), y)
        if importlib.util.find_spec("pandas") is None:
            self.skipTest("pandas is not installed")
        import pandas

        index = pandas.MultiIndex.from_product([range(10), range(7)])
        nested = pandas.DataFrame({"x": [pandas.Series(range(7), dtype=float) for _ in range(10)]})
        for X, what in ((pandas.DataFrame({"x": numpy.zeros(70)}, index), "several index levels"),
                        (nested, "the cells of X are sequences")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                SequenceClassifier("gru:2", steps=1, threads=1).fit(X, y)
        converted = [numpy.column_stack(list(row)) for row in nested.to_numpy()]
        self.assertEqual(SequenceClassifier("gru:2", steps=1, threads=1).fit(converted, y).n_features_in_, 1)


    def test_entries_and_labels_are_validated(self):
        fresh = SequenceClassifier(steps=1)
        nan = math.nan
        for X, y, what in (
                ([["a"]] * 2, [1, "a"], "all non-strings, but the label of sequence 1 is 'a' and the label of 0 is 1"),
                ([["a"]] * 2, ["x", nan], "sequence 1: the label is missing"),
                ([["a"]] * 2, [None, "x"], "sequence 0: the label is missing"),
                ([["a"]] * 2, [("x", 1), "x"], "sequence 0: the label must be a scalar, not tuple"),
                ([["a"]] * 2, numpy.array([[1, 2], [2, 3]]), "sequence 0: the label must be a scalar, not ndarray"),
                ([["a"]] * 2, None, "fit expects a list of labels, not NoneType"),
                ([["a"], ["b", None]], [1, 2], "sequence 1: an entry is missing"),
                ([["a"], [nan]], [1, 2], "sequence 1: an entry is missing"),
                ([["a"], [["b"]]], [1, 2], "sequence 1: an entry must be a string or a number, not list"),
                ([1, 2], [1, 2], "sequence 0: expects a list of entries, not int"),
                ([b"\xff", "a"], [1, 2], "sequence 0: bytes are not valid UTF-8")):
            with self.subTest(what), self.assertRaisesRegex(ValueError, what):
                fresh.fit(X, y)
        with self.assertRaisesRegex(ValueError, "options has data"):
            SequenceClassifier(steps=1, options={"data": "x"}).fit([["a"]] * 2, [1, 2])

    def test_labels_may_be_of_any_type(self):
        for values in ([b"a", b"b"], [True, False], numpy.array(["2020-01-01", "2021-01-01"], "datetime64[D]")):
            labels = [values[i % 2] for i in range(20)]
            model = SequenceClassifier("gru:3", steps=3, threads=1).fit([["x"], ["y"]] * 10, labels)
            self.assertEqual(len(model.classes_), 2)
            self.assertIn(model.predict([["x"]])[0], model.classes_)
            self.assertGreaterEqual(model.score([["x"], ["y"]] * 10, labels), 0)

    def test_bytes_are_utf_8_texts(self):
        texts = [" ".join(w) for w in self.words[:10]]
        numpy.testing.assert_array_equal(self.fitted.predict_proba([t.encode() for t in texts]),
                                         self.fitted.predict_proba(texts))

    def test_score_requires_a_label_per_sequence(self):
        with self.assertRaisesRegex(ValueError, "3 sequences, but 1 targets"):
            self.fitted.score(self.words[:3], self.labels[:1])


class FrameTest(unittest.TestCase):
    """Tables of pandas, polars and Arrow."""

    @staticmethod
    def frames_of(columns):
        """Return the same table of every library that is installed."""
        makers = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
        return {name: getattr(importlib.import_module(name), kind)(columns) for name, kind in makers.items()
                if importlib.util.find_spec(name) is not None}

    def test_columns_of_dates_raise_errors_that_name_the_column(self):
        values = numpy.random.default_rng(0).normal(size=30)
        days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(30)]
        for times in (days, [datetime.datetime.combine(day, datetime.time(7)) for day in days]):
            for name, frame in self.frames_of({"when": times, "v": values}).items():
                for model, arguments in ((NetworkForecaster("gru:2", steps=1), ()), (GaussianHMM(2), ()),
                                         (DensityEstimator("gaussian-mixture:1"), ()), (ESN(5), (values,))):
                    with self.subTest(name, model=model), self.assertRaisesRegex(unfold.errors.DataError,
                                                                                 "column when: dates and times"):
                        model.fit(frame, *arguments)
                rows = SequenceClassifier("gru:2", steps=1, **SMALL).fit(frame, [0, 1] * 15)
                self.assertEqual(rows.rows_, "independent")
                self.assertEqual(rows.predict(frame).shape, (30,))
                with self.assertRaisesRegex(unfold.errors.DataError, "sequence 0: column when: dates and times"):
                    SequenceClassifier("gru:2", steps=1).fit([frame, frame], [0, 1])

    def test_a_list_of_tables_is_a_list_of_sequences(self):
        values = numpy.random.default_rng(0).normal(size=(12, 7, 2))
        for name in self.frames_of({"a": [1.0]}):
            with self.subTest(name):
                frames = [self.frames_of({"a": one[:, 0], "type": one[:, 1]})[name] for one in values]
                models = [SequenceClassifier("gru:2", steps=2, **SMALL).fit(X, [0, 1] * 6) for X in (values, frames)]
                self.assertEqual(models[0].model_bytes_, models[1].model_bytes_)
                with self.assertRaisesRegex(ValueError, "sequence 1: the columns are a, but .* first table are a, type"):
                    models[1].predict([frames[0], self.frames_of({"a": values[0, :, 0]})[name]])

    def test_column_names_of_any_frame_are_those_of_fit(self):
        X = numpy.random.default_rng(0).normal(size=(20, 3))
        columns = dict(zip("abc", X.T))
        for name, frame in self.frames_of(columns).items():
            for model in (SequenceClassifier("gru:2", steps=2, **SMALL), DensityEstimator("gaussian-mixture:1")):
                with self.subTest(name, model=model):
                    fitted = model.fit(frame, [0, 1] * 10)
                    self.assertEqual(fitted.feature_names_in_.tolist(), ["a", "b", "c"])
                    method = fitted.predict if hasattr(fitted, "predict") else fitted.score_samples
                    numpy.testing.assert_array_equal(method(frame), method(X))
                    for names, what in (("cba", "same order"), ("ab", "now missing:\n- c"), ("abx", "unseen.*\n- x")):
                        with self.assertRaisesRegex(ValueError, what):
                            method(self.frames_of(dict(zip(names, X.T)))[name])
            further = SequenceClassifier("gru:2", **SMALL).partial_fit(frame, [0, 1] * 10).partial_fit(X, [0, 1] * 10)
            self.assertEqual(further.feature_names_in_.tolist(), ["a", "b", "c"])
            with self.assertRaisesRegex(ValueError, "same order"):
                further.partial_fit(self.frames_of(dict(zip("cba", X.T)))[name], [0, 1] * 10)


    @unittest.skipIf(importlib.util.find_spec("pandas") is None, "pandas is not installed")
    def test_pandas_na_is_a_missing_value(self):
        import pandas

        X = numpy.random.default_rng(0).normal(size=(20, 3))
        X[3, 1] = numpy.nan
        frame = pandas.DataFrame(X, columns=list("abc")).convert_dtypes()
        objects = frame.astype(object).where(frame.notna(), pandas.NA)
        y = [0, 1] * 10
        hmm, classifier = GaussianHMM(2, random_state=0), SequenceClassifier("gru:2", steps=2, **SMALL)
        means, contents = hmm.fit(X).means_, classifier.fit(X, y).model_bytes_
        for table in (frame, objects, objects.to_numpy()):
            with self.subTest(type(table)):
                numpy.testing.assert_array_equal(hmm.fit(table).means_, means)
                again = SequenceClassifier("gru:2", steps=2, **SMALL).fit(numpy.asarray(table), y)
                self.assertEqual(again.model_bytes_, contents)
                with self.assertRaisesRegex(ValueError, "not finite, the first at position 3"):
                    NetworkForecaster("gru:2", steps=1).fit(table)
                with self.assertRaisesRegex(ValueError, "not finite: Input X contains NaN"):
                    DensityEstimator("gaussian-mixture:1").fit(table)
        cells = objects.to_numpy().copy()
        cells[2, 2] = {}
        for model in (hmm, NetworkForecaster("gru:2"), DensityEstimator(), classifier):
            arguments = (y,) if model is classifier else ()
            with self.subTest(model), self.assertRaisesRegex((TypeError, ValueError), "row 2, column c: "):
                model.fit(pandas.DataFrame(cells, columns=list("abc")), *arguments)
            with self.subTest(model), self.assertRaisesRegex((TypeError, ValueError), r"index \[2, 2\]: "):
                model.fit(cells, *arguments)


class HabitsTest(unittest.TestCase):
    kinds = (SequenceClassifier, SequenceTagger, NetworkForecaster, SymbolModel)

    def test_parameters_round_trip(self):
        for kind in self.kinds:
            one = kind("gru:5", steps=7, options={"batch": 3})
            self.assertEqual(one.get_params()["steps"], 7)
            self.assertEqual(kind(**one.get_params()).get_params(), one.get_params())
            self.assertIs(one.set_params(steps=9), one)
            self.assertEqual(one.steps, 9)
            self.assertIn("steps=9", repr(one))
            with self.assertRaisesRegex(ValueError, "no parameter stepz"):
                one.set_params(stepz=1)

    def test_scikit_learn_clones_estimators(self):
        try:
            from sklearn.base import clone, is_classifier
        except ImportError:
            self.skipTest("scikit-learn is not here")
        for kind in self.kinds:
            self.assertEqual(clone(kind("gru:5", steps=7)).get_params(), kind("gru:5", steps=7).get_params())
        self.assertTrue(is_classifier(SequenceClassifier()))


class TaggerTest(unittest.TestCase):
    def test_tagger_learns_and_reports_probabilities(self):
        source = random.Random(3)
        words = [[source.choice("abc") for _ in range(source.randint(2, 6))] for _ in range(200)]
        tags = [["X" if x == "a" else "Y" for x in w] for w in words]
        fitted = SequenceTagger("bilstm:8", optimizer="adam:rate=0.02", steps=80, **SMALL).fit(words, tags)
        self.assertGreater(fitted.score(words, tags), 0.98)
        self.assertEqual([len(t) for t in fitted.predict(words[:5])], [len(w) for w in words[:5]])
        p = fitted.predict_proba(words[:3])
        self.assertEqual(p[0].shape, (len(words[0]), 2))
        numpy.testing.assert_allclose(p[0].sum(axis=1), 1, atol=1e-5)
        with self.assertRaisesRegex(ValueError, "sequence 0 has 2 entries, but 1 labels"):
            fitted.fit([["a", "b"]], [["X"]])
        with self.assertRaisesRegex(ValueError, "2 sequences, but 1 targets"):
            fitted.score(words[:2], tags[:1])
        with self.assertRaisesRegex(ValueError, f"sequence 1 has {len(words[1])} entries, but 1 labels"):
            fitted.score(words[:2], [tags[0], ["X"]])
        with self.assertRaisesRegex(ValueError, "sequence 0: a label is missing"):
            fitted.fit([["a", "b"]], [["X", None]])

    def test_label_only_in_validation_has_probability_0(self):
        words, tags = [["a", "b"]] * 39 + [["c", "b"]], [["D", "N"]] * 39 + [["RARE", "N"]]
        fitted = SequenceTagger("bilstm:4", steps=3, **SMALL).fit(words, tags)
        p = fitted.predict_proba([["a", "b"], ["c"]])
        self.assertEqual([one.shape for one in p], [(2, 3), (1, 3)])
        self.assertEqual(p[0][:, list(fitted.classes_).index("RARE")].tolist(), [0, 0])


class NetworkForecasterTest(unittest.TestCase):
    def test_forecaster_continues_a_wave(self):
        wave = [5 + 2 * math.sin(i / 3) for i in range(600)]
        fitted = NetworkForecaster("lstm:12", optimizer="adam:rate=0.01", steps=300, threads=1,
                            options={"window": 50}).fit(wave[:560])
        mean = fitted.predict(10)
        self.assertEqual(mean.shape, (10,))
        self.assertLess(numpy.abs(mean - wave[560:570]).mean(), 0.5)
        low, high = fitted.predict_interval(10)
        self.assertTrue((low < high).all())

    @unittest.skipIf(importlib.util.find_spec("pandas") is None, "pandas is not installed")
    def test_rows_with_times_are_sorted_and_gaps_have_a_warning(self):
        import pandas

        values = numpy.sin(numpy.arange(60) / 4)
        times = pandas.date_range("2024-01-01", periods=60, freq="h")
        indexes = [times, pandas.DatetimeIndex(list(times)), times.to_period("h"), times - times[0]]
        for index in indexes:
            with self.subTest(type(index)):
                y = pandas.Series(values, index=index)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    expected = NetworkForecaster("gru:2", steps=2, threads=1).fit(y)
                numpy.testing.assert_array_equal(expected.series_, values)
                for other in (y[::-1], y.sample(frac=1, random_state=0), pandas.DataFrame({"y": y})[::-1]):
                    with self.assertWarnsRegex(UserWarning, "not in the order of time; they are sorted") as caught:
                        fitted = NetworkForecaster("gru:2", steps=2, threads=1).fit(other)
                    self.assertEqual(caught.filename, __file__)
                    self.assertEqual(fitted.series_.ravel().tolist(), values.tolist())
                with self.assertWarnsRegex(UserWarning, "06:00:00, follows .*read as if the distances were equal"):
                    expected.predict(2, y=pandas.concat([y[:30], y[35:]]))
                with self.assertRaisesRegex(ValueError, "more than once; combine"):
                    expected.predict(2, y=pandas.concat([y, y]))
        for regular in (pandas.bdate_range("2024-01-01", periods=60), pandas.date_range("2024", periods=60, freq="MS")):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                expected.predict(2, y=pandas.Series(values, index=pandas.DatetimeIndex(list(regular))))
        with self.assertRaisesRegex(ValueError, "missing time at position 1"):
            expected.predict(2, y=pandas.Series(values, index=[times[0], pandas.NaT, *times[2:]]))
        with self.assertRaisesRegex(ValueError, "several index levels"):
            expected.fit(pandas.Series(values, index=pandas.MultiIndex.from_arrays([["a"] * 60, times])))

    def test_a_series_of_another_width_is_invalid_data(self):
        values = numpy.random.default_rng(0).normal(size=(40, 4))
        fitted = NetworkForecaster("gru:2", steps=2, threads=1).fit(values[:, 0])
        for call in (lambda y: fitted.predict(2, y=y), fitted.partial_fit):
            with self.assertRaisesRegex(unfold.errors.DataError, "y has 4 columns, but the fitted series has 1") as caught:
                call(values)
            self.assertNotIsInstance(caught.exception, OSError)
        numpy.testing.assert_array_equal(fitted.predict(2, y=values[:, :1]), fitted.predict(2))

    def test_forecaster_continues_vectors(self):
        series = numpy.array([[math.sin(i / 3), math.cos(i / 5)] for i in range(200)])
        fitted = NetworkForecaster("lstm:4", steps=5, threads=1).fit(series)
        self.assertEqual(fitted.predict(4, samples=10).shape, (4, 2))
        with self.assertRaisesRegex(ValueError, "not finite"):
            fitted.fit([1.0, math.nan, 2.0])
        for wrong in ([1 + 2j, 3], numpy.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
                      numpy.ma.masked_array([1.0, 2, 3], [0, 1, 0])):
            with self.assertRaisesRegex(ValueError, "a series: "):
                fitted.fit(wrong)
        for horizon in (0, -1):
            with self.assertRaisesRegex(ValueError, "at least 1"):
                fitted.predict(horizon)
        for horizon in (1.7, "3"):
            with self.assertRaises(TypeError):
                fitted.predict(horizon)
        for samples in (0, -1, 10**7):
            with self.assertRaisesRegex(ValueError, "samples must be between 1 and 1000000"):
                fitted.predict(3, samples=samples)


def pairs(count, seed=1):
    """Returns bits: the second mostly equals the first, and the third is independent."""
    source = numpy.random.default_rng(seed)
    first = source.random(count) < 0.5
    second = numpy.where(source.random(count) < 0.9, first, ~first)
    return numpy.stack([first, second, source.random(count) < 0.25], axis=1).astype(float)


class DensityTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = pairs(600)
        cls.fitted = DensityEstimator("nade:8", optimizer="adam:rate=0.02", steps=300, **SMALL).fit(cls.rows)

    def test_row_probabilities_sum_to_one_and_approximate_the_truth(self):
        every = numpy.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], dtype=float)
        p = numpy.exp(self.fitted.score_samples(every))
        self.assertAlmostEqual(p.sum(), 1, places=5)
        truth = [0.5 * (0.9 if a == b else 0.1) * (0.25 if c else 0.75) for a, b, c in every]
        self.assertLess(abs(p - truth).max(), 0.06)
        self.assertAlmostEqual(self.fitted.score(every), math.fsum(numpy.log(p)) / 8, places=5)

    def test_samples_have_the_shape_and_statistics_of_the_rows(self):
        drawn = self.fitted.sample(400, random_state=3)
        self.assertEqual(drawn.shape, (400, 3))
        self.assertTrue(numpy.isin(drawn, (0, 1)).all())
        self.assertGreater((drawn[:, 0] == drawn[:, 1]).mean(), 0.8)
        numpy.testing.assert_array_equal(drawn, self.fitted.sample(400, random_state=3))
        for generator in (numpy.random.RandomState, numpy.random.default_rng):
            numpy.testing.assert_array_equal(self.fitted.sample(5, random_state=generator(0)),
                                             self.fitted.sample(5, random_state=generator(0)))

    def test_missing_values_are_filled_and_known_values_kept(self):
        filled = self.fitted.fill([[1, math.nan, 0], [0, math.nan, 1]], how="best")
        numpy.testing.assert_array_equal(filled, [[1, 1, 0], [0, 0, 1]])

    def test_numbers_have_a_density(self):
        source = numpy.random.default_rng(1)
        rows = source.normal(3, 2, size=(300, 1)) + source.normal(0, 0.5, size=(300, 2))
        fitted = DensityEstimator("rnade:10,components=2", steps=400, **SMALL).fit(rows)
        self.assertGreater(fitted.score(rows), fitted.score(rows * [1, -1]))
        self.assertEqual(fitted.sample(5).shape, (5, 2))

    def test_density_depends_on_the_numbers(self):
        self.assertRegex(DensityEstimator(**SMALL).fit(self.rows).figures_["model"], "nade:|bernoulli-mixture:")
        numbers = numpy.random.RandomState(1).normal(size=(60, 2))
        self.assertRegex(DensityEstimator(**SMALL).fit(numbers).figures_["model"], "gaussian-mixture:1")
        few = DensityEstimator(**SMALL).fit(numbers[:5])
        self.assertEqual(few.figures_["model"].split(",")[0], "gaussian-mixture:1")

    def test_pickle_scores_the_same(self):
        again = pickle.loads(pickle.dumps(self.fitted))
        numpy.testing.assert_array_equal(again.score_samples(self.rows), self.fitted.score_samples(self.rows))

    def test_errors_describe_the_problem(self):
        with self.assertRaises(NotFittedError):
            DensityEstimator().sample(3)
        with self.assertRaisesRegex(ValueError, "2 columns, but the model has 3"):
            self.fitted.score_samples([[0, 1]])
        with self.assertRaisesRegex(ValueError, "not finite"):
            self.fitted.fit([[0, math.nan]])


class SymbolModelTest(unittest.TestCase):
    def test_symbol_model_distinguishes_its_language(self):
        fitted = SymbolModel("lstm:12", optimizer="adam:rate=0.02", steps=80, threads=1,
                             options={"window": 16, "batch": 4}).fit(["abcabcabc" * 40] * 4)
        usual, unusual = fitted.score_samples(["abcabcabc", "cbacbacba"])
        self.assertGreater(usual, unusual)
        self.assertAlmostEqual(fitted.score("abcabcabc"), usual / 9, places=6)
        samples = fitted.sample(2, length=9)
        self.assertEqual([len(s) for s in samples], [9, 9])
        again = pickle.loads(pickle.dumps(fitted))
        numpy.testing.assert_array_equal(again.score_samples(["abc"]), fitted.score_samples(["abc"]))
        self.assertIsInstance(fitted.model_, unfold.Model)
        for ask in (fitted.fit, fitted.score, fitted.score_samples):
            with self.assertRaisesRegex(ValueError, "text 1 must be a str or bytes, not int"):
                ask(["a", 2])
        with self.assertRaisesRegex(ValueError, "no texts"):
            fitted.score([])

    def test_symbols_unseen_in_fit(self):
        each = math.log(1_112_064)  # all Unicode characters
        for symbols, known, unseen, count in (("chars", "to be", "tqo b\u20ace\u20ac", 3), ("words", "to be", "to qq be", 2)):
            fitted = SymbolModel("ngram:3", symbols=symbols).fit(["to be or not to be\n" * 20])
            with self.assertRaises(unfold.DataError):
                fitted.score_samples([unseen])
            fitted.set_params(unknown="skip")
            plain, skipped = fitted.score_samples([known, unseen])
            self.assertEqual(plain, skipped)
            fitted.set_params(unknown="surprise")
            self.assertAlmostEqual(fitted.score_samples([unseen])[0], plain - count * each, places=4)
            self.assertLess(fitted.score([unseen]), fitted.score([known]))
            self.assertEqual(fitted.score_samples([known])[0], plain)
        nothing_known = SymbolModel("ngram:3", unknown="surprise").fit(["to be " * 40])
        self.assertAlmostEqual(nothing_known.score(["\u65e5\u672c"]), -each, places=5)
        with self.assertRaisesRegex(ValueError, "surprise"):
            fitted.set_params(unknown="surprised").score(["to be"])

    def test_unseen_symbols_count_as_in_the_command(self):
        lines = ["to be or not to be", "or not"] * 20
        fitted = SymbolModel("ngram:3", unknown="surprise", options={"lines": True}).fit(["".join(f"{one}\n" for one in lines)])
        with tempfile.TemporaryDirectory() as folder:
            model, text = pathlib.Path(folder, "m.safetensors"), pathlib.Path(folder, "text")
            model.write_bytes(fitted.model_bytes_)
            text.write_text("to be x\u20ac\n", encoding="utf-8")
            rows = command("score", model, text, "--by", "line", "--unknown", "surprise", "--json")
        bits = json.loads(rows)["scores"][0]["bits"]
        self.assertAlmostEqual(fitted.score_samples(["to be x\u20ac\n"])[0], -bits * math.log(2), places=4)


if __name__ == "__main__":
    unittest.main()
