"""Data in memory gives the models and the predictions that the command gives for files with the same data."""

import importlib.util
import io
import itertools
import json
import unittest
import warnings

import numpy

import unfold
from scratch import Folder, command

SMALL = {"model": "gru:4", "steps": 6, "threads": 1}
OPTIONS = ("--model", "gru:4", "--steps", 6, "--threads", 1, "--quiet")
TEXT = "the sea is deep\nthe sail is lost\n" * 40


def model_of(path):
    with open(path + "/model.safetensors", "rb") as file:
        return file.read()


def jsonl(examples):
    return "".join(json.dumps(one) + "\n" for one in examples)


class BytesTest(Folder):
    """The model files of data in memory and of files are equal byte for byte."""

    def same(self, data, file, *options, **settings):
        command("train", file, "--out", self.path("run"), "--overwrite", *OPTIONS, *options)
        run = unfold.train(data, **{**SMALL, **settings})
        self.assertIsNone(run.path)
        self.assertEqual(run.model_bytes, model_of(self.path("run")))
        return run

    def save(self, name, *arrays, **named):
        (numpy.savez if named else numpy.save)(self.path(name), *arrays, **named)
        return self.path(name)

    def test_arrays_of_every_shape(self):
        random = numpy.random.RandomState(1)
        for shape in ((80,), (80, 3), (30, 9, 2)):
            array = random.normal(size=shape)
            with self.subTest(shape):
                self.same(array, self.save("data.npy", array))

    def test_every_type_and_stride_of_numbers(self):
        whole = numpy.random.RandomState(2).randint(-50, 50, size=(90, 4))
        for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                     "float64", ">f8", ">i4", "longdouble"):
            array = whole.astype(kind)
            plain = array.astype("float64")
            for view, values in ((array[::2, ::-1], plain[::2, ::-1]), (array.T[1], plain.T[1]),
                                 (numpy.asfortranarray(array), plain), (array[:, 1:3], plain[:, 1:3])):
                view.setflags(write=False)
                with self.subTest(kind, strides=view.strides):
                    a = unfold.train(view, **{**SMALL, "steps": 1}).model_bytes
                    self.assertEqual(a, unfold.train(values.copy(), **{**SMALL, "steps": 1}).model_bytes)

    def test_missing_values_are_nan(self):
        array = numpy.random.RandomState(3).normal(size=(90, 2))
        array[::7] = numpy.nan
        self.same(array, self.save("data.npy", array))
        array[3, 1] = numpy.inf
        with self.assertRaisesRegex(unfold.DataError, "not finite"):
            unfold.train(array, **SMALL)

    def test_named_arrays(self):
        random = numpy.random.RandomState(4)
        data = {"x": random.normal(size=(40, 6, 2)), "value": random.normal(size=(40, 6))}
        self.same(data, self.save("data.npz", **data), "--read", "x", "--predict", "value", read="x", predict="value")

    def test_ragged_sequences_with_labels(self):
        random = numpy.random.RandomState(5)
        lengths = random.randint(2, 8, size=40)
        data = {"x": [random.normal(size=n) for n in lengths], "label": [str(n % 2) for n in lengths]}
        lines = jsonl({"x": x.tolist(), "label": label} for x, label in zip(data["x"], data["label"]))
        run = self.same(data, self.write("data.jsonl", lines))
        self.assertEqual(run.figures["format"], "jsonl")

    def test_sequences_of_words(self):
        data = {"word": [["a", "b"], ["b"], ["a", "a", "b"]] * 20, "tag": [["X", "Y"], ["Y"], ["X", "X", "Y"]] * 20}
        lines = jsonl({"word": w, "tag": t} for w, t in zip(data["word"], data["tag"]))
        self.same(data, self.write("data.jsonl", lines), "--model", "bilstm:4", model="bilstm:4")

    def test_texts(self):
        self.write("text", TEXT)
        command("train", self.path("text"), "--out", self.path("run"), *OPTIONS)
        for given in ({"data": TEXT.encode()}, {"text": TEXT}, {"text": TEXT.encode()}):
            self.assertEqual(unfold.train(**given, **SMALL).model_bytes, model_of(self.path("run")))
        fitted = unfold.train(text=[TEXT, TEXT[:50]], model="ngram:3")
        self.assertEqual(fitted.model.spec, "ngram:3")

    def test_a_run_folder_can_be_written_and_resumed(self):
        array = numpy.sin(numpy.arange(200) / 5)
        settings = {**SMALL, "optimizer": "adam:rate=0.01"}
        whole = unfold.train(array, out=self.path("whole"), **{**settings, "steps": 20})
        self.assertEqual(whole.model_bytes, unfold.train(array, **{**settings, "steps": 20}).model_bytes)
        unfold.train(array, out=self.path("cut"), **{**settings, "steps": 8})
        unfold.train(array, out=self.path("cut"), resume=True, steps=20)
        self.assertEqual(model_of(self.path("cut")), model_of(self.path("whole")))
        with self.assertRaisesRegex(unfold.UsageError, "pass the same data"):
            unfold.train(out=self.path("cut"), resume=True, steps=30)

    def test_validation_and_test_data(self):
        random = numpy.random.RandomState(6)
        arrays = [random.normal(size=(60, 2)) for _ in range(3)]
        files = [self.save(f"{i}.npy", array) for i, array in enumerate(arrays)]
        run = self.same(arrays[0], files[0], "--valid", files[1], "--test", files[2], valid=arrays[1], test=arrays[2])
        self.assertIsNotNone(run.figures["test"])


@unittest.skipIf(importlib.util.find_spec("pandas") is None, "pandas is not installed")
class PandasTest(Folder):
    def frame(self):
        import pandas

        random = numpy.random.RandomState(7)
        return pandas.DataFrame({"load": random.normal(size=80), "count": random.randint(9, size=80),
                                 "state": random.choice(["low", "high"], size=80)})

    def same(self, frame, *options, **settings):
        file = self.write("data.csv", frame.to_csv(index=False))
        command("train", file, "--out", self.path("run"), "--overwrite", *OPTIONS, *options)
        run = unfold.train(frame, **{**SMALL, **settings})
        self.assertEqual(run.model_bytes, model_of(self.path("run")))
        return run.model, file

    def test_frames_are_tables(self):
        frame = self.frame()
        model, file = self.same(frame, "--predict", "load", predict="load")
        self.assertEqual(model.predict(frame), model.predict(file))
        self.assertEqual(model.eval(frame), model.eval(file))
        self.assertEqual(model.score_examples(frame, by="symbol"), model.score_examples(file, by="symbol"))

    def test_missing_cells_and_sequences(self):
        frame = self.frame()
        frame.loc[3, "load"] = numpy.nan
        frame["unit"] = numpy.repeat(["a", "b", "c", "d"], 20)
        self.same(frame, "--predict", "load", "--sequences", "unit", predict="load", sequences="unit")
        frame["unit"] = numpy.repeat([1, 2, 3, 4], 20)
        self.same(frame, "--predict", "load", "--sequences", "unit", predict="load", sequences="unit")

    def test_extension_types(self):
        import pandas

        frame = self.frame()
        model = unfold.train(frame, predict="load", **SMALL).model_bytes
        other = frame.astype({"count": "Int64", "state": "category"})
        self.assertEqual(unfold.train(other, predict="load", **SMALL).model_bytes, model)
        if importlib.util.find_spec("pyarrow"):
            import pyarrow

            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            self.assertEqual(unfold.train(table, predict="load", **SMALL).model_bytes, model)
        if importlib.util.find_spec("polars"):
            import polars

            self.assertEqual(unfold.train(polars.DataFrame(frame.to_dict("list")), predict="load",
                                          **SMALL).model_bytes, model)
        self.assertTrue(pandas.isna(frame.loc[0, "load"]) is not None)


def known(name):
    return importlib.util.find_spec(name) is not None


@unittest.skipUnless(known("pyarrow"), "pyarrow is not installed")
class ArrowTest(Folder):
    """Tables of the Arrow C stream interface are read like CSV files with the same contents."""

    ROWS = 90

    def columns(self):
        import datetime
        import decimal

        days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(self.ROWS)]
        return {"when": days, "load": [(i * 37 % 50) / 8 for i in range(self.ROWS)],
                "count": [None if i == 7 else i * 11 % 9 for i in range(self.ROWS)],
                "price": [decimal.Decimal(i * 13 % 40) / 4 for i in range(self.ROWS)],
                "state": [["low", "high", "off"][i % 3] for i in range(self.ROWS)],
                "open": [i % 4 == 0 for i in range(self.ROWS)],
                "id": [9007199254740993 + i for i in range(self.ROWS)]}

    def csv(self):
        rows = [",".join(self.columns())]
        for values in zip(*self.columns().values()):
            rows.append(",".join("" if value is None else str(value) for value in values))
        with open(self.path("data.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        return self.path("data.csv")

    def test_types_chunks_and_dictionaries_give_the_model_of_the_file(self):
        import pyarrow

        model = unfold.train(self.csv(), predict="load", **SMALL).model_bytes
        table = pyarrow.table(self.columns())
        plain = table.schema
        texts = plain.set(plain.get_field_index("state"), pyarrow.field("state", pyarrow.large_string()))
        views = plain.set(plain.get_field_index("state"), pyarrow.field("state", pyarrow.string_view()))
        chunks = pyarrow.concat_tables([table.slice(0, 17), table.slice(17, 40), table.slice(57)])
        index = plain.get_field_index("state")
        coded = table.set_column(index, "state", table["state"].dictionary_encode())
        for same in (table, chunks, coded, table.cast(texts), table.cast(views), table.to_reader(),
                     table.to_batches()[0]):
            with self.subTest(type(same)):
                self.assertEqual(unfold.train(same, predict="load", **SMALL).model_bytes, model)
        if known("polars"):
            import polars

            frame = polars.DataFrame(self.columns())
            self.assertEqual(unfold.train(frame, predict="load", **SMALL).model_bytes, model)

    def test_times_and_lists_are_read(self):
        import datetime

        import pyarrow

        start = datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone.utc)
        times = [start + datetime.timedelta(minutes=20 * i) for i in range(self.ROWS)]
        load = [(i * 37 % 50) / 8 for i in range(self.ROWS)]
        with open(self.path("data.csv"), "w", encoding="utf-8") as file:
            file.write("when,load\n" + "".join(f"{t:%Y-%m-%d %H:%M:%S}Z,{x}\n" for t, x in zip(times, load)))
        model = unfold.train(self.path("data.csv"), predict="load", **SMALL).model_bytes
        table = pyarrow.table({"when": pyarrow.array(times, pyarrow.timestamp("ns", "UTC")), "load": load})
        self.assertEqual(unfold.train(table, predict="load", **SMALL).model_bytes, model)
        lists = {"word": [["it", "rains"], ["sun"]] * 20, "x": [[1.5, 2.5], [3.5]] * 20, "label": ["a", "b"] * 20}
        examples = [dict(zip(lists, values)) for values in zip(*lists.values())]
        with open(self.path("data.jsonl"), "w", encoding="utf-8") as file:
            file.write(jsonl(examples))
        model = unfold.train(self.path("data.jsonl"), **SMALL).model_bytes
        self.assertEqual(unfold.train(pyarrow.table(lists), **SMALL).model_bytes, model)

    def test_faults_are_named(self):
        import pyarrow

        for table, what in ((pyarrow.table({"x": pyarrow.array([], pyarrow.float64())}), "no rows"),
                            (pyarrow.table({"x": [[1.0], []]}), "row 2: the list is empty"),
                            (pyarrow.table({"x": [1.0, float("inf")]}), "row 2: a number is not finite")):
            with self.subTest(what), self.assertRaisesRegex(unfold.DataError, what):
                unfold.train(table, **SMALL)


class ModelTest(Folder):
    def test_predictions_on_arrays_are_those_on_files(self):
        array = numpy.random.RandomState(8).normal(size=(60, 2))
        numpy.save(self.path("data.npy"), array)
        model = unfold.train(array, **SMALL).model
        for ahead in (0, 3):
            self.assertEqual(model.predict(array, ahead=ahead, samples=5),
                             model.predict(self.path("data.npy"), ahead=ahead, samples=5))
        self.assertEqual(model.eval(array.astype("float64")[::1]), model.eval(self.path("data.npy")))

    def test_parameters_have_names_and_are_arrays(self):
        model = unfold.train(text=TEXT, **SMALL).model
        parameters = model.parameters()
        self.assertEqual(sum(array.size for array in parameters.values()), model.parameter_count)
        with self.assertRaises(ValueError):
            next(iter(parameters.values()))[...] = 0
        self.assertIn("gru:4", model._repr_html_())

    def test_states_are_those_of_the_parameters(self):
        model = unfold.train(text=TEXT, **{**SMALL, "model": "rnn:5"}).model
        states = model.states(text="the sea")["layer1"]
        self.assertEqual(states.shape, (7, 5))
        numpy.testing.assert_array_equal(states[:3], model.states(text="the")["layer1"])
        sequences = [numpy.arange(n, dtype=float) for n in (5, 3)]
        found = unfold.train(sequences * 20, **SMALL).model.states(sequences, gates=True)
        self.assertEqual([one["layer1"].shape for one in found], [(5, 4), (3, 4)])
        self.assertTrue(any("layer1 " in name for name in found[0]))
        with self.assertRaisesRegex(unfold.UsageError, "exactly one"):
            model.states()

    def test_errors_are_in_the_words_of_python(self):
        for wrong in (5, object(), 3.5):
            with self.assertRaises(TypeError):
                unfold.train(wrong, **SMALL)
        with self.assertRaisesRegex(unfold.DataError, "different lengths"):
            unfold.train({"a": [[1, 2], [3]], "b": [[1, 2], [3, 4]]}, **SMALL)
        with self.assertRaisesRegex(unfold.UsageError, "restarts requires a run folder"):
            unfold.train(text=TEXT, restarts=2, **SMALL)
        with self.assertRaisesRegex(unfold.UsageError, "at the same position; ahead 1 predicts"):
            unfold.train(numpy.arange(40.0), ahead=0, read="values", predict="values", **SMALL)
        with self.assertRaises(FileNotFoundError) as caught:
            unfold.train(self.path("nothing"), **SMALL)
        self.assertIsInstance(caught.exception, unfold.DataError)
        with self.assertRaises(FileNotFoundError) as caught:
            unfold.load(self.path("nothing"))
        self.assertIsInstance(caught.exception, unfold.ModelError)

    def test_notes_are_logged(self):
        with self.assertLogs("unfold", "INFO") as logs:
            unfold.train(numpy.arange(40.0), **SMALL)
        self.assertIn("examples", " ".join(logs.output))

    def test_a_run_has_a_log_and_a_table(self):
        run = unfold.train(text=TEXT, **SMALL)
        self.assertIn("done", {event["event"] for event in run.log})
        self.assertIn("gru:4", run._repr_html_())
        stream = io.StringIO()
        from unfold.training import _Line

        _Line(stream)({"event": "remark", "text": "note"})
        self.assertEqual(stream.getvalue(), "note\n")

    def test_a_missing_column_has_a_warning(self):
        rows = [("page is slow", "high", "web"), ("wrong invoice", "low", "billing"), ("page is down", "low", "web")]
        tickets = self.write("tickets.csv", "subject,priority,queue\n" + "".join(f"{a} {i},{b},{c}\n" for i in range(20)
                                                                                for a, b, c in rows))
        subjects = self.write("subjects.csv", "subject\n" + "".join(f"{a}\n" for a, _, _ in rows))
        model = unfold.train(tickets, predict="queue", model="bag:4,pool=mean", steps=4, threads=1).model
        with self.assertWarnsRegex(UserWarning, 'column "priority", which the model reads, is absent.*in validation'):
            self.assertEqual(len(model.predict(subjects)), 3)
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(subjects, progress=seen.append)
            model.predict(tickets)
            with self.assertRaisesRegex(UserWarning, "is absent"):
                model.predict(subjects)
        self.assertIn("warning", [event["event"] for event in seen])

    def test_data_in_memory_that_does_not_fit_is_no_missing_file(self):
        rng = numpy.random.RandomState(0)
        model = unfold.train(rng.normal(size=(9, 5, 3)), **SMALL).model
        for call in (model.predict, model.eval, model.score_examples, model.states):
            with self.assertRaises(unfold.DataError) as caught:
                call(numpy.zeros((3, 5, 2)))
            self.assertNotIsInstance(caught.exception, FileNotFoundError)
            self.assertRegex(str(caught.exception), "contains 2 numbers per position, but the model expects 3")
        with self.assertRaises(unfold.DataError) as caught:
            unfold.train(rng.normal(size=(9, 5, 3)), predict="nothing", **SMALL)
        self.assertNotIsInstance(caught.exception, FileNotFoundError)
        with self.assertRaises(FileNotFoundError):
            model.predict("nothing.npy")

    def test_hidden_states_of_a_text_equal_those_of_all_paths(self):
        model = unfold.train(text="abab" * 30 + "cccc" * 20 + "abab" * 10, model="hmm:2,iterations=3", threads=1).model
        found, text = model.states(text="abaccab"), model.encode("abaccab")
        start, step, emit = (model.parameters()[name] for name in ("initial", "transitions", "emissions"))
        paths = numpy.array(list(itertools.product(range(2), repeat=len(text))))
        p = start[paths[:, 0]] * emit[paths, text].prod(axis=1) * step[paths[:, :-1], paths[:, 1:]].prod(axis=1)
        numpy.testing.assert_array_equal(found["state"], paths[p.argmax()])
        of_second = (p[:, None] * paths).sum(axis=0) / p.sum()
        numpy.testing.assert_allclose(found["probabilities"], numpy.stack([1 - of_second, of_second], axis=1), atol=1e-12)
        for text, error in (("", unfold.UsageError), ("abx", unfold.DataError)):
            with self.assertRaises(error):
                model.states(text=text)
        with self.assertRaisesRegex(unfold.UsageError, "neither a network that reads text nor a hidden Markov model"):
            unfold.train(text="abab" * 9, model="ngram:2").model.states(text="ab")


if __name__ == "__main__":
    unittest.main()
