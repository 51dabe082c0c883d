"""The package and the command give identical bits. TESTED_COMMAND: the command; TESTED_MODELS: its golden models."""

import copy
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy

import unfold
from scratch import Folder, command
from unfold import _core

GOLDEN = os.environ["TESTED_MODELS"]
TEXT = "the sea is deep\nthe sail is lost\n"


def golden(name):
    return os.path.join(GOLDEN, name + ".safetensors")


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


class ModelTest(Folder):
    models = ["lstm", "gru", "gnn", "urnn", "ppm", "ctw", "ngram", "hmm", "lstm-words", "labels"]

    def test_scores_equal_the_command(self):
        for name in self.models:
            with self.subTest(name):
                text = TEXT if name != "labels" else "x\tthe sea is deep\ny\tthe sail is lost\n"
                printed = command("score", golden(name), self.write("text", text), "--quiet", "--unknown", "skip")
                rows = [line.split("\t") for line in printed.decode().splitlines()[1:]]
                scores = unfold.load(golden(name)).score(text, unknown="skip")
                self.assertEqual(scores.dtype, numpy.float32)
                self.assertEqual(len(rows), len(scores))
                for row, nats in zip(rows, scores):
                    said = float(row[2]) if row[2] not in ("", "-") else math.nan
                    if math.isnan(said):
                        self.assertTrue(math.isnan(nats))
                    else:
                        self.assertAlmostEqual(said, nats / math.log(2), delta=1e-4 + 1e-4 * abs(said))

    def test_a_stream_has_the_bits_of_the_score(self):
        for name in ["lstm", "gru", "urnn", "ppm", "ngram"]:  # none was trained on lines
            with self.subTest(name):
                model = unfold.load(golden(name))
                stream, symbols, scores = model.stream(), model.encode(TEXT), model.score(TEXT)
                for x, nats in zip(symbols, scores):
                    self.assertEqual(numpy.float32(stream.surprisal(x)), nats)
                    distribution = stream.push(x)
                self.assertIs(distribution, stream.log_probabilities)

    def test_results_equal_the_command(self):
        text = self.write("text", TEXT)
        said = json.loads(command("eval", golden("lstm"), text, "--json", "--quiet"))
        model = unfold.load(golden("lstm"))
        for figures in (model.eval(text), model.eval([text]), model.eval(text=TEXT)):
            for key, value in figures.items():
                self.assertEqual(value, said[key], key)

    def test_samples_and_completions_equal_the_command(self):
        model = unfold.load(golden("lstm"))
        said = command("sample", golden("lstm"), "--length", 60, "--seed", 7, "--temperature", 0.8)
        self.assertEqual(model.sample(60, seed=7, temperature=0.8), said.decode().removesuffix("\n"))
        self.assertEqual(len(model.sample(10, count=3)), 3)
        said = json.loads(command("complete", golden("lstm"), "--prime", "the", "--length", 5, "--json"))
        found = model.complete("the", length=5)
        self.assertEqual([c.text for c in found], [c["text"] for c in said["completions"]])
        self.assertEqual(len(found[0].symbols), 5)
        self.assertAlmostEqual(found[0].log_probability, float(found[0].log_probabilities.sum()), places=4)

    def test_predictions_equal_the_command(self):
        data = os.path.join(GOLDEN, "chunks.txt")
        said = command("predict", golden("fields-tagger"), data, "--format", "jsonl", "--quiet")
        self.assertEqual(unfold.load(golden("fields-tagger")).predict([data]),
                         [json.loads(line) for line in said.decode().splitlines()])

    def test_texts_convert_to_symbols_and_back(self):
        model = unfold.load(golden("lstm"))
        self.assertEqual(model.decode(model.encode(TEXT)), TEXT)
        self.assertEqual("".join(model.alphabet[x] for x in model.encode(TEXT)), TEXT)
        self.assertEqual(model.encode(TEXT).dtype, numpy.int32)

    def test_a_model_can_be_pickled_and_saved(self):
        model = unfold.load(golden("gru"))
        again = pickle.loads(pickle.dumps(model))
        self.assertTrue((again.score(TEXT) == model.score(TEXT)).all())
        self.assertEqual(again.spec, model.spec)
        model.save(self.path("copy"))
        self.assertTrue((unfold.load(self.path("copy")).score(TEXT) == model.score(TEXT)).all())
        self.assertIn("gru", repr(model))
        self.assertEqual(model.card["model"], model.spec)

    def test_field_model_can_be_pickled(self):
        model = unfold.load(golden("fields-tagger"))
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual(again.spec, model.spec)
        self.assertEqual(again.to_bytes(), model.to_bytes())


class StreamTest(unittest.TestCase):
    def setUp(self):
        self.model = unfold.load(golden("lstm"))
        self.stream = self.model.stream()

    def test_probabilities_sum_to_one(self):
        self.stream.push("t")
        self.assertAlmostEqual(float(self.stream.probabilities().sum()), 1, places=5)

    def test_array_is_a_read_only_view_of_the_stream(self):
        view = self.stream.log_probabilities
        before = view.copy()
        self.stream.push("t")
        self.assertFalse((view == before).all())
        with self.assertRaises(ValueError):
            view[0] = 0
        del self.stream
        self.assertTrue(numpy.isfinite(view).all())

    def test_clones_are_independent(self):
        self.stream.push("t")
        before = self.stream.log_probabilities.copy()
        for clone in (self.stream.clone(), copy.copy(self.stream), copy.deepcopy(self.stream)):
            clone.push("h")
            self.assertTrue((self.stream.log_probabilities == before).all())
            self.assertFalse((clone.log_probabilities == before).all())

    def test_reset_restarts_the_stream(self):
        first = self.stream.log_probabilities.copy()
        self.stream.push("t")
        self.stream.reset()
        self.assertTrue((self.stream.log_probabilities == first).all())

    def test_symbols_may_be_numbers_or_texts(self):
        other = self.model.stream()
        self.stream.push("t")
        other.push(numpy.int32(self.model.alphabet.index("t")))
        self.assertTrue((self.stream.log_probabilities == other.log_probabilities).all())
        for wrong in (-1, 10000):
            with self.assertRaises(unfold.UsageError):
                self.stream.push(wrong)
        with self.assertRaises(unfold.UsageError):
            self.stream.push("\u2603")
        with self.assertRaises(TypeError):
            self.stream.push(1.5)

    def test_streams_of_several_threads_are_independent(self):
        symbols = self.model.encode(TEXT)

        def follow(results, i):
            stream = self.model.stream()
            for x in symbols:
                results[i] = stream.push(x).copy()

        results = [None] * 4
        threads = [threading.Thread(target=follow, args=(results, i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in results:
            self.assertTrue((one == results[0]).all())


class StreamsTest(unittest.TestCase):
    def setUp(self):
        self.model = unfold.load(golden("lstm"))
        self.symbols = self.model.encode(TEXT)

    def test_each_stream_has_the_results_of_a_separate_stream(self):
        streams = self.model.streams(3, threads=2)
        alone = [self.model.stream() for _ in range(3)]
        self.assertEqual(len(streams), 3)
        for t in range(6):
            symbols = numpy.array([self.symbols[t], -1, self.symbols[t + 1]], dtype=numpy.int32)
            expected = [0 if x < 0 else one.surprisal(x) for one, x in zip(alone, symbols)]
            self.assertEqual(streams.score(symbols).tolist(), numpy.float32(expected).tolist())
            for one, x in zip(alone, symbols):
                if x >= 0:
                    one.push(x)
            rows = streams.log_probabilities
            for i, one in enumerate(alone):
                self.assertTrue((rows[i] == one.log_probabilities).all())

    def test_symbols_may_be_texts(self):
        streams, other = self.model.streams(2), self.model.streams(2)
        index = self.model.alphabet.index("t")
        self.assertTrue((streams.push(["t", None]) == other.push([index, -1])).all())
        self.assertTrue((streams.push(numpy.array([index, index])) == other.push(["t", "t"])).all())

    def test_reset_restarts_streams(self):
        streams = self.model.streams(2)
        first = streams.log_probabilities
        pushed = streams.push(["t", "h"])
        streams.reset(0)
        self.assertTrue((streams.log_probabilities == [first[0], pushed[1]]).all())
        streams.reset()
        self.assertTrue((streams.log_probabilities == first).all())

    def test_wrong_symbols_are_refused(self):
        streams = self.model.streams(2)
        for wrong in ([0], [0, 10000], numpy.array([0, 1 << 40]), [0, "\u2603"]):
            with self.assertRaises(unfold.UsageError):
                streams.push(wrong)
        for wrong in ("th", None, [0, 1.5]):
            with self.assertRaises(TypeError):
                streams.push(wrong)
        with self.assertRaises(unfold.UsageError):
            self.model.streams(0)


class TrainTest(Folder):
    settings = {"model": "lstm:8", "steps": 30, "window": 8, "batch": 4, "threads": 1}

    def test_line_model_starts_the_next_line_after_a_line_end(self):
        text = self.write("lines", "".join(f"xab{i % 2}\n" for i in range(200)))
        for model in ("hmm:6", "ngram:3", "ppm:4"):
            with self.subTest(model):
                lines = unfold.train(text, out=self.path("lines-run"), model=model, lines=True, overwrite=True).model
                stream = lines.stream()
                first = stream.log_probabilities.copy()
                for symbol in lines.encode("xab1\n"):
                    stream.push(symbol)
                self.assertTrue((stream.log_probabilities == first).all())
                self.assertEqual(lines.sample(50, prime="xab1\n"), lines.sample(50))

    def test_trained_model_is_byte_identical_to_the_command(self):
        text = self.write("text", TEXT * 60)
        options = [a for name, value in self.settings.items() for a in ("--" + name, value)]
        command("train", text, "--out", self.path("a"), "--quiet", *options)
        run = unfold.train(text, out=self.path("b"), **self.settings)
        read = [read_bytes(self.path(f"{name}/model.safetensors")) for name in "ab"]
        self.assertEqual(*read)
        self.assertIn("bits_per_symbol", run.figures["valid"])
        self.assertEqual(run.model.spec, "lstm:8")
        self.assertTrue(run.log)

    def test_progress_is_reported_and_a_callback_can_stop_the_run(self):
        events = []
        unfold.train(self.write("text", TEXT * 60), out=self.path("run"), progress=events.append, **self.settings)
        kinds = {event["event"] for event in events}
        self.assertLessEqual({"validation", "done"}, kinds)

        def fail(event):
            raise KeyError(event["event"])

        with self.assertRaises(KeyError):
            unfold.train(self.path("text"), out=self.path("other"), progress=fail, **self.settings)

    def test_wrong_settings_raise_helpful_errors(self):
        text = self.write("text", TEXT * 60)
        with self.assertRaisesRegex(ValueError, 'train has no setting optimiser; did you mean "optimizer"'):
            unfold.train(text, out=self.path("run"), optimiser="adam")
        with self.assertRaisesRegex(unfold.UsageError, "steps must be a whole number"):
            unfold.train(text, out=self.path("run"), steps="many")
        with self.assertRaises(unfold.DataError):
            unfold.train(self.path("nothing"), out=self.path("run"))
        with self.assertRaises(unfold.ModelError) as caught:
            unfold.load(self.path("nothing"))
        self.assertEqual(caught.exception.exit_code, 4)

    def test_ctrl_c_leaves_a_checkpoint_and_the_run_resumes_to_identical_bytes(self):
        text = self.write("text", TEXT * 60)
        settings = {**self.settings, "steps": 4000}
        whole = unfold.train(text, out=self.path("whole"), **settings)
        program = (
            "import sys, unfold\n"
            "try:\n"
            f"    unfold.train({text!r}, out={self.path('cut')!r}, progress=lambda e: print('on', flush=True), "
            f"**{settings!r})\n"
            "except KeyboardInterrupt:\n"
            "    sys.exit(77)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        code = process.wait(timeout=60)
        process.stdout.close()
        if code == 77:
            self.assertTrue(os.path.exists(self.path("cut/checkpoint.safetensors")))
            unfold.train(out=self.path("cut"), resume=True)
        else:
            # The training finished before the signal arrived, which may still end the interpreter on exit.
            self.assertIn(code, (0, -signal.SIGINT))
        read = [read_bytes(self.path(f"{name}/model.safetensors")) for name in ("whole", "cut")]
        self.assertEqual(*read)
        self.assertGreater(whole.figures["steps"], 0)


class CodingTest(Folder):
    def test_archives_equal_the_command(self):
        data = TEXT.encode() * 40
        for model in ("ppm:4", "cm:memory=64"):
            packed = unfold.compress(data, model=model)
            self.assertLess(len(packed), len(data))
            self.assertEqual(unfold.decompress(packed), data)
            with open(self.path("packed"), "wb") as file:
                file.write(packed)
            self.assertEqual(command("decompress", self.path("packed"), "-o", "-"), data)
        self.assertEqual(unfold.decompress(unfold.compress(b"")), b"")
        self.assertEqual(unfold.decompress(unfold.compress(numpy.arange(10, dtype=numpy.uint8))), bytes(range(10)))

    def test_damaged_file_raises_an_error(self):
        packed = bytearray(unfold.compress(TEXT.encode() * 10))
        packed[len(packed) // 2] ^= 1
        with self.assertRaises(unfold.UnfoldError):
            unfold.decompress(packed)


class PackageTest(unittest.TestCase):
    def test_import_is_fast(self):
        best = min(self.import_time() for _ in range(3))
        self.assertLess(best, 0.3)

    @staticmethod
    def import_time():
        program = "import time; t = time.perf_counter(); import unfold; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout)

    def test_version_equals_the_command(self):
        self.assertEqual(command("--version").decode().split()[1], unfold.__version__)


if __name__ == "__main__":
    unittest.main()
