#!/usr/bin/env python3
"""Measures a Baum-Welch iteration of unfold.hmm and of hmmlearn on the same data with the same initial parameters.

  PYTHONPATH=build/release/python/package python3 bench/python/hmm.py

Needs hmmlearn. The classes alternate; printed is the CPU time of one iteration, the minimum of three fits, on one
thread.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import time

import hmmlearn.hmm
import numpy as np
import unfold.hmm

SYMBOLS = 30
COLUMNS = 2


def observations(kind, positions, rng):
    if kind == "CategoricalHMM":
        return rng.integers(0, SYMBOLS, (positions, 1))
    levels = np.repeat(rng.integers(0, 3, positions // 50), 50)
    return rng.normal(size=(positions, COLUMNS)) + 2 * levels[:, None]


def model(module, kind, covariance, states, iterations, start):
    options = {"covariance_type": covariance} if covariance else {}
    result = getattr(module, kind)(states, n_iter=iterations, tol=-1e9, init_params="", **options)
    for name, value in start.items():
        setattr(result, name, value)
    return result


def initial_parameters(kind, covariance, states, rng):
    start = {"startprob_": np.full(states, 1 / states), "transmat_": rng.dirichlet(np.ones(states), states)}
    if kind == "CategoricalHMM":
        return start | {"n_features": SYMBOLS, "emissionprob_": rng.dirichlet(np.ones(SYMBOLS), states)}
    covariances = np.stack([np.eye(COLUMNS)] * states) if covariance == "full" else np.ones((states, COLUMNS))
    return start | {"means_": 2 * rng.normal(size=(states, COLUMNS)), "covars_": covariances}


def milliseconds(module, kind, covariance, states, iterations, start, data):
    fitted = model(module, kind, covariance, states, iterations, start)
    begin = time.process_time()
    fitted.fit(data)
    return 1e3 * (time.process_time() - begin) / iterations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=3000)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'model':16}{'covariance':12}{'states':>6}{'unfold':>10}{'hmmlearn':>10}{'ratio':>8}")
    for kind, covariance, states in [
        ("GaussianHMM", "diag", 3),
        ("GaussianHMM", "full", 3),
        ("GaussianHMM", "full", 20),
        ("CategoricalHMM", None, 3),
        ("CategoricalHMM", None, 20),
    ]:
        rng = np.random.default_rng(1)
        data = observations(kind, arguments.positions, rng)
        start = initial_parameters(kind, covariance, states, rng)
        best = {module: float("inf") for module in (unfold.hmm, hmmlearn.hmm)}
        for _ in range(arguments.repeats):
            for module in best:
                taken = milliseconds(module, kind, covariance, states, arguments.iterations, start, data)
                best[module] = min(best[module], taken)
        ours, theirs = best[unfold.hmm], best[hmmlearn.hmm]
        print(f"{kind:16}{covariance or '-':12}{states:6}{ours:10.2f}{theirs:10.2f}{theirs / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main()
