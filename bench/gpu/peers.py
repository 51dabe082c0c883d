#!/usr/bin/env python3
"""Recurrent layers and training steps in PyTorch on one NVIDIA GPU. Prints the time in milliseconds as one JSON object
per line, and a table at the end.

  python3 bench/gpu/peers.py                                   everything, most important first, for about 100 s
  python3 bench/gpu/peers.py --only lstm,gru --seconds 60      selected cells; `copy` and `matmul` are upper bounds
  python3 bench/gpu/peers.py --only mingru,lru --how compile,compile+graph --out peers.jsonl

Needs PyTorch 2.11 with CUDA, and Triton for torch.compile. The last JSON line counts the cases skipped for lack of
time.

What is measured (`what`), on B sequences of 128 positions:
  ceiling  a copy of 1 GB within the device (bytes read and written), square matrix products
  layer    the recurrent layer alone: forward, then gradients of its weights and its inputs [128, B, H] for a given
           gradient of its outputs
  step     a training step: embedding of 64 symbols, layer, linear map to 64, mean cross-entropy, backward, fused Adam
How it is run (`how`):
- `eager`;
- `graph`: captured in a CUDA graph and replayed;
- `compile`: with torch.compile;
- `compile+graph`: compiled, captured and replayed.

The implementation (`form`):
- `cudnn`;
- `loop`: a Python loop over positions, preceded by the products of the inputs; torch.compile compiles the function of
  one position;
- `scan`: log2(128) passes over all positions, compiled as a whole.

The precision (`precision`):
- `float`: float32 without TF32;
- `tf32`: float32 with TF32 products;
- `bf16` and `half`: weights and inputs of this type (for cuDNN);
- `bf16-autocast`: float32 weights, products in bfloat16, and recurrent states in float32 where a sum is accumulated.

Times are measured with CUDA events around each repetition, after three warm-ups; `wall_ms` is the mean by the host's
clock.
"""
import argparse
import json
import math
import os
import signal
import statistics
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace

BEGAN = time.perf_counter()  # before loading PyTorch, which takes seconds that count towards the budget

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

DEVICE = "cuda"
STEPS, SYMBOLS = 128, 64
SIZES, BATCHES = (256, 512, 1024), (16, 64, 256)
MIDDLE_SIZE, MIDDLE_BATCH = 512, 64
COPIED_BYTES, HALF_SIDE, SINGLE_SIDE = 1 << 30, 8192, 4096

WARM_UPS, FEWEST, MOST = 3, 5, 1000  # repetitions
MEASURED_SECONDS = 0.3  # target duration of a measurement, extended if needed for FEWEST repetitions
CASE_SECONDS, COMPILE_SECONDS = 12, 25  # time limits per case
FIRST_COMPILE_SECONDS = 40  # for the first compiled case, which loads the compiler
LEAST_SECONDS, LEAST_COMPILE_SECONDS = 1, 6  # do not begin a case with less time than this left
GRACE_SECONDS = 8  # beyond the budget; then the script is terminated


@dataclass(frozen=True)
class Case:
    cell: str
    what: str
    form: str
    precision: str
    how: str
    hidden: int
    batch: int

    @property
    def compiled(self):
        return self.how.startswith("compile")

    @property
    def captured(self):
        return self.how.endswith("graph")


class Late(BaseException):
    """Raised when a case exceeds its time limit. Not an Exception, because compilers handle those as internal
    failures."""


# ---- cells that cuDNN lacks: `step` maps one position, a state (whose first part is the output) and weights to a state


def uniform(*shape):
    """Weights with PyTorch's default initialization, for the single size at which these cells are measured."""
    bound = 1 / math.sqrt(MIDDLE_SIZE)
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


def filled(value, *shape):
    return nn.Parameter(torch.full(shape, float(value)))


def product_type(x):
    """The type of a product with x, with or without autocast."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


class Loop(nn.Module):
    """Maps inputs [T, B, H] to outputs [T, B, H] with a loop over positions."""

    def forward(self, x):
        inputs = self.products(x)
        state, weights = self.start(inputs), self.weights(product_type(x))
        outputs = []
        for position in inputs.unbind(0):
            state = self.step(position, state, weights)
            outputs.append(state[0])
        return torch.stack(outputs)

    def start(self, inputs):
        """Zero states in the types that `step` returns, and with gradients enabled, so that `step` is compiled only
        once."""
        shape, types = (inputs.shape[1], self.hidden), self.state_types(inputs.dtype)
        return tuple(torch.zeros(shape, device=inputs.device, dtype=t, requires_grad=True) for t in types)

    def state_types(self, inputs):
        return (torch.float32,)


class ResetBeforeGru(Loop):
    """z, r = sigmoid(x W + h U), n = tanh(x W' + (r h) U'), h = (1 - z) n + z h"""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.w, self.b = uniform(3 * hidden, hidden), uniform(3 * hidden)
        self.u_gates, self.u_new = uniform(hidden, 2 * hidden), uniform(hidden, hidden)

    def products(self, x):
        return F.linear(x, self.w, self.b)

    def weights(self, dtype):  # cast once before the loop, as autocast does for eager code
        return self.u_gates.to(dtype), self.u_new.to(dtype)

    def state_types(self, inputs):
        return (inputs,)

    @staticmethod
    def step(x, state, weights):
        (h,), (u_gates, u_new) = state, weights
        n = 2 * h.shape[1]
        z, r = torch.sigmoid(torch.addmm(x[:, :n], h, u_gates)).chunk(2, 1)
        new = torch.tanh(torch.addmm(x[:, n:], r * h, u_new))
        return (torch.lerp(new, h, z),)


def cell_and_gates(gates, c):
    """The new cell state of an LSTM and its output gate."""
    i, f, g, o = gates.chunk(4, 1)
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g), torch.sigmoid(o)


class NormalizedLstm(Loop):
    """gates of LN(x W) + LN(h U) + b, h = o tanh(LN(c)), where each LN has separate gains"""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.w, self.u, self.b = uniform(4 * hidden, hidden), uniform(hidden, 4 * hidden), uniform(4 * hidden)
        self.gain_w, self.gain_u, self.gain_c = filled(1, 4 * hidden), filled(1, 4 * hidden), filled(1, hidden)

    def products(self, x):
        return F.layer_norm(F.linear(x, self.w), self.b.shape, self.gain_w, self.b)

    def weights(self, dtype):
        return self.u.to(dtype), self.gain_u, self.gain_c

    def state_types(self, inputs):
        return inputs, torch.float32

    @staticmethod
    def step(x, state, weights):
        (h, c), (u, gain_u, gain_c) = state, weights
        c, o = cell_and_gates(x + F.layer_norm(torch.mm(h, u), gain_u.shape, gain_u), c)
        return (o * torch.tanh(F.layer_norm(c, gain_c.shape, gain_c))).to(x.dtype), c


class MultiplicativeLstm(Loop):
    """m = (x Wm) (h Um), LSTM gates of x W + m U"""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.w, self.b = uniform(5 * hidden, hidden), uniform(5 * hidden)
        self.u_m, self.u = uniform(hidden, hidden), uniform(hidden, 4 * hidden)

    def products(self, x):
        return F.linear(x, self.w, self.b)

    def weights(self, dtype):
        return self.u_m.to(dtype), self.u.to(dtype)

    def state_types(self, inputs):
        return inputs, torch.float32

    @staticmethod
    def step(x, state, weights):
        (h, c), (u_m, u) = state, weights
        n = h.shape[1]
        c, o = cell_and_gates(torch.addmm(x[:, n:], x[:, :n] * torch.mm(h, u_m), u), c)
        return (o * torch.tanh(c)).to(x.dtype), c


class LeakyTanh(Loop):
    """h = (1 - a) h + a tanh(x W + h U), a = sigmoid(leak) for each unit"""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.w, self.b, self.u, self.leak = uniform(hidden, hidden), uniform(hidden), uniform(hidden, hidden), uniform(hidden)

    def products(self, x):
        return F.linear(x, self.w, self.b)

    def weights(self, dtype):
        return self.u.to(dtype), torch.sigmoid(self.leak)

    @staticmethod
    def step(x, state, weights):
        (h,), (u, a) = state, weights
        return (torch.lerp(h, torch.tanh(torch.addmm(x, h.to(u.dtype), u)).to(h.dtype), a),)


# ---- cells without a product in the loop: `loop` and `scan` compute the same function --------------------------------


def shifted(x, by):
    """x[t - by] at position t, and zero before the first position."""
    return F.pad(x[:-by], (0, 0) * (x.dim() - 1) + (by, 0))


def distances(steps):
    """1, 2, 4, ... below the number of positions: the passes of a scan by Hillis and Steele (1986)."""
    return [1 << k for k in range((steps - 1).bit_length())]


class DecayScan(torch.autograd.Function):
    """h[t] = a[t] h[t-1] + b[t]. The gradient is the same scan in reverse, so no intermediate pass needs to be
    stored."""

    @staticmethod
    def passes(a, h):
        for by in distances(len(h)):
            h = h + a * shifted(h, by)
            a = a * shifted(a, by)
        return h

    @staticmethod
    def forward(ctx, a, b):
        h = DecayScan.passes(a, b)
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx, dh):
        a, h = ctx.saved_tensors
        db = DecayScan.passes(shifted(a.flip(0), 1), dh.flip(0)).flip(0)
        return db * shifted(h, 1), db


class TurnScan(torch.autograd.Function):
    """h[t] = a h[t-1] + b[t], complex, with the same a at all positions. Real and imaginary parts are separate because
    torch.compile does not generate kernels for complex numbers."""

    @staticmethod
    def passes(a_re, a_im, re, im):
        for by in distances(len(re)):
            from_re, from_im = shifted(re, by), shifted(im, by)
            re, im = re + a_re * from_re - a_im * from_im, im + a_re * from_im + a_im * from_re
            a_re, a_im = a_re * a_re - a_im * a_im, 2 * a_re * a_im
        return re, im

    @staticmethod
    def forward(ctx, a_re, a_im, b_re, b_im):
        re, im = TurnScan.passes(a_re, a_im, b_re, b_im)
        ctx.save_for_backward(a_re, a_im, re, im)
        return re, im

    @staticmethod
    def backward(ctx, d_re, d_im):
        a_re, a_im, re, im = ctx.saved_tensors
        db_re, db_im = (d.flip(0) for d in TurnScan.passes(a_re, -a_im, d_re.flip(0), d_im.flip(0)))
        re, im = shifted(re, 1), shifted(im, 1)
        return (db_re * re + db_im * im).sum((0, 1)), (db_im * re - db_re * im).sum((0, 1)), db_re, db_im


class MinGru(nn.Module):
    """z = sigmoid(x W + b), g = x W' + b', h = (1 - z) h + z g"""

    def __init__(self, hidden):
        super().__init__()
        self.w, self.b = uniform(2 * hidden, hidden), uniform(2 * hidden)

    def decay_and_drive(self, x):
        z, g = F.linear(x, self.w, self.b).float().chunk(2, 2)
        z = torch.sigmoid(z)
        return 1 - z, z * g

    def forward(self, x):
        decay, drive = self.decay_and_drive(x)
        h, outputs = torch.zeros_like(drive[0]), []
        for a, b in zip(decay.unbind(0), drive.unbind(0)):
            h = torch.addcmul(b, a, h)
            outputs.append(h)
        return torch.stack(outputs)

    def scan(self, x):
        return DecayScan.apply(*self.decay_and_drive(x))


class Lru(nn.Module):
    """h = lambda h + gamma (x B), complex; outputs Re(h C) + x D + b"""

    def __init__(self, hidden):
        super().__init__()
        squares = torch.linspace(0.5**2, 0.999**2, hidden)
        self.nu = nn.Parameter(torch.log(-0.5 * torch.log(squares)))
        self.phase = nn.Parameter(torch.rand(hidden) * 2 * math.pi)
        self.gamma = nn.Parameter(torch.sqrt(1 - squares))
        self.w, self.c = uniform(2 * hidden, hidden), uniform(hidden, 2 * hidden)  # real parts, then imaginary parts
        self.d, self.b = uniform(hidden, hidden), uniform(hidden)

    def multiplier(self):
        modulus = torch.exp(-torch.exp(self.nu))
        return modulus * torch.cos(self.phase), modulus * torch.sin(self.phase)

    def drive(self, x):
        """Real and imaginary parts. There is no complex bfloat16, so the recurrence is in float32 regardless of the
        type of the products."""
        re, im = F.linear(x, self.w).float().chunk(2, 2)
        return re * self.gamma, im * self.gamma

    def read_out(self, re, im, x):
        return F.linear(torch.cat((re, im), 2), self.c) + F.linear(x, self.d, self.b)

    def forward(self, x):
        multiplier = torch.complex(*self.multiplier())
        drive = torch.complex(*self.drive(x))
        h, states = torch.zeros_like(drive[0]), []
        for b in drive.unbind(0):
            h = b + multiplier * h
            states.append(h)
        h = torch.stack(states)
        return self.read_out(h.real, h.imag, x)

    def scan(self, x):
        return self.read_out(*TurnScan.apply(*self.multiplier(), *self.drive(x)), x)


LIBRARY_CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}
OWN_CELLS = {
    "gru-reset-before": ResetBeforeGru,
    "lstm-norm": NormalizedLstm,
    "mlstm": MultiplicativeLstm,
    "mingru": MinGru,
    "lru": Lru,
    "rnn-leak": LeakyTanh,
}
SCANNED = ("mingru", "lru")
# Limit above which the compiler stops fusing operations and materializes intermediate results. With its default of 30,
# compiling `lru` takes three times as long and results in as many kernels.
COMPILE_OPTIONS = {"lru": {"realize_opcount_threshold": 12}}


# ---- workloads: functions without arguments --------------------------------------------------------------------------


def set_precision(precision):
    """Uses only the older switches: PyTorch rejects a mixture of these and `fp32_precision`."""
    tf32 = precision != "float"
    torch.backends.cudnn.allow_tf32 = tf32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")


def storage_type(precision):
    return {"bf16": torch.bfloat16, "half": torch.float16}.get(precision, torch.float32)


def library_layer(case):
    """A cuDNN layer and the function that runs it."""
    layer = LIBRARY_CELLS[case.cell](case.hidden, case.hidden).to(DEVICE, storage_type(case.precision))
    return layer, lambda x: layer(x)[0]


def own_layer(case):
    layer = OWN_CELLS[case.cell](case.hidden).to(DEVICE)
    run = layer.scan if case.form == "scan" else layer
    if case.compiled and case.form == "scan":
        run = torch.compile(layer.scan, fullgraph=True, dynamic=False, options=COMPILE_OPTIONS.get(case.cell))
    elif case.compiled:
        layer.step = torch.compile(layer.step, fullgraph=True, dynamic=False)

    def forward(x):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=case.precision == "bf16-autocast"):
            return run(x)

    return layer, forward


def layer_pass(case):
    layer, forward = library_layer(case) if case.cell in LIBRARY_CELLS else own_layer(case)
    shape = STEPS, case.batch, case.hidden
    x = torch.randn(shape, device=DEVICE, dtype=storage_type(case.precision)).requires_grad_()
    wanted = [x, *layer.parameters()]
    gradient = torch.randn_like(forward(x).detach())

    def work():
        torch.autograd.grad(forward(x), wanted, gradient)

    return work


class Model(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, case.hidden)
        self.recurrent = LIBRARY_CELLS[case.cell](case.hidden, case.hidden)
        self.head = nn.Linear(case.hidden, SYMBOLS)

    def forward(self, symbols):
        return self.head(self.recurrent(self.embedding(symbols))[0].flatten(0, 1))


def training_step(case):
    model = Model(case).to(DEVICE, storage_type(case.precision))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)
    symbols = torch.randint(SYMBOLS, (STEPS, case.batch), device=DEVICE)
    targets = torch.randint(SYMBOLS, (STEPS * case.batch,), device=DEVICE)

    def work():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(symbols).float(), targets).backward()
        optimizer.step()

    return work


def captured(work):
    """Captures the work in a CUDA graph. As PyTorch requires, it runs on a separate stream first, so that no
    initialization is captured."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


# ---- measurement -----------------------------------------------------------------------------------------------------


def measure(work):
    for _ in range(WARM_UPS):
        work()
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    once = time.perf_counter() - began
    count = max(FEWEST, min(MOST, int(MEASURED_SECONDS / once)))
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    began = time.perf_counter()
    for begin, end in marks:
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    wall = (time.perf_counter() - began) / count * 1000
    times = [begin.elapsed_time(end) for begin, end in marks]
    return {
        "ms": round(statistics.median(times), 4),
        "min_ms": round(min(times), 4),
        "wall_ms": round(wall, 4),
        "repetitions": count,
    }


def wake():
    """Runs products for a moment before measurements, because the clock frequency of an idle GPU is low."""
    a = torch.randn(SINGLE_SIDE, SINGLE_SIDE, device=DEVICE)
    began = time.perf_counter()
    while time.perf_counter() - began < 0.3:
        a @ a
        torch.cuda.synchronize()


def copy_ceiling(case):
    source = torch.rand(COPIED_BYTES // 4, device=DEVICE)
    target = torch.empty_like(source)
    times = measure(lambda: target.copy_(source))
    yield case, times | {"gb_per_second": round(2 * source.nbytes / times["ms"] / 1e6, 1)}


def matmul_ceiling(case):
    a, b = (torch.randn(case.hidden, case.hidden, device=DEVICE, dtype=storage_type(case.precision)) for _ in range(2))
    out = torch.empty_like(a)
    times = measure(lambda: torch.mm(a, b, out=out))
    yield case, times | {"tflops": round(2 * case.hidden**3 / times["ms"] / 1e9, 1)}


def recurrent(case, hows):
    """Measures the same work in each of these modes: directly, then captured."""
    began = time.perf_counter()
    work = layer_pass(case) if case.what == "layer" else training_step(case)
    work()
    torch.cuda.synchronize()
    first = {"first_seconds": round(time.perf_counter() - began, 2)}  # construction, compilation and one repetition
    for how in hows:
        case = replace(case, how=how)
        times = measure(captured(work) if case.captured else work)
        yield case, times | {"positions_per_second": round(STEPS * case.batch / times["ms"] * 1000)} | first


def perform(case, hows):
    """Yields a case and its results for each of `hows`."""
    set_precision(case.precision)
    torch.manual_seed(1)
    if case.compiled:
        torch._dynamo.reset()  # functions compiled for earlier cases do not count towards its limit
    if case.what == "ceiling":
        return copy_ceiling(case) if case.cell == "copy" else matmul_ceiling(case)
    return recurrent(case, hows)


# ---- list of cases ---------------------------------------------------------------------------------------------------


def ceilings():
    yield Case("copy", "ceiling", "", "float", "eager", 0, 0), ("eager",)
    for precision, side in (("bf16", HALF_SIDE), ("float", SINGLE_SIDE), ("tf32", SINGLE_SIDE)):
        yield Case("matmul", "ceiling", "", precision, "eager", side, 0), ("eager",)


def by_library(precisions, what="layer", hows=("eager",), sizes=(MIDDLE_SIZE,), batches=(MIDDLE_BATCH,)):
    for hidden in sizes:
        for batch in batches:
            for cell in LIBRARY_CELLS:
                for precision in precisions:
                    yield Case(cell, what, "cudnn", precision, hows[0], hidden, batch), hows


def by_hand(hows):
    for precision in ("tf32", "bf16-autocast"):
        for cell in OWN_CELLS:
            form = "scan" if cell in SCANNED and hows[0] == "compile" else "loop"
            yield Case(cell, "layer", form, precision, hows[0], MIDDLE_SIZE, MIDDLE_BATCH), hows


def all_cases():
    """Pairs of a case and how to run it, the most important first."""
    precisions = "float", "tf32", "bf16"
    middle = list(by_library(precisions))
    yield from ceilings()
    yield from middle
    yield from by_library(precisions, "step", ("eager", "graph"))
    yield from (pair for pair in by_library(precisions, sizes=SIZES, batches=BATCHES) if pair not in middle)
    yield from by_hand(("eager", "graph"))
    yield from by_hand(("compile", "compile+graph"))
    # PyTorch uses cuDNN's persistent kernels only for float16, so bfloat16 may not show the best performance of cuDNN.
    yield from by_library(("half",), sizes=SIZES)
    yield from by_library(precisions, hows=("graph",))


def chosen(cells, hows):
    """The cases of the given cells and modes; empty lists select all."""
    for case, ways in all_cases():
        ways = tuple(how for how in ways if not hows or how in hows)
        if ways and (not cells or case.cell in cells):
            yield replace(case, how=ways[0]), ways


# ---- output ----------------------------------------------------------------------------------------------------------


class Report:
    """Prints results as JSON lines immediately, optionally also to a file, and a table of them at the end."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None
        self.rows, self.errors = [], 0

    def line(self, fields):
        text = json.dumps(fields)
        print(text, flush=True)
        if self.file:
            print(text, file=self.file, flush=True)

    def result(self, case, numbers):
        self.rows.append((case, numbers))
        self.line(fields_of(case) | numbers)

    def error(self, case, text):
        self.errors += 1
        self.line(fields_of(case) | {"error": text})

    def table(self):
        rows = list(self.rows)
        if any(case.what == "ceiling" for case, _ in rows):
            print("\nceiling  precision      side       ms      min")
        for case, n in rows:
            if case.what == "ceiling":
                rate = f"{n['tflops']:.1f} TFLOP/s" if "tflops" in n else f"{n['gb_per_second']:.0f} GB/s"
                print(f"{case.cell:8} {case.precision:13} {case.hidden or '':5} {n['ms']:8.3f} {n['min_ms']:8.3f}  {rate}")
        print("\ncell             what  form  how           precision     hidden batch       ms      min  positions/s")
        for case, n in rows:
            if case.what != "ceiling":
                name = f"{case.cell:16} {case.what:5} {case.form:5} {case.how:13} {case.precision:13}"
                size = f"{case.hidden:6} {case.batch:5}"
                print(f"{name} {size} {n['ms']:8.3f} {n['min_ms']:8.3f} {n['positions_per_second']:12,}")
        sys.stdout.flush()


def fields_of(case):
    fields = asdict(case) | {"steps": STEPS, "gpu": torch.cuda.get_device_name()}
    if case.what == "ceiling":
        fields["side"] = case.hidden
        for name in ("form", "hidden", "batch", "steps"):
            del fields[name]
    return fields


def header(options):
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": sys.version.split()[0],
        "steps": STEPS,
        "symbols": SYMBOLS,
        "seconds": options.seconds,
        "loaded_after": round(elapsed(), 1),
    }


# ---- execution -------------------------------------------------------------------------------------------------------


def elapsed():
    return time.perf_counter() - BEGAN


def late(*_):
    raise Late


def attempt(case, hows, seconds, report):
    """Runs one case and reports any failure as a JSON line. Returns whether the GPU still responds."""
    began, waiting = time.perf_counter(), list(hows)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 2)  # repeats: Python drops exceptions raised in destructors
        try:
            for measured, numbers in perform(case, hows):
                report.result(measured, numbers)
                waiting = waiting[1:] or waiting
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        report.error(replace(case, how=waiting[0]), f"given up after {time.perf_counter() - began:.1f} s")
    except Exception as e:  # noqa: BLE001  a failed case must not stop the others
        lines = str(e).strip().splitlines() or [""]
        report.error(replace(case, how=waiting[0]), f"{type(e).__name__}: {lines[0][:300]}")
    else:
        return True
    try:
        torch.cuda.set_stream(torch.cuda.default_stream())  # a failed capture may leave a different current stream
        torch.cuda.synchronize()
    except Exception as e:  # noqa: BLE001
        report.line({"error": f"the GPU no longer answers: {type(e).__name__}"})
        return False
    return True


def run_all(cases, budget, report):
    """Runs as many cases as time allows."""
    compiler_loaded = False
    for done, (case, hows) in enumerate(cases):
        left = budget - elapsed()
        least, limit = (LEAST_COMPILE_SECONDS, COMPILE_SECONDS) if case.compiled else (LEAST_SECONDS, CASE_SECONDS)
        if case.compiled and not compiler_loaded:
            limit, compiler_loaded = FIRST_COMPILE_SECONDS, True
        if left < LEAST_SECONDS:
            report.line({"skipped": len(cases) - done, "seconds": round(elapsed(), 1), "first_skipped": fields_of(case)})
            return
        if left < least:
            report.line(fields_of(case) | {"skipped": 1})
        elif not attempt(case, hows, min(limit, left), report):
            return
    report.line({"skipped": 0, "seconds": round(elapsed(), 1)})


def end_anyway(report):
    """Terminates work that signals cannot interrupt, such as a compiler in a separate thread."""
    report.line({"error": f"ended after {elapsed():.1f} s, within a case"})
    report.table()
    os._exit(1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cells = ["copy", "matmul", *LIBRARY_CELLS, *OWN_CELLS]
    hows = ["eager", "graph", "compile", "compile+graph"]

    def some_of(names):
        def listed(text):
            found = [name for name in text.split(",") if name]
            if unknown := set(found) - set(names):
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; available: {', '.join(names)}")
            return found

        return listed

    parser.add_argument("--only", type=some_of(cells), default=[], metavar="CELLS", help=", ".join(cells))
    parser.add_argument("--how", type=some_of(hows), default=[], metavar="WAYS", help=", ".join(hows))
    parser.add_argument("--seconds", type=float, default=95, help="do not begin a case after this time, which includes loading PyTorch (95)")
    parser.add_argument("--out", metavar="FILE", help="also write the JSON lines to this file")
    return parser.parse_args()


def main():
    options = arguments()
    report = Report(options.out)
    if not torch.cuda.is_available():
        report.line({"error": "no CUDA device"})
        return 1
    report.line(header(options))
    signal.signal(signal.SIGALRM, late)
    watchdog = threading.Timer(max(options.seconds - elapsed(), 0) + GRACE_SECONDS, end_anyway, [report])
    watchdog.daemon = True
    watchdog.start()
    wake()
    run_all(list(chosen(options.only, options.how)), options.seconds, report)
    watchdog.cancel()
    report.table()
    return 0 if report.rows else 1


if __name__ == "__main__":
    sys.exit(main())
