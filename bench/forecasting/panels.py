"""Prints the accuracy of `unfold forecast` on panels of short series, and of statsforecast if it is installed.

    python3 bench/forecasting/panels.py --unfold build/release/bin/unfold [PANEL...]

Each panel is written as a table with one row per series and without dates; the last values of each series are forecast
once. The panels yearly-m1 (package aeon), yearly-r, quarterly-r and monthly-r (Rscript with the packages datasets,
forecast, MASS and tseries; statsmodels) are skipped if their packages are not installed. The others are simulated.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import numpy as np

DUMP = """
for (pkg in c("datasets", "forecast", "MASS", "tseries")) {
  if (!requireNamespace(pkg, quietly = TRUE)) next
  for (name in sub(" .*", "", data(package = pkg)$results[, "Item"])) {
    e <- new.env()
    suppressWarnings(try(data(list = name, package = pkg, envir = e), silent = TRUE))
    x <- if (exists(name, envir = e, inherits = FALSE)) get(name, envir = e) else NULL
    if (!inherits(x, "ts")) next
    m <- as.matrix(x)
    for (j in 1:ncol(m)) if (is.numeric(m[, j]) && nrow(m) >= 13)
      cat(paste0(pkg, ".", name, if (ncol(m) > 1) paste0(".", j) else ""), frequency(x), paste(m[, j], collapse = ","),
          "\\n")
  }
}
"""
NOT_USED = {"12": ("datasets.co2", "datasets.Seatbelts.8", "datasets.sunspot.month", "datasets.sunspots"),
            "1": ("datasets.BJsales", "datasets.lh", "datasets.WWWusage", "forecast.gold"), "4": ()}


def series_of_r(frequency):
    """Returns the series of R packages with a frequency ("1", "4", "12"), without those that are not economic."""
    done = subprocess.run(["Rscript", "-e", DUMP], capture_output=True, text=True, check=True)
    result = []
    for line in done.stdout.splitlines():
        name, period, values = line.split(" ", 2)
        x = np.array([np.nan if v in ("NA", "NaN") else float(v) for v in values.strip().split(",")])
        known = np.flatnonzero(~np.isnan(x))
        if period == frequency and name not in NOT_USED[frequency]:
            result.append(x[known[0]:known[-1] + 1])
    return result


def cuts(series, shortest, longest, count, seed, horizon):
    """Returns random parts of the series without missing values."""
    draw, parts = np.random.default_rng(seed), []
    for x in series:
        if np.isnan(x).any():
            continue
        for _ in range(count):
            length = min(int(draw.integers(shortest, longest + 1)) + horizon, len(x))
            if length < shortest + horizon:
                continue
            end = len(x) - int(draw.integers(0, len(x) - length + 1))
            parts.append(x[end - length:end])
    return parts


def yearly_m1():
    import aeon.datasets
    path = pathlib.Path(aeon.datasets.__file__).parent / "data/m1_yearly_dataset/m1_yearly_dataset.tsf"
    lines = path.read_text(errors="replace").splitlines()
    return [np.array([float(v) for v in line.split(":", 2)[2].split(",")]) for line in lines if line.startswith("T")]


def quarterly_r():
    import statsmodels.api
    macro = statsmodels.api.datasets.macrodata.load_pandas().data
    return (cuts(series_of_r("4"), 18, 90, 3, 2, 8) +
            cuts([macro[c].to_numpy() for c in macro.columns[2:]], 18, 150, 2, 3, 8))


def intermittent():
    draw, panel = np.random.default_rng(9), []
    for _ in range(30):
        n, share = int(draw.integers(40, 200)) + 12, draw.uniform(.1, .6)
        draw.choice([0, 1])
        panel.append(((draw.random(n) < share) * (1 + draw.poisson(draw.uniform(.2, 6), n))).astype(float))
    return panel


def counts():
    draw, panel = np.random.default_rng(10), []
    for i in range(30):
        n = int(draw.integers(40, 300)) + 14
        t = np.arange(n)
        mean = np.exp(draw.uniform(-.5, 2.5) + draw.uniform(0, .6) * np.sin(2 * np.pi * t / 7) + .002 * draw.normal() * t)
        panel.append((draw.poisson(mean) if i % 2 else draw.negative_binomial(3, 3 / (3 + mean))).astype(float))
    return panel


def shifts():
    draw, panel = np.random.default_rng(11), []
    for i in range(30):
        n = int(draw.integers(50, 250)) + 12
        x = 50 + draw.normal(0, 2, n) + 6 * (i % 2) * np.sin(2 * np.pi * np.arange(n) / 12)
        for _ in range(draw.integers(1, 4)):
            x[draw.integers(5, n - 8):] += draw.normal(0, 20)
        panel.append(np.round(x, 2))
    return panel


def walks():
    draw, panel = np.random.default_rng(12), []
    for i in range(30):
        n = int(draw.integers(30, 400)) + 14
        steps = draw.standard_t(3, n) if i % 3 == 0 else draw.normal(0, 1, n)
        panel.append(np.round(200 * np.exp(.01 * np.cumsum(steps)), 3))
    return panel


def seasonal(seed, count, period, shortest, longest, horizon, season, seasonal_share, drift, step, noise, factor):
    """Series with a trend of changing slope and a multiplicative season."""
    draw, panel = np.random.default_rng(seed), []
    for i in range(count):
        n = int(draw.integers(shortest, longest)) + horizon
        t, shape = np.arange(n), draw.normal(0, season, period) * (i % seasonal_share > 0 or seasonal_share == 1)
        level = np.cumsum(draw.normal(draw.normal(*drift), draw.uniform(*step), n))
        strength = draw.uniform(*factor) if factor else 1
        x = 1000 * np.exp(level + (shape - shape.mean())[t % period] * strength + draw.normal(0, draw.uniform(*noise), n))
        panel.append(np.round(x, 1))
    return panel


PANELS = {
    "yearly-m1": (yearly_m1, 1, 6),
    "yearly-r": (lambda: cuts(series_of_r("1"), 13, 60, 2, 4, 6), 1, 6),
    "quarterly-r": (quarterly_r, 4, 8),
    "monthly-r": (lambda: cuts(series_of_r("12"), 42, 200, 2, 1, 18), 12, 18),
    "monthly": (lambda: seasonal(13, 40, 12, 42, 300, 18, .12, 1, (.002, .004), (.002, .02), (.005, .08), (.3, 1.3)), 12, 18),
    "quarterly": (lambda: seasonal(15, 60, 4, 16, 120, 8, .1, 4, (.005, .008), (.002, .03), (.005, .05), None), 4, 8),
    "intermittent": (intermittent, 1, 12),
    "counts": (counts, 7, 14),
    "shifts": (shifts, 12, 12),
    "walks": (walks, 1, 14),
}


def scale(values, season):
    for lag in (season, 1):
        difference = np.abs(values[lag:] - values[:-lag]).mean() if len(values) > lag else 0
        if difference > 0:
            return difference
    return max(np.abs(values).mean(), 1e-9)


def forecast(command, panel, horizon):
    """Returns the JSON object of the forecast of all series in one table."""
    longest = max(len(x) for x in panel) - horizon
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "panel.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
            table.writerow([f"V{i + 1}" for i in range(longest + 1)])
            for i, x in enumerate(panel):
                file.write(f'"S{i + 1}",' + ",".join(map(repr, x[:-horizon].tolist())) + "," * (longest - len(x) + horizon))
                file.write("\n")
        done = subprocess.run([command, "forecast", str(path), "--horizon", str(horizon), "--coverage", "80,95", "--json",
                               "--quiet"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["series"]


def references(season):
    try:
        from statsforecast import models
    except ImportError:
        return {}
    naive = models.SeasonalNaive(season) if season > 1 else models.Naive()
    return {"naive": naive, "Theta": models.Theta(season), "AutoETS": models.AutoETS(season)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("panels", nargs="*", metavar="PANEL")
    options = parser.parse_args()
    for name in options.panels or PANELS:
        make, season, horizon = PANELS[name]
        try:
            panel = make()
        except (ImportError, FileNotFoundError) as error:
            print(f"{name}: skipped, {error}")
            continue
        errors, inside = {"unfold": []}, [[], []]
        for x, one in zip(panel, forecast(options.unfold, panel, horizon)):
            past, actual = x[:-horizon], x[-horizon:]
            means = {"unfold": np.array(one["mean"])}
            for method, model in references(season).items():
                means[method] = model.forecast(y=past, h=horizon)["mean"]
            for method, mean in means.items():
                errors.setdefault(method, []).append(np.abs(actual - mean).mean() / scale(past, season))
            for level, (low, high) in enumerate((("q10", "q90"), ("q2.5", "q97.5"))):
                inside[level].append(np.mean((one[low] <= actual) & (actual <= one[high])))
        print(f"{name}: {len(panel)} series, MASE " + ", ".join(f"{m} {np.mean(e):.3f}" for m, e in errors.items()) +
              f"; 80 % and 95 % intervals contain {100 * np.mean(inside[0]):.1f} % and {100 * np.mean(inside[1]):.1f} %",
              flush=True)


if __name__ == "__main__":
    main()
