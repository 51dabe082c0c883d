"""Circuits in Python: cells that train and are stored; derivatives checked by differences and dense matrices."""

import concurrent.futures
import json
import pickle
import subprocess
import sys
import unittest

import numpy
import unfold
from scratch import Folder, command
from unfold.circuits import (Circuit, Function, Init, Operator, Optimizer, Term, check_derivatives, register_cell,
                             relu, sigmoid, tanh)

TEXT = "the quick brown fox jumps over the lazy dog. " * 60


def leaky(c, x, n):
    h = c.link(n)
    y = 0.7 * h + 0.3 * c.affine("z", n, {"W": x, "U": h}).tanh()
    c.feed(h, y)
    return y


def gated(c, x, n):
    """A GRU with a layer normalization, an operator and a trained initial state."""
    h = c.link(n, trained_initial=True)
    z = c.affine("z", n, {"W": x, "U": Term(h, Init.orthogonal())}, bias=Init.constant(1)).sigmoid()
    g = c.affine("g", n, {"W": x, "U": z * h}).tanh()
    y = z * h + (1 - z) * g
    c.feed(h, y)
    return c.affine("norm", n, {"gain": Term(y, Init.constant(1), operator=Operator.layer_norm(n))})


def with_output(cell, symbols=False, size=3, units=4, outputs=2):
    c = Circuit()
    x = c.symbols("x", size) if symbols else c.input("x", size)
    c.output(c.affine("out", outputs, {"V": cell(c, x, units)}))
    return c


def dense_jacobian(function, w, step=1e-6):
    """Return the Jacobian of a vector-valued function by central differences, [outputs, parameters]."""
    columns = []
    for i in range(len(w)):
        moved = [w.copy(), w.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        columns.append((function(moved[0]) - function(moved[1])) / (2 * step))
    return numpy.stack(columns, axis=1)


class CellTest(Folder):
    def setUp(self):
        super().setUp()
        register_cell("leaky-py", leaky)
        register_cell("gated-py", gated)
        self.text = self.write("text.txt", TEXT)

    def test_a_cell_of_python_trains_and_the_command_uses_its_model(self):
        for model in ("leaky-py:8", "gated-py:6,layers=2,residual=plain,dropout=0.1,embedding=5"):
            out = self.path(model.split(":")[0])
            run = unfold.train(self.text, out=out, model=model, steps=4, threads=1)
            self.assertEqual(run.model.spec, model)
            for more in ((), ("--online",)):
                archive = self.path("text.unf")
                command("compress", self.text, "--model", out, "-o", archive, *more)
                self.assertEqual(command("decompress", archive).decode(), TEXT)
            self.assertEqual(len(command("sample", out, "--length", 20).decode()), 20)
            self.assertGreaterEqual(len(command("score", out, self.text).decode().splitlines()), 1)
            self.assertIn("float", command("export", out, "--to", "c").decode())
            self.assertGreater(len(command("export", out, "--to", "onnx")), 1000)
            command("train", self.text, "--start-from", out, "--steps", 1, "--out", out + "-more")

    def test_a_program_without_the_cell_has_the_same_scores(self):
        run = unfold.train(self.text, out=self.path("run"), model="gated-py:6", steps=3, threads=1)
        scores = run.model.score("the lazy dog")
        program = "import sys, unfold, numpy; numpy.save(sys.argv[1], unfold.load(sys.argv[2]).score('the lazy dog'))"
        subprocess.run([sys.executable, "-c", program, self.path("scores.npy"), self.path("run")], check=True)
        numpy.testing.assert_array_equal(numpy.load(self.path("scores.npy")), scores)

    def test_a_cell_is_the_built_in_cell_with_the_same_equation(self):
        def rnn(c, x, n):
            h = c.link(n)
            y = c.affine("z", n, {"W": x, "U": Term(h, Init.orthogonal())}).tanh()
            c.feed(h, y)
            return y

        register_cell("rnn-py", rnn)
        mine, theirs = (unfold.train(self.text, model=f"{name}:8,layers=2", steps=5, threads=1)
                        for name in ("rnn-py", "rnn"))
        self.assertEqual(mine.figures["valid"], theirs.figures["valid"])
        for name, array in theirs.model.parameters().items():
            self.assertTrue((mine.model.parameters()[name] == array).all(), name)

    def test_errors_of_the_function_and_wrong_results_are_raised(self):
        def broken(c, x, n):
            raise KeyError("mine")

        register_cell("broken-py", broken)
        with self.assertRaises(KeyError):
            unfold.train(self.text, model="broken-py:4", steps=1)
        kept = []

        def other(c, x, n):
            kept.append(c)
            return Circuit().input("y", n)

        register_cell("other-py", other)
        with self.assertRaisesRegex(unfold.UsageError, "must return a signal"):
            unfold.train(self.text, model="other-py:4", steps=1)
        with self.assertRaisesRegex(unfold.UsageError, "only while"):
            kept[0].input("x", 3)
        register_cell("wide-py", lambda c, x, n: c.affine("z", n + 1, {"W": x}))
        with self.assertRaisesRegex(unfold.UsageError, "cell wide-py: .* a signal of size 5 for 4 units"):
            unfold.train(self.text, model="wide-py:4", steps=1)
        c = Circuit()
        with self.assertRaisesRegex(unfold.UsageError, "size 8 for 7 units"):
            c.cell("wide-py", c.input("x", 3), 7)
        for name in ("lstm", "My", ""):
            with self.assertRaises(unfold.UsageError):
                register_cell(name, leaky)
        with self.assertRaises(TypeError):
            register_cell("no-function", 3)

    def test_a_program_with_a_cell_ends_silently(self):
        program = ("import unfold\nkept = []\ndef cell(c, x, n):\n    kept.append(c)\n"
                   "    return c.affine('z', n, {'W': x}).tanh()\nunfold.register_cell('silent-py', cell)\n"
                   "unfold.train(text='ab' * 200, model='silent-py:3', steps=1, threads=1)\n")
        done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_a_second_registration_replaces_the_function(self):
        register_cell("changed-py", leaky)
        register_cell("changed-py", gated)
        run = unfold.train(self.text, model="changed-py:4", steps=1, threads=1)
        self.assertIn("layer1/g/W", run.model.parameters())

    def test_data_with_fields(self):
        rows = self.write("rows.csv", "a,b\n" + "".join(f"{i % 7},{'xy'[i % 2]}\n" for i in range(200)))
        out = self.path("fields")
        unfold.train(rows, out=out, model="bigated-py:4", predict="b", steps=2, threads=1)
        predicted = command("predict", out, rows).decode().splitlines()
        self.assertGreaterEqual(len(predicted), 200)


class CircuitTest(unittest.TestCase):
    def test_round_trip_as_json_and_pickle(self):
        for cell in (leaky, gated):
            c = with_output(cell)
            for copy in (Circuit.from_json(c.to_json()), pickle.loads(pickle.dumps(c))):
                self.assertEqual(copy.to_json(), c.to_json())
                f, g = Function(c), Function(copy)
                x = numpy.arange(12.0).reshape(4, 3) / 10
                self.assertTrue((f.forward(f.initial(2), x) == g.forward(g.initial(2), x)).all())

    def test_damaged_json_raises_errors(self):
        damaged = json.loads(with_output(gated).to_json())
        damaged["nodes"][3]["size"] = 1 << 40
        for text in ("{", "[]", json.dumps(damaged)):
            with self.assertRaises((unfold.UsageError, unfold.ModelError)):
                Circuit.from_json(text)

    def test_division_by_a_number(self):
        c = Circuit()
        x = c.input("x", 2)
        c.output(x / 4)
        self.assertEqual(Function(c).forward([], [[2.0, 3.0]]).tolist(), [[0.5, 0.75]])
        with self.assertRaises(TypeError):
            x / x

    def test_contexts(self):
        c = Circuit()
        x = c.input("x", 2)
        outputs = []
        with c.scope("forward"):
            outputs.append(leaky(c, x, 3))
        with c.scope("backward"), c.reversed():
            outputs.append(leaky(c, x, 3))
        c.output(c.affine("out", 1, {"V": c.join(outputs)}))
        names = [name for name, *_ in c._parameters()]
        self.assertEqual(names, ["backward/z/U", "backward/z/W", "backward/z/bias", "forward/z/U", "forward/z/W",
                                 "forward/z/bias", "out/V1", "out/V2", "out/bias"])
        f = Function(c)
        w, x = f.initial(), numpy.random.RandomState(0).normal(size=(5, 2))
        half = numpy.zeros_like(w)
        for name, view in f.views(half).items():
            view[:] = f.views(w)[name if name[:4] != "back" else "forward" + name[8:]]
        f.views(half)["out/V2"][:] = f.views(half)["out/V1"]
        numpy.testing.assert_allclose(f.forward(half, x), f.forward(half, x[::-1].copy())[::-1], rtol=1e-12)

    def test_drawing_and_plan(self):
        c = with_output(gated)
        self.assertIn("<svg", c._repr_html_())
        self.assertIn("z", c.plan())
        self.assertIn("Signal", repr(c.input("y", 2)))
        self.assertRegex(repr(c), "<Circuit of [0-9]+ nodes and [0-9]+ parameters>")

    def test_misuse(self):
        c = Circuit()
        x = c.input("x", 3)
        with self.assertRaises(unfold.UsageError):
            x + c.input("y", 4)
        with self.assertRaises(unfold.UsageError):
            c.affine("z", 2, {"W": Circuit().input("x", 3)})
        with self.assertRaises(TypeError):
            c.affine("z", 2, {"W": 3})
        with self.assertRaises(unfold.UsageError):
            c.link(3, along="sideways")
        with self.assertRaises(unfold.UsageError):
            x[0:3:2]
        with self.assertRaises(unfold.UsageError):
            x.split(2)
        with self.assertRaises(unfold.UsageError):
            c.map("cube", x)


class PassesTest(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.RandomState(1)
        self.x = [self.random.normal(size=(t, 3)) for t in (4, 1, 3)]

    def function(self, cell=gated):
        f = Function(with_output(cell))
        return f, f.initial(3) + 0.1 * self.random.normal(size=f.size)

    def flat(self, f, w):
        return numpy.concatenate(f.forward(w, self.x)).ravel()

    def test_forward_is_the_equation(self):
        f, w = self.function(leaky)
        p = f.views(w)
        for x, y in zip(self.x, f.forward(w, self.x)):
            h = numpy.zeros(4)
            for t in range(len(x)):
                h = 0.7 * h + 0.3 * numpy.tanh(x[t] @ p["z/W"] + h @ p["z/U"] + p["z/bias"][0])
                numpy.testing.assert_allclose(y[t], h @ p["out/V"] + p["out/bias"][0], rtol=1e-12)

    def test_a_sequence_alone_has_the_same_bits(self):
        f, w = self.function()
        for x, y in zip(self.x, f.forward(w, self.x)):
            self.assertTrue((f.forward(w, x) == y).all())

    def test_jvp_and_vjp_are_the_dense_jacobian(self):
        f, w = self.function()
        J = dense_jacobian(lambda w: self.flat(f, w), w)
        v, u = self.random.normal(size=f.size), self.random.normal(size=J.shape[0])
        numpy.testing.assert_allclose(numpy.concatenate(f.jvp(w, self.x, v)).ravel(), J @ v, rtol=1e-6, atol=1e-8)
        seeds = numpy.split(u.reshape(-1, 2), [4, 5])
        gradient, _ = f.vjp(w, self.x, seeds)
        numpy.testing.assert_allclose(gradient, J.T @ u, rtol=1e-6, atol=1e-8)

    def test_derivatives_of_inputs(self):
        f, w = self.function()
        x, u, dx = self.x[0], self.random.normal(size=(4, 2)), self.random.normal(size=(4, 3))
        _, to_x = f.vjp(w, x, u)
        J = dense_jacobian(lambda flat: f.forward(w, flat.reshape(4, 3)).ravel(), x.ravel())
        numpy.testing.assert_allclose(to_x.ravel(), J.T @ u.ravel(), rtol=1e-6, atol=1e-8)
        numpy.testing.assert_allclose(f.jvp(w, x, None, dx).ravel(), J @ dx.ravel(), rtol=1e-6, atol=1e-8)

    def test_losses_gauss_newton_and_fisher(self):
        f, w = self.function()
        targets = [self.random.randint(0, 2, size=len(x)) for x in self.x]
        nats, gradient = f.loss_and_gradient(w, self.x, targets)

        def total(w):
            y = numpy.concatenate(f.forward(w, self.x))
            return (numpy.log(numpy.exp(y).sum(axis=1)) - y[numpy.arange(len(y)), numpy.concatenate(targets)]).sum()

        self.assertAlmostEqual(nats, total(w), places=10)
        differences = dense_jacobian(lambda w: numpy.array([total(w)]), w)[0]
        numpy.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)
        J = dense_jacobian(lambda w: self.flat(f, w), w)
        y = numpy.concatenate(f.forward(w, self.x))
        p = numpy.exp(y) / numpy.exp(y).sum(axis=1, keepdims=True)
        H = numpy.zeros((len(y) * 2, len(y) * 2))
        for i, row in enumerate(p):
            H[2 * i:2 * i + 2, 2 * i:2 * i + 2] = numpy.diag(row) - numpy.outer(row, row)
        v = self.random.normal(size=f.size)
        expected = J.T @ H @ J @ v
        numpy.testing.assert_allclose(f.gauss_newton(w, self.x, v, loss="softmax", targets=targets), expected,
                                      rtol=1e-5, atol=1e-7)
        numpy.testing.assert_allclose(f.gauss_newton(w, self.x, v), J.T @ J @ v, rtol=1e-5, atol=1e-7)
        tripled = f.gauss_newton(w, self.x, v, curvature=lambda y, tangents: [3 * t for t in tangents])
        numpy.testing.assert_allclose(tripled, 3 * J.T @ J @ v, rtol=1e-5, atol=1e-7)
        each = f.per_example_gradients(w, self.x, targets)
        self.assertEqual(each.shape, (3, f.size))
        numpy.testing.assert_allclose(each.sum(axis=0), gradient, rtol=1e-9, atol=1e-12)
        for row, x, target in zip(each, self.x, targets):
            self.assertTrue((row == f.loss_and_gradient(w, x, target)[1]).all())
        numpy.testing.assert_allclose(f.fisher(w, self.x, targets, v), sum(g * (g @ v) for g in each), rtol=1e-9)

    def test_symbols_float32_and_threads(self):
        c = with_output(leaky, symbols=True)
        symbols = [numpy.array([0, 2, -1, 1]), numpy.array([1])]
        for dtype in (numpy.float32, numpy.float64):
            f, g = Function(c, dtype), Function(c, dtype, threads=3)
            w = f.initial(1)
            self.assertEqual(w.dtype, dtype)
            for a, b in zip(f.forward(w, symbols), g.forward(w, symbols)):
                self.assertEqual(a.dtype, dtype)
                self.assertTrue((a == b).all())
            gradient, to_x = f.vjp(w, symbols, [numpy.ones((4, 2)), numpy.ones((1, 2))])
            self.assertIsNone(to_x)
            self.assertTrue((gradient == g.vjp(w, symbols, [numpy.ones((4, 2)), numpy.ones((1, 2))])[0]).all())
        with self.assertRaisesRegex(unfold.UsageError, "not a symbol"):
            f.forward(w, numpy.array([3]))

    def test_threads_that_share_a_function_get_the_results_of_separate_calls(self):
        c = Circuit()
        h = c.link(4)
        y = c.affine("z", 4, {"W": c.input("x", 3), "U": h}).tanh()
        c.feed(h, y)
        c.output(c.affine("o", 2, {"V": y}))
        f, random = Function(c), numpy.random.default_rng(0)
        w = f.initial()
        data = [([random.normal(size=(5, 3))], [random.integers(0, 2, 5)]) for _ in range(8)]
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)
        calls = {"forward": lambda x, target: f.forward(w, x)[0], "jvp": lambda x, target: f.jvp(w, x, w)[0],
                 "loss_and_gradient": lambda x, target: f.loss_and_gradient(w, x, target)[1],
                 "per_example_gradients": lambda x, target: f.per_example_gradients(w, x, target)}
        for name, call in calls.items():
            with self.subTest(name), concurrent.futures.ThreadPoolExecutor(4) as pool:
                expected = [call(*one) for one in data]
                for i, found in enumerate(pool.map(lambda i: call(*data[i % 8]), range(400))):
                    numpy.testing.assert_array_equal(found, expected[i % 8])

    def test_a_curvature_that_calls_the_function_raises_an_error(self):
        c = Circuit()
        c.output(c.affine("o", 2, {"V": c.input("x", 3)}))
        f, x = Function(c), numpy.ones((4, 3))
        w = f.initial()
        with self.assertRaisesRegex(ValueError, "curvature must not call the same Function"):
            f.gauss_newton(w, x, w, curvature=lambda outputs, tangents: f.forward(2 * w, x))

    def test_squared_pass_is_that_of_a_linear_circuit(self):
        c = Circuit()
        c.output(c.affine("y", 2, {"W": c.input("x", 3)}, bias=None))
        f = Function(c)
        x, w = self.random.normal(size=(1, 3)), self.random.normal(size=6)
        squares, _ = f.vjp(w, x, numpy.ones((1, 2)), squared=True)
        numpy.testing.assert_allclose(squares.reshape(3, 2), numpy.repeat(x.T ** 2, 2, axis=1), rtol=1e-12)

    def test_forward_gradients_are_those_of_the_backward_pass(self):
        f, w = self.function()
        x = [one.astype(numpy.float32) for one in self.x]
        targets = [self.random.normal(size=(len(one), 2)).astype(numpy.float32) for one in x]
        nats, gradient = f.loss_and_gradient(w, x, targets, loss="gaussian")
        for method in ("rtrl", "snap:1000"):
            found, forward = f.forward_gradient(w, x, targets, method=method, loss="gaussian")
            self.assertAlmostEqual(found, nats, places=9)
            numpy.testing.assert_allclose(forward, gradient, atol=1e-9)
        estimates = [f.forward_gradient(w, x, targets, method="uoro", loss="gaussian", seed=seed)[1]
                     for seed in range(3000)]
        error = numpy.abs(numpy.mean(estimates, axis=0) - gradient)
        self.assertLess((error - 5 * numpy.std(estimates, axis=0) / 3000 ** 0.5).max(), 1e-6)
        g = Function(with_output(leaky, symbols=True))
        v, words, labels = g.initial(1), [[0, 2, 1], [1, 1]], [[1, 0, -1], [0, 1]]
        numpy.testing.assert_allclose(g.forward_gradient(v, words, labels)[1], g.loss_and_gradient(v, words, labels)[1],
                                      atol=1e-9)
        for method, what in (("bptt", "loss_and_gradient"), ("rtlr", "rtrl")):
            with self.assertRaisesRegex(unfold.UsageError, what):
                f.forward_gradient(w, x, targets, method=method, loss="gaussian")

    def test_path_metric_is_the_derivative_of_the_sum_over_paths(self):
        c = Circuit()
        h = c.link(2)
        y = c.affine("z", 2, {"W": c.input("x", 3), "U": h}).relu()
        c.feed(h, y)
        c.output(c.affine("y", 1, {"V": y}))
        f = Function(c)
        w = self.random.uniform(0.5, 1, size=f.size)

        def norm(w):  # the forward pass with squared parameters over inputs of one
            return f.forward(numpy.square(w), numpy.ones((5, 3))).sum()

        found, metric = f.path(w, 5)
        self.assertAlmostEqual(found, norm(w), places=9)
        by_differences = [(norm(w + d) - norm(w - d)) / 2e-6 for d in 1e-6 * numpy.eye(f.size)]
        numpy.testing.assert_allclose(metric * 2 * w, by_differences, rtol=1e-6)
        half = [(norm(w + d) - 2 * norm(w) + norm(w - d)) / 2e-6 for d in 1e-3 * numpy.eye(f.size)]
        numpy.testing.assert_allclose(f.path(w, 5, second=True)[1], half, rtol=1e-4)
        self.assertLess(f.path(w, 5, every_step=False)[0], found)
        with self.assertRaisesRegex(unfold.UsageError, "tanh"):
            Function(with_output(leaky)).path(Function(with_output(leaky)).initial())

    def test_check_derivatives(self):
        for c in (with_output(gated), with_output(leaky, symbols=True)):
            report = check_derivatives(c)
            self.assertTrue(report.passed, str(report))
            self.assertIn("gauss-newton", [r["name"] for r in report.results])

    def test_several_inputs_and_outputs(self):
        c = Circuit()
        a, b = c.input("a", 2), c.symbols("b", 3)
        h = relu(c.affine("h", 4, {"A": a, "B": b}))
        c.output(c.affine("y", 1, {"V": h}))
        c.output(sigmoid(c.affine("z", 2, {"V": tanh(h)})))
        f = Function(c)
        inputs = {"a": numpy.ones((3, 2)), "b": numpy.array([0, 1, 2])}
        y, z = f.forward(f.initial(), inputs)
        self.assertEqual((y.shape, z.shape), ((3, 1), (3, 2)))
        gradient, to_inputs = f.vjp(f.initial(), inputs, (numpy.ones((3, 1)), numpy.zeros((3, 2))))
        self.assertEqual(to_inputs["a"].shape, (3, 2))
        self.assertIsNone(to_inputs["b"])
        with self.assertRaisesRegex(unfold.UsageError, "a, b"):
            f.forward(f.initial(), numpy.ones((3, 2)))
        with self.assertRaisesRegex(unfold.UsageError, "different lengths"):
            f.forward(f.initial(), {"a": numpy.ones((2, 2)), "b": numpy.array([0, 1, 2])})

    def test_wrong_shapes_raise_errors(self):
        f, w = self.function()
        for call in (lambda: f.forward(w[:-1], self.x), lambda: f.forward(w, numpy.ones((2, 4))),
                     lambda: f.forward(w, []), lambda: f.vjp(w, self.x[0], numpy.ones((3, 2))),
                     lambda: f.jvp(w, self.x[0], w[1:]), lambda: f.loss_and_gradient(w, self.x[0], numpy.array([5] * 4)),
                     lambda: Function(Circuit()), lambda: Function(with_output(leaky), numpy.int32),
                     lambda: f.loss_and_gradient(w, self.x[0], numpy.ones((4, 2)), loss="unknown")):
            with self.assertRaises(unfold.UsageError):
                call()


    def test_wrong_calls_raise_errors_that_name_the_array(self):
        f, w = self.function()
        x = self.x[0]
        for call, what in (
                (lambda: f.forward(w, numpy.zeros((0, 3))), "at least one position"),
                (lambda: f.forward(w, [numpy.zeros((0, 3)), x]), "at least one position"),
                (lambda: f.forward(w, x[0]), r"x must have the shape \[positions, 3\], not \(3,\)"),
                (lambda: f.forward(w, x * 1j), "x must contain numbers, not complex128"),
                (lambda: f.forward(w, [["a", "b", "c"]]), "x must contain numbers"),
                (lambda: f.forward(w, None), "x must contain numbers"),
                (lambda: f.forward(w, 3.0), r"not \(\)"),
                (lambda: f.forward(w, [[1, 2, 3], [1, 2]]), "rows of x have different lengths"),
                (lambda: f.forward(None, x), "parameters must contain numbers"),
                (lambda: f.forward(w, {"y": x}), "the inputs are x, not y"),
                (lambda: f.vjp(w, [x[:3], x[:1]], numpy.ones((4, 2))), "of lengths 3, 1, not 4"),
                (lambda: f.jvp(w, x, None, x[1:]), "direction of x must have the sequences of the inputs"),
                (lambda: f.loss_and_gradient(w, x, [0.5] * 4), "targets must contain whole numbers"),
                (lambda: f.loss_and_gradient(w, self.x, [[0] * 4, [0] * 3, [0]]), "lengths 4, 1, 3, not 4, 3, 1"),
                (lambda: Function(with_output(leaky), threads=0), "threads must be at least 1"),
                (lambda: unfold._core.PassesFloat64(with_output(leaky), 1).backward([numpy.ones((1, 2))]),
                 "call forward first")):
            with self.subTest(what), self.assertRaisesRegex(unfold.UsageError, what):
                call()
        self.assertTrue(numpy.isnan(f.forward(w, x * numpy.nan)).all())
        stacked = f.forward(w, numpy.stack([x, 2 * x]))
        self.assertTrue((stacked[1] == f.forward(w, 2 * x)).all())
        c = Circuit()
        c.output(c.affine("y", 1, {"A": c.input("x", 2), "B": c.input("x", 2)}))
        with self.assertRaisesRegex(unfold.UsageError, "different names"):
            Function(c)


class OptimizerTest(unittest.TestCase):
    def test_training_with_a_loop_of_python(self):
        random = numpy.random.RandomState(0)
        f = Function(with_output(leaky))
        x = [random.normal(size=(6, 3)) for _ in range(8)]
        y = [numpy.cumsum(one[:, :2], axis=0) / 3 for one in x]
        for spec in ("adam:rate=0.02", "sgd:rate=0.003", "lbfgs", "hf:structural=0,probes=0"):
            w = f.initial(1)
            optimizer = Optimizer(spec, f.size)
            losses = []
            for step in range(8 if spec[:2] in ("hf", "lb") else 60):
                report = optimizer.step(
                    w, lambda w: f.loss_and_gradient(w, x, y, loss="gaussian"),
                    curvature=lambda w, v: f.gauss_newton(w, x, v, loss="gaussian", targets=y))
                losses.append(report["loss"])
            self.assertLess(losses[-1], 0.5 * losses[0], spec)

    def test_misuse(self):
        with self.assertRaises(unfold.UsageError):
            Optimizer("adamm", 3)
        optimizer = Optimizer("adam", 3)
        for w in (numpy.zeros(4), numpy.zeros(3, numpy.float32), [0.0] * 3):
            with self.assertRaises(unfold.UsageError):
                optimizer.step(w, lambda w: (0.0, w))
        with self.assertRaises(unfold.UsageError):
            optimizer.step(numpy.zeros(3), lambda w: (0.0, w[:2]))
        with self.assertRaises(ZeroDivisionError):
            optimizer.step(numpy.zeros(3), lambda w: 1 / 0)
        for spec, what in (("hf", "structural=0"), ("hf:structural=0", "probes=0")):
            with self.assertRaisesRegex(unfold.UsageError, what):
                Optimizer(spec, 3).step(numpy.ones(3), lambda w: (w @ w, 2 * w), curvature=lambda w, v: 2 * v)
        for spec in ("hf:structural=0,probes=0", "path", "ruop"):
            with self.assertRaises(unfold.UsageError):
                Optimizer(spec, 3).step(numpy.ones(3), lambda w: (w @ w, 2 * w))


if __name__ == "__main__":
    unittest.main()
