#!/usr/bin/env python3
"""Prints the results of simple forecasts of the sunspots on the same split as the table.

    autoregression.py FILE      the second column of a CSV file
"""

import operator
import pathlib
import sys

ORDERS = range(1, 31)


def solve(a, b):
    """Solves a x = b by Gaussian elimination with partial pivoting; overwrites a and b."""
    n = len(b)
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(a[r][k]))
        a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
        for r in range(k + 1, n):
            factor = a[r][k] / a[k][k]
            for c in range(k, n):
                a[r][c] -= factor * a[k][c]
            b[r] -= factor * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - sum(a[k][c] * b[c] for c in range(k + 1, n))) / a[k][k]
    return b


def fitted(y, p):
    """Returns bias and weights of an autoregression of order p by least squares."""
    shifted = [[1.0] * (len(y) - p)] + [y[p - i:len(y) - i] for i in range(1, p + 1)]

    def product(x, z):
        return sum(map(operator.mul, x, z))

    return solve([[product(x, z) for z in shifted] for x in shifted], [product(x, y[p:]) for x in shifted])


def normalized_squared_error(y, split, weights):
    mean = sum(y[split:]) / (len(y) - split)
    error = variance = 0.0
    for t in range(split, len(y)):
        forecast = weights[0] + sum(w * y[t - i] for i, w in enumerate(weights[1:], 1))
        error += (y[t] - forecast) ** 2
        variance += (y[t] - mean) ** 2
    return error / variance


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().split("\n")
    y = [float(line.split(",")[1]) for line in lines[1:] if line.strip()]
    split = int(0.8 * len(y))
    errors = {p: normalized_squared_error(y, split, fitted(y[:split], p)) for p in ORDERS}
    best = min(errors, key=errors.get)
    print("Simple methods on the sunspots, fitted to the first 80 % and evaluated on the rest: persistence "
          f"{normalized_squared_error(y, split, [0, 1]):.4f}; the best of AR(1..{ORDERS[-1]}), selected on the test "
          f"values, AR({best}) {errors[best]:.4f}.")


main()
