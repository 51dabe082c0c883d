"""Models in the formats of other programs, run by those programs. Programs that are not installed are skipped: onnx and
onnxruntime, torch and safetensors.
"""

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import unittest

import numpy

import unfold
from scratch import Folder

COMMAND = os.environ["TESTED_COMMAND"]
LETTERS = "abcdefghij"


def missing(*modules):
    return [module for module in modules if importlib.util.find_spec(module) is None]


def random_text(count, seed):
    return "".join(LETTERS[i] for i in numpy.random.default_rng(seed).integers(0, len(LETTERS), count))


class Exchange(Folder):
    def command(self, *arguments):
        subprocess.run([COMMAND, *map(str, arguments)], check=True, stdout=subprocess.PIPE)

    def trained(self, spec, **settings):
        """Returns a briefly trained model, so that no weight has its initial value."""
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write(random_text(3000, 1))
        settings = {"steps": 10, "batch": 4, "window": 16, "threads": 1, "overwrite": True, **settings}
        optimizer = {} if "optimizer" in settings else {"optimizer": "adam:rate=0.03"}
        unfold.train(self.path("text"), out=self.path("run"), model=spec, **optimizer, **settings)
        return unfold.load(self.path("run"))

    def exported(self, form, name):
        self.command("export", self.path("run"), "--to", form, "--out", self.path(name), "--quiet")
        return self.path(name)


def stream_of(model, symbols):
    """Returns log-probabilities before the first symbol and after each symbol but the last."""
    stream, rows = model.stream(), []
    for x in symbols:
        rows.append(stream.log_probabilities.copy())
        stream.push(int(x))
    return numpy.array(rows)


@unittest.skipIf(missing("onnx", "onnxruntime"), "onnx and onnxruntime are not installed")
class OnnxTest(Exchange):
    specs = [
        "rnn:20", "rnn:21,activation=relu,layers=3", "rnn:18,delays=1+2+5", "rnn:15,leak=learned", "rnn:15,leak=fixed",
        "lstm:20", "lstm:70,layers=2,trained-initial=true", "lstm:17,gates=hard", "lstm:33,norm=layer", "lstm:12,embedding=7,dropout=0.5",
        "gru:20", "gru:17,reset=after,layers=2,direct=1", "gru:17,reset=after,biases=2", "gru:16,norm=layer",
        "mrnn:20,factors=35", "tensor-rnn:13", "urnn:16", "mingru:20", "minlstm:19,layers=2", "sru:20,layers=2",
        "qrnn:20,layers=2", "indrnn:20", "lru:10,layers=2", "lru:11,output=linear", "slstm:20",
        "slstm:9,forget=exponential", "rhn:15", "mogrifier:20", "esn:40,readout=trained", "gnn:20,edges=3",
        "glnn:25,edges=4", "glnn:25,edges=4,activation=relu", "sparse-rnn:30,edges=3", "bag:12",
    ]
    # Their states amplify rounding errors: single log-probabilities of 100,000 differ by 2e-5 to 5e-5 in float. The
    # graph is verified in double.
    amplifying = ["rnn:18,delays=1+2+5", "mrnn:20,factors=35"]

    def session(self, file):
        import onnx
        import onnxruntime

        onnx.checker.check_model(file, full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def states(self, session, batch):
        start = json.loads(session.get_modelmeta().custom_metadata_map["start"])
        states = {}
        for value in session.get_inputs()[2:]:
            kind = numpy.float64 if "double" in value.type else numpy.float32
            states[value.name] = numpy.zeros((batch, value.shape[1]), kind)
            if value.name in start:
                states[value.name][:] = start[value.name]
        return states

    def run_on(self, session, symbols, lengths, states):
        given = {"symbols": symbols.astype(numpy.int64), "lengths": numpy.array(lengths, numpy.int64), **states}
        names = [output.name for output in session.get_outputs()]
        result = dict(zip(names, session.run(None, given)))
        return result["log_probabilities"], {name: result[name + "_out"] for name in states}

    def test_every_cell_gives_the_same_log_probabilities(self):
        for spec in self.specs:
            with self.subTest(spec):
                model = self.trained(spec, precision="double" if spec in self.amplifying else "float")
                session = self.session(self.exported("onnx", "model.onnx"))
                symbols = model.encode(random_text(10000, 2))
                read = numpy.concatenate([[-1], symbols[:-1]])[:, None]
                ours = stream_of(model, symbols)
                theirs, _ = self.run_on(session, read, [len(read)], self.states(session, 1))
                self.assertLess(numpy.abs(theirs[:, 0] - ours).max(), 1e-5)

    def test_double_models_stay_double(self):
        for spec in ["lstm:12,layers=2", "rnn:12,activation=softplus", "lstm:9,gates=hard", "rnn:9,activation=ramp"]:
            with self.subTest(spec):
                model = self.trained(spec, precision="double")
                session = self.session(self.exported("onnx", "model.onnx"))
                symbols = model.encode(random_text(1000, 2))
                read = numpy.concatenate([[-1], symbols[:-1]])[:, None]
                theirs, _ = self.run_on(session, read, [len(read)], self.states(session, 1))
                self.assertEqual(theirs.dtype, numpy.float64)
                self.assertLess(numpy.abs(theirs[:, 0] - stream_of(model, symbols)).max(), 1e-6)

    def test_ragged_batches_and_chunks_give_the_same_results(self):
        for spec in ["lstm:13,layers=2", "gru:11", "rnn:9,delays=1+3", "gnn:20,edges=3", "lstm:9,trained-initial=true"]:
            with self.subTest(spec):
                model = self.trained(spec)
                session = self.session(self.exported("onnx", "model.onnx"))
                lengths = [57, 3, 41]
                texts = [model.encode(random_text(n, 10 + n)) for n in lengths]
                read = numpy.full((60, 3), -1)
                for b, text in enumerate(texts):
                    read[1 : len(text), b] = text[:-1]
                states = self.states(session, 3)
                pieces = []
                for begin, end in [(0, 1), (1, 20), (20, 60)]:
                    left = [min(max(n - begin, 0), end - begin) for n in lengths]
                    p, states = self.run_on(session, read[begin:end], left, states)
                    pieces.append(p)
                theirs = numpy.concatenate(pieces)
                for b, text in enumerate(texts):
                    self.assertLess(numpy.abs(theirs[: len(text), b] - stream_of(model, text)).max(), 1e-5)
                    alone, last = self.run_on(
                        session, read[: len(text), b : b + 1], [len(text)], self.states(session, 1)
                    )
                    for name in states:  # the state of an ended sequence is kept
                        numpy.testing.assert_allclose(states[name][b], last[name][0], atol=1e-5)


@unittest.skipIf(missing("onnx", "onnxruntime") or not shutil.which("gcc"), "onnx, onnxruntime or gcc is not there")
class OnnxFieldsTest(Exchange):
    """Compares with the C file of the same model, which tests/interop/c/export_c_fields_test.cpp compares with the
    library.
    """

    def table(self):
        random = numpy.random.default_rng(3)
        with open(self.path("table.csv"), "w", encoding="utf-8") as file:
            file.write("load,heat,alarm,state,word\n")
            for _ in range(150):
                load = 40 + 3 * random.normal()
                state = "hot" if load > 41 else "cold"
                row = load, load / 7 + random.normal(), int(load > 41), state, random.integers(30)
                file.write("%f,%f,%d,%s,w%d\n" % row)

    def exported_twice(self, spec, read, predict, ahead):
        self.command("train", self.path("table.csv"), "--format", "table", "--read", read, "--predict", predict,
                     "--model", spec, "--steps", 20, "--threads", 1, "--out", self.path("run"), "--overwrite", "--quiet",
                     *(["--ahead", 1] if ahead else []))  # fmt: skip
        for form in ("onnx", "c"):
            self.command("export", self.path("run"), "--to", form, "--out", self.path("model." + form), "--quiet")
        library = self.path("model%d.so" % len(os.listdir(self.path("."))))  # a library is loaded only once per name
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", self.path("model.c"), "-o", library, "-lm"], check=True)
        return OnnxTest.session(self, self.path("model.onnx")), ctypes.CDLL(library)

    def told_by_c(self, library, numbers, read, outputs, labels, two):
        state = ctypes.create_string_buffer(1 << 20)
        library.model_init(state)
        rows = []
        for t in range(len(numbers)):
            given = []
            if numbers.shape[1]:
                given.append(numbers[t].ctypes.data_as(ctypes.c_void_p) if not numpy.isnan(numbers[t, 0]) else None)
            if read.shape[1]:
                row = numpy.ascontiguousarray(read[t], numpy.int32)
                given.append(row.ctypes.data_as(ctypes.c_void_p))
            kind = numpy.float32 if labels else numpy.float64
            told = [numpy.zeros(outputs, kind) for _ in range(2 if two else 1)]
            self.assertEqual(library.model_step(state, *given, *[x.ctypes.data_as(ctypes.c_void_p) for x in told]), 0)
            rows.append(numpy.concatenate(told))
        return numpy.array(rows)

    def compare(self, spec, read, predict, ahead=False):
        session, library = self.exported_twice(spec, read, predict, ahead)
        about = session.get_modelmeta().custom_metadata_map
        names, texts = json.loads(about["numbers"]), json.loads(about["read"])
        outputs = [x.name for x in session.get_outputs()]
        random = numpy.random.default_rng(5)
        lengths, time = [70, 1, 33], 70
        numbers = 41 + 5 * random.normal(size=(time, 3, len(names)))
        if ahead:
            numbers[0] = numpy.nan
        sizes = [len(x["alphabet"]["symbols"]) for x in texts]
        symbols = numpy.array([[[random.integers(-1, n) for n in sizes] for _ in range(3)] for _ in range(time)])
        inputs = {"lengths": numpy.array(lengths, numpy.int64)}
        if names:
            inputs["numbers"] = numbers
        if texts:
            inputs["read"] = symbols.astype(numpy.int64)
        start = json.loads(about["start"])
        for value in session.get_inputs():
            if value.name.startswith("state_"):
                inputs[value.name] = numpy.zeros((3, value.shape[1]), numpy.float32)
                inputs[value.name][:] = start.get(value.name, 0)
        told = dict(zip(outputs, session.run(None, inputs)))
        labels = "log_probabilities" in told
        theirs = told["log_probabilities"] if labels else told["means"]
        size = theirs.shape[2]
        if "deviations" in told:
            theirs = numpy.concatenate([theirs, told["deviations"]], axis=2)
        symbols = symbols.reshape(time, 3, len(sizes))
        for b, length in enumerate(lengths):
            given = numbers[:length, b].copy(), symbols[:length, b]
            ours = self.told_by_c(library, *given, size, labels, "deviations" in told)
            self.assertLess(numpy.abs(theirs[:length, b] - ours).max() / max(1, numpy.abs(ours).max()), 1e-5)

    def test_fields_equal_the_c_file(self):
        self.table()
        for arguments in [
            ("lstm:12", "load", "load", True),
            ("gru:9,layers=2", "load,heat", "heat=gaussian"),
            ("gru:9", "load,heat", "heat=normal"),
            ("lstm:20", "load", "alarm"),
            ("gru:9", "state", "load=gaussian"),
            ("lstm:8,embedding=5", "load,word,heat,state", "alarm"),
            ("gru:12,layers=2", "word,word.suffix1", "state"),
            ("gnn:20,edges=3", "word", "state"),
        ]:
            with self.subTest(arguments):
                self.compare(*arguments)


@unittest.skipIf(missing("torch", "safetensors"), "torch and safetensors are not installed")
class TorchTest(Exchange):
    def module(self, kind, embedding, units, layers, **options):
        import torch

        class Model(torch.nn.Module):
            def __init__(self, symbols):
                super().__init__()
                if embedding > 0:
                    self.embedding = torch.nn.Embedding(symbols + 1, embedding)
                self.symbols = symbols
                self.rnn = getattr(torch.nn, kind)(embedding or symbols, units, layers, **options)
                self.linear = torch.nn.Linear(units, symbols)

            def forward(self, x):
                if embedding > 0:
                    return self.linear(self.rnn(self.embedding(x))[0])
                hot = torch.nn.functional.one_hot(x, self.symbols + 1)[..., : self.symbols].float()
                return self.linear(self.rnn(hot)[0])

        torch.manual_seed(1)
        return Model(len(LETTERS))

    def log_probabilities(self, module, read):
        import torch

        with torch.no_grad():
            return torch.log_softmax(module(torch.tensor(read)), -1).numpy()

    cases = [
        ("RNN", "rnn:20", {}), ("RNN", "rnn:17,activation=relu", {"nonlinearity": "relu"}), ("LSTM", "lstm:20", {}),
        ("GRU", "gru:20,reset=after", {}), ("GRU", "gru:19,reset=after,biases=2", {}),
    ]

    def test_torch_loads_exports_with_equal_outputs(self):
        from safetensors.torch import load_file

        for kind, spec, options in self.cases:
            for layers, embedding in [(1, 0), (2, 6), (3, 9)]:
                with self.subTest(spec, layers=layers, embedding=embedding):
                    model = self.trained(f"{spec},layers={layers},embedding={embedding}")
                    units = int(spec.split(":")[1].split(",")[0])
                    module = self.module(kind, embedding, units, layers, **options)
                    module.load_state_dict(load_file(self.exported("safetensors", "model.safetensors")), strict=True)
                    symbols = model.encode(random_text(2000, 3))
                    read = numpy.concatenate([[len(LETTERS)], symbols[:-1]])
                    theirs = self.log_probabilities(module, read)
                    self.assertLess(numpy.abs(theirs - stream_of(model, symbols)).max(), 1e-5)

    def test_torch_files_import_with_equal_outputs(self):
        from safetensors.torch import save_file

        with open(self.path("symbols.json"), "w", encoding="utf-8") as file:
            json.dump({"kind": "chars", "symbols": LETTERS}, file)
        for kind, spec, options in self.cases:
            for layers, embedding in [(1, 0), (2, 6)]:
                with self.subTest(kind, layers=layers, embedding=embedding):
                    module = self.module(kind, embedding, 16, layers, **options)
                    save_file(module.state_dict(), self.path("weights.safetensors"))
                    relu = ["--activation", "relu"] if options else []
                    self.command("import", self.path("weights.safetensors"), "--alphabet", self.path("symbols.json"),
                                 *relu, "--out", self.path("model"))
                    model = unfold.load(self.path("model"))
                    symbols = model.encode(random_text(2000, 3))
                    read = numpy.concatenate([[len(LETTERS)], symbols[:-1]])
                    theirs = self.log_probabilities(module, read)
                    self.assertLess(numpy.abs(theirs - stream_of(model, symbols)).max(), 1e-5)


if __name__ == "__main__":
    unittest.main()
