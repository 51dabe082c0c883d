"""Arguments of callers: every kind of path and of number sequence is accepted; invalid values raise clear errors.
TESTED_MODELS: the golden models of the command.
"""

import inspect
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
import unittest

import numpy

import unfold
from scratch import Folder

GOLDEN = pathlib.Path(os.environ["TESTED_MODELS"])
TEXT = "the sea is deep\nthe sail is lost\n"


def golden(name):
    return GOLDEN / (name + ".safetensors")


class SignatureTest(unittest.TestCase):
    def test_train_lists_every_setting_with_its_help(self):
        signature = inspect.signature(unfold.train)
        others = {"data", "text", "out", "progress", "resume", "overwrite"}
        self.assertEqual(set(unfold.settings()) - others, set(signature.parameters) - others)
        self.assertEqual(signature.parameters["whole_sequences"].annotation, "bool | None")
        self.assertIn("sequences per batch", inspect.getdoc(unfold.train))


class RangesTest(Folder):
    def refused(self, what, ask):
        with self.assertRaisesRegex(unfold.UsageError, what):
            ask()

    def test_a_sequence_without_a_header_is_scored_like_a_record(self):
        for records in (">a\n" + "ACGTTGCA\n" * 30, "".join(f">r{i}\nACGTTGCA\n" for i in range(30))):
            data = self.write("genome.fa", records)
            model = unfold.train(data, out=self.path("run"), overwrite=True, model="ngram:3", threads=1).model
            numpy.testing.assert_array_equal(model.score("ACG\nTT"), model.score(">x\nACGTT\n"))
            with self.assertRaisesRegex(ValueError, 'the text: "x" at offset 2'):
                model.score("ACxT")

    def test_sample_and_position_counts_have_the_ranges_of_the_command(self):
        data = self.write("data.csv", "value\n" + "1\n2.5\n" * 20)
        model = unfold.train(data, out=self.path("run"), format="table", read="value", predict="value", ahead=1,
                             model="lstm:2", steps=1, batch=1, window=4, threads=1).model
        self.refused("samples must be between 1 and 1000000, not 0", lambda: model.predict(data, ahead=2, samples=0))
        self.refused("ahead must be between 0 and 1000000, not -1", lambda: model.predict(data, ahead=-1))
        self.refused("ahead must be between 0 and 1000000, not 10{15}", lambda: model.predict(data, ahead=10**15))
        self.refused("threads must be between 0 and 1024, not 1000000000", lambda: model.predict(data, threads=10**9))
        self.assertEqual(len(model.predict(data, ahead=2, samples=3)[0]["value.mean"]), 2)

    def test_text_counts_have_the_ranges_of_the_command(self):
        model = unfold.load(golden("lstm"))
        for count in (-3, 0, 10**10):
            self.refused("count", lambda: model.sample(3, count=count))
        self.refused("beam", lambda: model.complete("t", beam=0))
        self.refused("threads", lambda: model.score(TEXT, threads=10**9))

    def test_vector_counts_have_the_ranges_of_the_command(self):
        table = self.write("table", "a,b\n" + "0,1\n1,0\n" * 30)
        model = unfold.train(table, out=self.path("run"), format="table", model="nade:3", steps=2, threads=1).model
        holes = self.write("holes", "a,b\n,1\n")
        for how in ("mean", "best", "sample"):
            self.refused("samples must be between 1", lambda: model.fill(holes, samples=0, how=how))
        for count in (-1, 0, 2**40):
            self.refused("count must be between 1 and", lambda: model.sample_rows(count))
        self.assertEqual(len(model.fill([pathlib.Path(holes)])), 1)
        self.assertEqual(len(model.score_examples(pathlib.Path(table))), 60)


class PathsTest(Folder):
    def test_path_is_str_or_path_like(self):
        model = unfold.load(golden("lstm"))
        text = pathlib.Path(self.write("text", TEXT))
        said = model.eval(str(text))
        for data in (text, [text], (str(text),), iter([text])):
            self.assertEqual(model.eval(data), said)
        model.save(pathlib.Path(self.path("copy")))
        self.assertEqual(unfold.load(self.path("copy")).spec, model.spec)
        run = unfold.train(text, out=pathlib.Path(self.path("run")), model="lstm:2", steps=1, threads=1, lines=False,
                           valid=text)
        self.assertTrue(os.path.exists(os.path.join(run.path, "model.safetensors")))

    def test_non_text_file_names_are_found(self):
        name = os.path.join(os.fsencode(self.folder), b"caf\xe9")
        with open(name, "w", encoding="utf-8") as file:
            file.write(TEXT)
        self.assertGreater(unfold.load(golden("lstm")).eval(os.fsdecode(name))["symbols"], 0)
        with self.assertRaises(unfold.DataError):
            unfold.load(golden("lstm")).eval(os.fsdecode(name) + ".not")

    def test_other_path_types_raise_type_error(self):
        model, fields = unfold.load(golden("lstm")), unfold.load(golden("fields-tagger"))
        for ask in (lambda: unfold.load(None), lambda: model.save(3), lambda: unfold.train("text", out=b"run")):
            with self.assertRaisesRegex(TypeError, "str or os.PathLike\\), not"):
                ask()
        for ask in (lambda: model.eval(5), lambda: fields.predict(3.5),
                    lambda: unfold.train(5, out=self.path("run"))):
            with self.assertRaisesRegex(TypeError, "must be paths, arrays, .* not (int|float)"):
                ask()
        for ask in (lambda: model.eval([5]), lambda: fields.score_examples(["a", "b"]),
                    lambda: unfold.train([None], out=self.path("run"))):
            with self.assertRaises(ValueError):
                ask()
        for ask in (lambda: unfold.load("a\0b"), lambda: unfold.train("text", out="a\0b"),
                    lambda: unfold.train("a\0b", out=self.path("run"))):
            with self.assertRaisesRegex(ValueError, "null"):
                ask()

    def test_text_arguments_are_accepted(self):
        model = unfold.load(golden("lstm"))
        for ask in (model.score, model.encode, model.stream().push, lambda text: model.sample(3, prime=text),
                    lambda text: model.eval(text=text)):
            with self.assertRaises(UnicodeEncodeError):
                ask("\udcff")
        with self.assertRaises(UnicodeEncodeError):
            unfold.train("text", out=self.path("run"), model="\udcff")
        with self.assertRaisesRegex(TypeError, "expected a str or bytes, not list"):
            model.score(["a"])

    def test_text_models_have_no_parts(self):
        with self.assertRaisesRegex(unfold.UsageError, "split and part apply to files"):
            unfold.load(golden("lstm")).eval(text=TEXT, part="test")


class LoadedTest(Folder):
    """A loaded model does not depend on its file."""

    def test_loaded_model_survives_replacing_or_moving_its_file(self):
        with open(golden("fields-tagger"), "rb") as file:
            original = file.read()
        with open(self.path("model"), "wb") as file:
            file.write(original)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        model = unfold.load("model")
        data = GOLDEN / "chunks.txt"
        predicted, figures, scores = model.predict(data), model.eval(data), model.score_examples(data)
        with open(golden("lstm"), "rb") as file, open("model", "wb") as over:
            over.write(file.read())
        os.chdir(before)
        self.assertEqual(model.predict(data), predicted)
        self.assertEqual(model.eval(data), figures)
        self.assertEqual(model.score_examples(data), scores)
        for again in (pickle.loads(pickle.dumps(model)), unfold.Model.from_bytes(original)):
            self.assertEqual(again.predict(data), predicted)
            self.assertEqual(again.eval([data]), figures)

    def test_loaded_symbol_model_survives_replacing_its_file(self):
        text = self.write("text", TEXT)
        model = unfold.load(golden("lstm"))
        self.assertEqual(unfold.Model.from_bytes(model.to_bytes()).eval(text), model.eval(text))


class SymbolsTest(unittest.TestCase):
    def setUp(self):
        self.model = unfold.load(golden("lstm"))
        self.stream = self.model.stream()

    def test_any_integer_type_is_decoded(self):
        symbols = self.model.encode(TEXT)
        for given in (symbols, symbols.astype("int64"), symbols.astype("uint8"), symbols.astype(">i4"),
                      symbols.tolist(), tuple(symbols.tolist()), iter(symbols.tolist()), symbols[::-1][::-1]):
            self.assertEqual(self.model.decode(given), TEXT)
        self.assertEqual(self.model.decode([]), "")

    def test_non_integer_raises_type_error(self):
        for given in ([1.0], numpy.array([1.5]), numpy.array([True]), [False], ["a"], "text", b"text", 5, None,
                      numpy.array([[1, 2]])):
            with self.assertRaisesRegex(TypeError, "must be .*integer"):
                self.model.decode(given)
        for given in (1.5, True, numpy.True_, None, [1]):
            with self.assertRaisesRegex(TypeError, "a symbol must be an integer, not"):
                self.stream.push(given)

    def test_out_of_range_raises_usage_error(self):
        for number in (2**32 + 1, 2**31, 2**70, -1, -(2**70), 10000):
            with self.assertRaisesRegex(unfold.UsageError, f"symbol {number} is not in an alphabet"):
                self.model.decode([number])
            with self.assertRaisesRegex(unfold.UsageError, f"symbol {number} is not in an alphabet"):
                self.stream.push(number)
        with self.assertRaises(unfold.UsageError):
            self.model.decode(numpy.array([2**32 + 1]))


class FlagsTest(Folder):
    settings = {"model": "lstm:2", "steps": 1, "window": 4, "batch": 2, "threads": 1}

    def whole(self, value):
        run = unfold.train(self.write("text", TEXT * 20), out=self.path("run"), overwrite=True, lines=value,
                           **self.settings)
        with open(os.path.join(run.path, "config.toml"), encoding="utf-8") as file:
            return "lines = true" in file.read()

    def test_flags_are_true_or_false(self):
        for value, on in ((True, True), (numpy.bool_(True), True), (1, True), ("true", True), (False, False),
                          (numpy.bool_(False), False), (0, False), ("false", False)):
            with self.subTest(value=value):
                self.assertEqual(self.whole(value), on)

    def test_other_flag_values_are_rejected(self):
        for value in ("no", "rubbish", "", 2):
            with self.assertRaisesRegex(unfold.UsageError, "lines must be true or false"):
                self.whole(value)
        for name in ("resume", "overwrite"):
            with self.assertRaisesRegex(TypeError, f"{name} must be True or False, not str"):
                unfold.train("text", out=self.path("run"), **{name: "no"})


class InterruptTest(Folder):
    def seconds_to_stop(self, work, setup=f"model = unfold.load({str(golden('lstm'))!r})"):
        """Returns how long a program continues after an interrupt."""
        program = ("import sys, numpy, unfold\n"
                   f"{setup}\n"
                   "print('on', flush=True)\n"
                   "try:\n"
                   f"    {work}\n"
                   "except KeyboardInterrupt:\n"
                   "    sys.exit(77)\n")
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        self.assertEqual(process.wait(timeout=60), 77)
        return time.perf_counter() - start

    def test_long_work_stops_soon_after_an_interrupt(self):
        long = self.write("long", TEXT * 2_000_000)  # takes minutes
        for work in ("model.complete('t', beam=500, length=1_000_000)",
                     f"model.score({TEXT!r} * 2_000_000, threads=1)",
                     f"model.eval({long!r}, threads=1)",
                     f"model.eval(text={TEXT!r} * 2_000_000, threads=1)"):
            with self.subTest(work):
                self.assertLess(self.seconds_to_stop(work), 20)

    def test_forecasts_stop_soon_after_an_interrupt(self):
        setup = ("from unfold.estimators import NetworkForecaster; y = numpy.sin(numpy.arange(2000) / 9); "
                 "model = NetworkForecaster('lstm:64', steps=2, threads=1).fit(y)")
        for work in ("model.predict(3000, samples=100_000)",  # take minutes
                     "model.predict(1_000_000, samples=5)",
                     "NetworkForecaster('lstm:256', steps=100_000, threads=1).fit(y)",
                     "model.partial_fit(numpy.tile(y, 3_000))"):
            with self.subTest(work):
                self.assertLess(self.seconds_to_stop(work, setup), 20)

    def test_work_on_data_with_fields_stops_soon_after_an_interrupt(self):
        setup = ("x = numpy.sin(numpy.arange(4_000_000.0)).reshape(40_000, 100, 1)\n"
                 "model = unfold.train(x[:20], model='lstm:256', read='values', predict='values', ahead=1, steps=1,"
                 " threads=1).model")
        for work in ("model.eval(x, threads=1)", "model.predict(x, threads=1)", "model.score_examples(x, threads=1)",
                     "model.states(x)"):  # each takes minutes
            with self.subTest(work):
                self.assertLess(self.seconds_to_stop(work, setup), 20)


class CompletionTest(unittest.TestCase):
    def test_completions_can_be_compared(self):
        model = unfold.load(golden("lstm"))
        first, second = model.complete("the", length=4), model.complete("the", length=4)
        self.assertEqual(first, second)
        self.assertNotEqual(first[0], first[1])


if __name__ == "__main__":
    unittest.main()
