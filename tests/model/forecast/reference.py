#!/usr/bin/env python3
"""Prints the reference figures of the tests of src/model/forecast, most of them computed with statsmodels.

    python3 -m venv venv; venv/bin/pip install statsmodels
    venv/bin/python reference.py

The series are part of this script and of reference_series.h, so that the tests need no files.
"""

import warnings

import numpy
import statsmodels
from statsmodels.tsa.api import SARIMAX
from statsmodels.tsa.exponential_smoothing.ets import ETSModel
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.stattools import kpss

warnings.filterwarnings("ignore")

# Monthly totals of international airline passengers, 1949 to 1956 (Box and Jenkins 1976, series G).
AIRLINE = """112 118 132 129 121 135 148 148 136 119 104 118 115 126 141 135 125 149 170 170 158 133 114 140
145 150 178 163 172 178 199 199 184 162 146 166 171 180 193 181 183 218 230 242 209 191 172 194
196 196 236 235 229 243 264 272 237 211 180 201 204 188 235 227 234 264 302 293 259 229 203 229
242 233 267 269 270 315 364 347 312 274 237 278 284 277 317 313 318 374 413 405 355 306 271 306"""
# Annual flow of the Nile at Aswan, 1871 to 1930, in 10^8 cubic meters.
NILE = """1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140
1100 1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969
831 726 456 824 702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759"""

SERIES = {
    "airline": (numpy.array(AIRLINE.split(), float), 12),
    "nile": (numpy.array(NILE.split(), float), 1),
}
ETS_FORMS = {
    "airline": ["A,N,A", "A,A,A", "M,N,M", "M,A,M", "M,Ad,M", "M,A,A"],
    "nile": ["A,N,N", "M,N,N", "A,A,N", "A,Ad,N", "M,A,N"],
}
NAMES = {"A": "add", "M": "mul", "N": None}


def ets(name, form):
    y, m = SERIES[name]
    error, trend, season = form.split(",")
    model = ETSModel(y, error=NAMES[error], trend=NAMES[trend[0]], damped_trend=trend == "Ad", seasonal=NAMES[season],
                     seasonal_periods=m if season != "N" else None, bounds=None)
    fit = model.fit(disp=False, maxiter=2000)
    print(f'    {{"{name}", "{form}", {fit.llf:.4f}, {{{", ".join(f"{x:.3f}" for x in fit.forecast(4))}}}}},')


def ets_at(name, form, values):
    """Log likelihood at fixed parameters (`values` in the order of statsmodels, initial states in time order)."""
    y, m = SERIES[name]
    error, trend, season = form.split(",")
    model = ETSModel(y, error=NAMES[error], trend=NAMES[trend[0]], damped_trend=trend == "Ad", seasonal=NAMES[season],
                     seasonal_periods=m if season != "N" else None)
    print(f'    ets at fixed {name} {form} {values[:4]}: {model.loglike(numpy.array(values)):.9f}  {model.param_names}')


def ets_equations(name, error, alpha, beta, gamma, phi, level, slope, seasons):
    """Log likelihood of a form with a multiplicative season by the equations of Hyndman et al. (2008), initial seasons in
    time order. (statsmodels divides by the new level in the update of the season, which is a different model.)"""
    y, m = SERIES[name]
    s, squares, logs = list(seasons), 0.0, 0.0
    for t, value in enumerate(y):
        q = level + phi * slope
        mu = q * s[t]
        e = value - mu
        squares += (e / mu) ** 2 if error == "M" else e**2
        logs += numpy.log(mu) if error == "M" else 0
        level, slope = q + alpha * e / s[t], phi * slope + beta * e / s[t]
        s.append(s[t] + gamma * e / q)
    n = len(y)
    print(f"    equations {name} {error} {-n / 2 * (numpy.log(2 * numpy.pi * squares / n) + 1) - logs:.9f}")


def sarimax(name, order, seasonal, params, constant=False):
    y, m = SERIES[name]
    seasonal_order = (*seasonal, m if m > 1 else 0)
    d, sd = order[1], seasonal[1]
    w = y
    for _ in range(sd):
        w = w[m:] - w[:-m]
    for _ in range(d):
        w = w[1:] - w[:-1]
    exog = numpy.ones(len(w)) if constant else None
    model = SARIMAX(w, exog=exog, order=(order[0], 0, order[2]),
                    seasonal_order=(seasonal[0], 0, seasonal[2], m if m > 1 else 0), concentrate_scale=True)
    at_params = model.loglike(numpy.array(params))
    best = max((model.fit(disp=False, maxiter=500, method=method) for method in ("lbfgs", "nm")), key=lambda f: f.llf)
    best = max((best, model.fit(disp=False, maxiter=500, start_params=best.params)), key=lambda f: f.llf)
    print(f'    {{"{name}", {order}, {seasonal}, {constant}, {params}, {at_params:.8f}, {best.llf:.4f}}},')


def missing():
    """The likelihood with missing values."""
    y = SERIES["nile"][0] - 900
    y[[10, 11, 30, 59]] = numpy.nan
    model = SARIMAX(y, order=(2, 0, 1), concentrate_scale=True)
    print("    missing", f"{model.loglike(numpy.array([0.5, 0.2, -0.3])):.8f}")


def theta(name):
    y, m = SERIES[name]
    fit = ThetaModel(y, period=m if m > 1 else 1, deseasonalize=m > 1, use_test=True, method="multiplicative").fit(use_mle=False)
    print("    theta", name, [round(float(x), 3) for x in fit.forecast(6)], "alpha", fit.params["alpha"], "b0",
          fit.params["b0"])


def main():
    print("// statsmodels", statsmodels.__version__)
    for name, forms in ETS_FORMS.items():
        for form in forms:
            ets(name, form)
    ets_at("nile", "A,Ad,N", [0.3, 0.1, 0.9, 1100, 5])
    ets_at("nile", "M,A,N", [0.3, 0.1, 1100, 5])
    seasons = [-20, -10, 10, 5, 0, 20, 30, 30, 10, -15, -35, -25]
    ets_at("airline", "A,A,A", [0.4, 0.05, 0.2, 120, 2, *seasons])
    factors = [0.9, 0.92, 1.04, 1.02, 0.98, 1.1, 1.2, 1.2, 1.05, 0.9, 0.8, 0.89]
    ets_equations("airline", "M", 0.4, 0.05, 0.2, 0.95, 120, 2, factors[::-1])
    ets_equations("airline", "A", 0.4, 0, 0.2, 1, 120, 0, factors[::-1])
    sarimax("nile", (1, 0, 0), (0, 0, 0), [0.5])
    sarimax("nile", (1, 0, 1), (0, 0, 0), [900.0, 0.8, -0.4], True)
    sarimax("nile", (2, 1, 1), (0, 0, 0), [0.3, -0.1, -0.8])
    sarimax("nile", (0, 1, 1), (0, 0, 0), [-0.7])
    sarimax("airline", (0, 1, 1), (0, 1, 1), [-0.3, -0.2])
    sarimax("airline", (2, 0, 1), (1, 1, 0), [0.5, 0.2, 0.1, -0.3])
    sarimax("airline", (1, 0, 0), (0, 1, 1), [25.0, 0.7, -0.2], True)
    missing()
    theta("nile")
    theta("airline")
    for name in SERIES:
        print("    kpss", name, kpss(SERIES[name][0], nlags=int(3 * len(SERIES[name][0]) ** 0.5 / 13))[0])


if __name__ == "__main__":
    main()
