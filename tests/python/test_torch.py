"""unfold.torch compared with torch.nn: the same results, gradients and states, in every form of batch."""

import copy
import gc
import io
import itertools
import multiprocessing
import os
import pickle
import threading
import unittest

import numpy
import scratch

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")

import unfold.torch
from torch import library
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

CELLS = ("RNN", "LSTM", "GRU")


def pair(cell, *args, dtype=torch.float32, **kwargs):
    """Return the layer of torch.nn and that of Unfold with the same parameters."""
    torch.manual_seed(0)
    reference = getattr(torch.nn, cell)(*args, **kwargs).to(dtype)
    mine = getattr(unfold.torch, cell)(*args, **kwargs).to(dtype)
    mine.load_state_dict(reference.state_dict())
    return reference, mine


def states_of(result):
    return list(result) if isinstance(result, tuple) else [result]


def passes(layer, given, hx=None, *, states=True):
    """Return outputs, final states and all gradients, for the same random seeds of the backward pass."""
    leaves = [t.detach().clone().requires_grad_() for t in ([given] if torch.is_tensor(given) else [given.data])]
    x = leaves[0] if torch.is_tensor(given) else PackedSequence(leaves[0], *given[1:])
    if hx is not None:
        given_states = [s.detach().clone().requires_grad_() for s in states_of(hx)]
        leaves += given_states
        hx = tuple(given_states) if isinstance(hx, tuple) else given_states[0]
    y, final = layer(x, hx)
    results = [y.data if isinstance(y, PackedSequence) else y, *states_of(final)]
    generator = torch.Generator().manual_seed(1)
    seeded = results if states else results[:1]
    seeds = [torch.randn(r.shape, generator=generator, dtype=r.dtype) for r in seeded]
    leaves += list(layer.parameters())
    gradients = torch.autograd.grad(seeded, leaves, seeds)
    return [r.detach() for r in (*results, *gradients)]


class Torch(unittest.TestCase):
    def assert_close(self, a, b, dtype=torch.float32):
        self.assertEqual(len(a), len(b))
        for x, y in zip(a, b):
            self.assertEqual(x.shape, y.shape)
            self.assertLessEqual(float((x - y).detach().abs().max()), 1e-5 if dtype == torch.float32 else 1e-12)

    def assert_same_bits(self, a, b):
        for x, y in zip(a, b):
            self.assertTrue(torch.equal(x, y))

    def test_layers_have_the_results_and_gradients_of_torch_nn(self):
        forms = itertools.product(CELLS, (1, 2), (False, True), (False, True), (False, True), (False, True))
        for cell, depth, bidirectional, bias, batch_first, with_state in forms:
            with self.subTest(cell, depth=depth, bidirectional=bidirectional, bias=bias, batch_first=batch_first):
                options = dict(num_layers=depth, bidirectional=bidirectional, bias=bias, batch_first=batch_first)
                for dtype in (torch.float32, torch.float64):
                    reference, mine = pair(cell, 5, 6, dtype=dtype, **options)
                    x = torch.randn(3, 7, 5, dtype=dtype)
                    sequences = 3 if batch_first else 7
                    h = torch.randn(depth * (2 if bidirectional else 1), sequences, 6, dtype=dtype)
                    hx = None if not with_state else (h, torch.randn_like(h)) if cell == "LSTM" else h
                    self.assert_close(passes(reference, x, hx), passes(mine, x, hx), dtype)

    def test_packed_sequences_in_any_order(self):
        for cell, bidirectional, with_state in itertools.product(CELLS, (False, True), (False, True)):
            with self.subTest(cell, bidirectional=bidirectional, with_state=with_state):
                reference, mine = pair(cell, 5, 6, num_layers=2, bidirectional=bidirectional, dtype=torch.float64)
                x = pack_sequence([torch.randn(n, 5).double() for n in (4, 9, 1, 9, 2)], enforce_sorted=False)
                h = torch.randn(4 if bidirectional else 2, 5, 6).double()
                hx = None if not with_state else (h, torch.randn_like(h)) if cell == "LSTM" else h
                self.assert_close(passes(reference, x, hx), passes(mine, x, hx), torch.float64)
                self.assertTrue(torch.equal(mine(x)[0].unsorted_indices, x.unsorted_indices))

    def test_relu_units(self):
        reference, mine = pair("RNN", 3, 4, nonlinearity="relu", num_layers=2)
        x = torch.randn(6, 2, 3)
        self.assert_close(passes(reference, x), passes(mine, x))

    def test_input_without_a_batch(self):
        for cell, batch_first in itertools.product(CELLS, (False, True)):
            reference, mine = pair(cell, 3, 4, batch_first=batch_first)
            h = torch.randn(1, 4)
            x, hx = torch.randn(6, 3), (h, h + 1) if cell == "LSTM" else h
            self.assert_close(passes(reference, x, hx), passes(mine, x, hx))

    def test_strided_and_broadcast_tensors(self):
        reference, mine = pair("LSTM", 3, 4)
        x = torch.randn(2, 6, 9).transpose(0, 1)[..., ::3]
        y, _ = mine(x)
        self.assert_close([reference(x)[0]], [y])
        y.sum().backward()  # the seed is an expanded tensor
        reference(x)[0].sum().backward()
        self.assert_close([p.grad for p in reference.parameters()], [p.grad for p in mine.parameters()])

    def test_gradient_of_outputs_only_or_of_states_only(self):
        for cell, bidirectional in itertools.product(CELLS, (False, True)):
            reference, mine = pair(cell, 3, 4, num_layers=2, bidirectional=bidirectional)
            x = torch.randn(6, 2, 3)
            self.assert_close(passes(reference, x, states=False), passes(mine, x, states=False))
            grads = []
            for layer in (reference, mine):
                given = x.clone().requires_grad_()
                states_of(layer(given)[1])[-1].sum().backward()
                grads.append([given.grad])
            self.assert_close(*grads)

    def test_several_forward_passes_before_their_backward_passes(self):
        reference, mine = pair("GRU", 3, 4)
        results = []
        for layer in (reference, mine):
            xs = [torch.randn(n, 2, 3, generator=torch.Generator().manual_seed(n)) for n in (5, 8, 5)]
            for x in xs:
                x.requires_grad_()
            y = [layer(x)[0] for x in xs]
            (y[0].sum() + (y[1] ** 2).sum() + y[2].sum() * 3).backward()
            results.append([x.grad for x in xs] + [p.grad for p in layer.parameters()])
        self.assert_close(*results)

    def test_windows_of_a_sequence_with_carried_state(self):
        reference, mine = pair("LSTM", 3, 4, num_layers=2)
        x = torch.randn(12, 2, 3)
        results = []
        for layer in (reference, mine):
            given, state, outputs = x.clone().requires_grad_(), None, []
            for part in given.split(4):
                y, state = layer(part, state)
                outputs.append(y)
            (torch.cat(outputs) ** 2).sum().backward()
            results.append([given.grad] + [p.grad for p in layer.parameters()])
            layer.zero_grad()
        self.assert_close(*results)

    def test_backward_twice_over_a_retained_graph(self):
        _, mine = pair("LSTM", 3, 4)
        x = torch.randn(5, 2, 3, requires_grad=True)
        y = mine(x)[0].sum()
        y.backward(retain_graph=True)
        first = x.grad.clone()
        y.backward()
        self.assertTrue(torch.equal(x.grad, first * 2))

    def test_results_do_not_depend_on_the_number_of_threads(self):
        threads = torch.get_num_threads()
        try:
            for cell in CELLS:
                _, mine = pair(cell, 40, 64, num_layers=2, bidirectional=True)
                x = torch.randn(9, 10, 40)
                packed = pack_padded_sequence(x, torch.tensor([9, 9, 7, 5, 5, 4, 3, 2, 1, 1]))
                for given in (x, packed):
                    results = []
                    for count in (1, 2, 3):
                        torch.set_num_threads(count)
                        results.append(passes(mine, given))
                    self.assert_same_bits(results[0], results[1])
                    self.assert_same_bits(results[0], results[2])
        finally:
            torch.set_num_threads(threads)

    def test_a_sequence_has_the_same_bits_alone_and_in_a_batch(self):
        _, mine = pair("LSTM", 8, 32)
        x = torch.randn(9, 5, 8)
        self.assertTrue(torch.equal(mine(x)[0][:, 3], mine(x[:, 3])[0]))

    def test_changed_weights_are_noticed(self):
        reference, mine = pair("LSTM", 3, 4)
        x = torch.randn(5, 2, 3)
        mine(x)
        optimizer = torch.optim.SGD(mine.parameters(), lr=0.5)
        mine(x)[0].sum().backward()
        optimizer.step()
        reference.load_state_dict(mine.state_dict())
        self.assert_close([reference(x)[0]], [mine(x)[0]])
        mine.weight_hh_l0.data[1, 2] += 1  # not counted by the version of the tensor
        reference.load_state_dict(mine.state_dict())
        self.assert_close([reference(x)[0]], [mine(x)[0]])
        with torch.inference_mode():
            self.assert_close([reference(x)[0]], [mine(x)[0]])

    def test_optimizers_train_it(self):
        for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
            losses = []
            for layer in pair("GRU", 3, 4):
                optimizer, x = kind(layer.parameters(), lr=0.01), torch.randn(6, 2, 3)
                for _ in range(5):
                    optimizer.zero_grad()
                    loss = (layer(torch.ones(6, 2, 3))[0] - 0.5).square().mean()
                    loss.backward()
                    optimizer.step()
                losses.append(loss.detach())
            self.assert_close(losses[:1], losses[1:])

    def test_an_output_changed_in_place_is_an_error(self):
        _, mine = pair("LSTM", 3, 4)
        y, _ = mine(torch.randn(5, 2, 3))
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_dropout_has_the_mean_of_no_dropout_and_follows_the_seed(self):
        _, mine = pair("LSTM", 3, 64, num_layers=2, dropout=0.5)
        x = torch.randn(4, 2, 3)
        torch.manual_seed(3)
        first = mine(x)[0]
        second = mine(x)[0]
        torch.manual_seed(3)
        self.assertTrue(torch.equal(first, mine(x)[0]))
        self.assertFalse(torch.equal(first, second))
        mine.eval()
        self.assertTrue(torch.equal(mine(x)[0], mine(x)[0]))

    def test_dropout_has_the_right_gradient(self):
        _, mine = pair("LSTM", 3, 8, num_layers=2, dropout=0.5, dtype=torch.float64)

        def run(x):
            torch.manual_seed(4)
            return mine(x)[0]

        torch.autograd.gradcheck(run, (torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True),))

    def test_copies_and_pickles(self):
        for cell in CELLS:
            _, mine = pair(cell, 3, 4, num_layers=2)
            x = torch.randn(5, 2, 3)
            wanted = mine(x)[0]
            buffer = io.BytesIO()
            torch.save(mine, buffer)
            buffer.seek(0)
            copies = [copy.deepcopy(mine), pickle.loads(pickle.dumps(mine)), torch.load(buffer, weights_only=False)]
            for other in copies:
                self.assertIsInstance(other, torch.nn.RNNBase)
                self.assertTrue(torch.equal(other(x)[0], wanted))
                with torch.no_grad():
                    other.weight_hh_l0.zero_()
                self.assertFalse(torch.equal(other(x)[0], wanted))
            self.assertTrue(torch.equal(mine(x)[0], wanted))

    def test_engines_go_with_their_layers(self):
        _, mine = pair("LSTM", 3, 4)
        mine(torch.randn(5, 2, 3))
        key = mine._unfold_key
        self.assertIn(key, unfold.torch._engine.engines)
        del mine
        gc.collect()
        self.assertNotIn(key, unfold.torch._engine.engines)

    def test_forward_mode_derivatives(self):
        for cell, bidirectional in itertools.product(CELLS, (False, True)):
            reference, mine = pair(cell, 3, 4, num_layers=2, bidirectional=bidirectional, dtype=torch.float64)
            x, h = torch.randn(5, 2, 3).double(), torch.randn(4 if bidirectional else 2, 2, 4).double()
            dx, dh = torch.randn_like(x), torch.randn_like(h)
            names = [name for name, _ in mine.named_parameters()]
            moved = [torch.randn_like(p) for p in mine.parameters()]

            def run(layer):
                def call(x, h, *weights):
                    hx = (h, h * 2) if cell == "LSTM" else h
                    y, final = torch.func.functional_call(layer, dict(zip(names, weights)), (x, hx))
                    return (y, *states_of(final))

                return torch.func.jvp(call, (x, h, *mine.parameters()), (dx, dh, *moved))

            (y, dy), (wanted, dwanted) = run(mine), run(reference)
            self.assert_close(wanted, y, torch.float64)
            self.assert_close(dwanted, dy, torch.float64)

    def test_torch_func_grad(self):
        reference, mine = pair("GRU", 3, 4)
        x = torch.randn(5, 2, 3)
        names = [name for name, _ in mine.named_parameters()]

        def loss(weights, layer):
            return torch.func.functional_call(layer, weights, (x,))[0].square().sum()

        weights = {name: p.detach() for name, p in mine.named_parameters()}
        wanted, mine_grad = torch.func.grad(loss)(weights, reference), torch.func.grad(loss)(weights, mine)
        self.assert_close([wanted[n] for n in names], [mine_grad[n] for n in names])

    def test_checkpointing_recomputes(self):
        from torch.utils.checkpoint import checkpoint

        _, mine = pair("LSTM", 3, 4)
        x = torch.randn(5, 2, 3)
        grads = []
        for run in (lambda x: mine(x)[0], lambda x: checkpoint(lambda z: mine(z)[0], x, use_reentrant=False)):
            given = x.clone().requires_grad_()
            run(given).sum().backward()
            grads.append([given.grad])
        self.assert_same_bits(*grads)

    def test_compile_without_a_break(self):
        for cell, bidirectional in itertools.product(CELLS, (False, True)):
            _, mine = pair(cell, 3, 4, num_layers=2, bidirectional=bidirectional)
            head = torch.nn.Linear(8 if bidirectional else 4, 2)

            def run(x, h):
                y, final = mine(x, (h, h) if cell == "LSTM" else h)
                return head(y).relu() + states_of(final)[0].sum()

            torch.compiler.reset()
            compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
            x, h = torch.randn(5, 2, 3), torch.randn(4 if bidirectional else 2, 2, 4)
            results = []
            for call in (run, compiled):
                leaves = [x.clone().requires_grad_(), h.clone().requires_grad_(), *mine.parameters()]
                y = call(*leaves[:2])
                results.append([y.detach(), *torch.autograd.grad(y.square().sum(), leaves)])
            self.assert_close(*results)
            with torch.no_grad():
                self.assert_close([run(x, h)], [compiled(x, h)])

    def test_the_operators_are_registered_correctly(self):
        _, mine = pair("LSTM", 3, 4)
        x = torch.randn(5, 2, 3, requires_grad=True)
        h = torch.zeros(1, 2, 4, requires_grad=True)
        weights = [w.detach().requires_grad_() for w in mine._flat_weights]
        given = (x, h, h, weights, None, None, mine._unfold_key, "LSTM", 4, 1, False, True, 0.0, True, True)
        library.opcheck(
            unfold.torch._operators.recurrent,
            given,
            test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
        )

    def test_second_derivatives_raise_a_clear_error(self):
        _, mine = pair("LSTM", 3, 4)
        x = torch.randn(5, 2, 3, requires_grad=True)
        (gradient,) = torch.autograd.grad(mine(x)[0].sum(), x, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "second derivatives"):
            gradient.sum().backward()

    def test_other_layers_are_those_of_torch(self):
        with self.assertRaisesRegex(AttributeError, "unfold.torch has only Cell, GRU, LSTM, RNN; use torch.nn.LSTMCell"):
            unfold.torch.LSTMCell  # noqa: B018

    def test_projections_raise_a_clear_error(self):
        with self.assertRaisesRegex(NotImplementedError, "proj_size"):
            unfold.torch.LSTM(3, 4, proj_size=2)

    def test_wrong_shapes_have_the_errors_of_torch(self):
        for cell in CELLS:
            for layer in pair(cell, 3, 4):
                with self.assertRaisesRegex(RuntimeError, "input.size"):
                    layer(torch.randn(5, 2, 7))
                with self.assertRaisesRegex(ValueError, "2D or 3D"):
                    layer(torch.randn(5, 2, 3, 1))
                h = torch.zeros(1, 3, 4)
                with self.assertRaisesRegex(RuntimeError, "Expected hidden"):
                    layer(torch.randn(5, 2, 3), (h, h) if cell == "LSTM" else h)
                h = torch.zeros(1, 4)
                with self.assertRaisesRegex(RuntimeError, "3-D"):
                    layer(torch.randn(5, 2, 3), (h, h) if cell == "LSTM" else h)

    def test_other_types_are_computed_by_torch(self):
        reference, mine = pair("LSTM", 3, 4, dtype=torch.bfloat16)
        x = torch.randn(5, 2, 3, dtype=torch.bfloat16)
        self.assertTrue(torch.equal(reference(x)[0], mine(x)[0]))

    def test_threads_of_python_share_a_layer(self):
        _, mine = pair("LSTM", 3, 16)
        x = [torch.randn(20, 2, 3, generator=torch.Generator().manual_seed(n)) for n in range(4)]
        wanted = [passes(mine, given) for given in x]
        found = [None] * len(x)

        def work(i):
            for _ in range(20):
                found[i] = passes(mine, x[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(x))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for a, b in zip(wanted, found):
            self.assert_same_bits(a, b)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_child_computes(self):
        _, mine = pair("LSTM", 3, 64)
        x = torch.randn(20, 8, 3)
        with torch.no_grad():
            wanted = mine(x)[0].sum()
        queue = multiprocessing.get_context("fork").Queue()

        def child():
            torch.set_num_threads(2)
            with torch.no_grad():
                queue.put(float(mine(x)[0].sum()))

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        found = queue.get(timeout=60)
        process.join()
        self.assertAlmostEqual(float(wanted), found, places=3)

    def test_examples_of_the_documentation_run(self):
        self.assertEqual(scratch.run_examples(unfold.torch)[0], 0)


def circuit(symbols=False, dropout=0.0):
    c = unfold.Circuit()
    x = c.symbols("x", 5) if symbols else c.input("x", 3)
    h = c.link(4)
    z, g = c.affine("z", 8, {"W": x, "U": h}).split(2)
    y = h + z.sigmoid() * (g.tanh() - h)
    c.feed(h, y)
    c.output(c.affine("out", 2, {"V": c.dropout(y, dropout)}))
    return c


def equation(cell, x):
    """Compute the circuit with operations of PyTorch, [steps, batch, 3]."""
    w = cell.weights
    h, outputs = x.new_zeros(x.shape[1], 4), []
    for step in x:
        z, g = (step @ w["z/W"] + h @ w["z/U"] + w["z/bias"]).chunk(2, dim=-1)
        h = h + z.sigmoid() * (g.tanh() - h)
        outputs.append(h @ w["out/V"] + w["out/bias"])
    return torch.stack(outputs)


class CellTest(unittest.TestCase):
    def test_a_circuit_has_the_results_and_gradients_of_its_equation(self):
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
            cell = unfold.torch.Cell(circuit(), dtype=dtype)
            x = torch.randn(6, 2, 3, dtype=dtype, requires_grad=True)
            leaves = [x, *cell.parameters()]
            mine, theirs = cell(x), equation(cell, x)
            torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)
            seed = torch.randn(mine.shape, dtype=dtype)
            for a, b in zip(torch.autograd.grad(mine, leaves, seed), torch.autograd.grad(theirs, leaves, seed)):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def test_backward_after_another_forward_pass(self):
        cell = unfold.torch.Cell(circuit(), dtype=torch.float64)
        x, other = torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(3, 1, 3, dtype=torch.float64)
        first = torch.autograd.grad(cell(x).sum(), list(cell.parameters()))
        y = cell(x)
        cell(other)
        for a, b in zip(first, torch.autograd.grad(y.sum(), list(cell.parameters()))):
            self.assertTrue(torch.equal(a, b))

    def test_gradcheck(self):
        cell = unfold.torch.Cell(circuit(), dtype=torch.float64)
        x = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda x, *_: cell(x), (x, *cell.parameters())))

    def test_forms_of_batches(self):
        cell = unfold.torch.Cell(circuit())
        sequences = [torch.randn(n, 3) for n in (4, 2, 5)]
        alone = [cell(s) for s in sequences]
        packed = cell(pack_sequence(sequences, enforce_sorted=False))
        padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(packed)
        for i, y in enumerate(alone):
            self.assertTrue(torch.equal(padded[: int(lengths[i]), i], y))
        first = unfold.torch.Cell(circuit(), batch_first=True)
        first.load_state_dict(cell.state_dict())
        x = torch.randn(2, 6, 3)
        self.assertTrue(torch.equal(first(x), cell(x.transpose(0, 1)).transpose(0, 1)))

    def test_symbols_dropout_copies_and_training(self):
        cell = unfold.torch.Cell(circuit(symbols=True))
        self.assertEqual(cell(torch.tensor([[0, 4], [-1, 2]])).shape, (2, 2, 2))
        self.assertEqual(cell(torch.tensor([0, 4, 1])).shape, (3, 2))
        dropped = unfold.torch.Cell(circuit(dropout=0.5))
        x = torch.randn(5, 2, 3)
        self.assertTrue(torch.equal(dropped(x, dropout_seed=3), dropped(x, dropout_seed=3)))
        self.assertFalse(torch.equal(dropped(x, dropout_seed=3), dropped(x, dropout_seed=4)))
        dropped.eval()
        for other in (copy.deepcopy(dropped), pickle.loads(pickle.dumps(dropped))):
            self.assertTrue(torch.equal(other(x), dropped(x)))
        cell = unfold.torch.Cell(circuit()).double()
        optimizer = torch.optim.Adam(cell.parameters(), lr=0.05)
        x = torch.randn(8, 4, 3, dtype=torch.float64)
        losses = []
        for _ in range(40):
            optimizer.zero_grad()
            losses.append(((cell(x) - x[..., :2]) ** 2).mean())
            losses[-1].backward()
            optimizer.step()
        self.assertLess(float(losses[-1].detach()), 0.5 * float(losses[0].detach()))

    def test_misuse(self):
        with self.assertRaises(ValueError):
            unfold.torch.Cell(circuit(), dtype=torch.float16)
        cell = unfold.torch.Cell(circuit())
        for x in (torch.randn(4, 2, 5), torch.randn(4), torch.randn(0, 2, 3), torch.randn(5, 0, 3),
                  torch.zeros(2, 1, 3, dtype=torch.complex64)):
            with self.assertRaises(ValueError):
                cell(x)
        for x in (None, [[1.0, 2.0, 3.0]], numpy.ones((4, 3))):
            with self.assertRaisesRegex(TypeError, "tensor"):
                cell(x)
        with self.assertRaisesRegex(TypeError, "Circuit"):
            unfold.torch.Cell(3)
        with self.assertRaisesRegex(ValueError, "float32 or torch.float64"):
            cell.half()(torch.randn(4, 2, 3))
        with self.assertRaisesRegex(ValueError, "integers"):
            unfold.torch.Cell(circuit(symbols=True))(torch.ones(3, 1))
        self.assertTrue(torch.isnan(unfold.torch.Cell(circuit())(torch.full((2, 1, 3), torch.nan))).all())


if __name__ == "__main__":
    unittest.main()
