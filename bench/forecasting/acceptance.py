"""Prints the accuracy of `unfold forecast` without a model, and of statsforecast if it is installed.

    python3 bench/forecasting/acceptance.py --unfold build/release/bin/unfold --data ../shared/data/forecasting [small m4 speed]

small: six classic series, the last five non-overlapping origins: MASE, coverage of 80 % and 95 % intervals, CPU time.
m4:    the hourly series of the M4 competition: sMAPE, MASE, OWA, MSIS.
speed: 10,000 simulated series of 100 values.
"""

import argparse
import csv
import gzip
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile

SMALL = [("airline", 12, 24), ("sunspots-yearly", 11, 22), ("nile", 1, 10), ("co2", 12, 24), ("austres", 4, 12),
         ("woolyrnq", 4, 12)]
NAIVE2 = (18.383, 2.395)  # sMAPE and MASE of Naive2 on the hourly series


def forecast(command, text, horizon, *options):
    """Returns the JSON object of a forecast and the CPU seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.csv"
        path.write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([command, "forecast", str(path), "--horizon", str(horizon), "--coverage", "80,95", "--json",
                               "--quiet", *options], check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scale(values, season):
    return statistics.fmean(abs(a - b) for a, b in zip(values[season:], values))


def mase(actual, mean, values, season):
    return statistics.fmean(abs(a - b) for a, b in zip(actual, mean)) / scale(values, season)


def reference_methods():
    try:
        from statsforecast import models
    except ImportError:
        return {}
    return {"Theta": models.Theta, "AutoTheta": models.AutoTheta, "AutoETS": models.AutoETS, "AutoARIMA": models.AutoARIMA}


def small(options):
    methods = reference_methods()
    names = ["unfold", "detected", "seasonal naive", *methods]
    logs, inside, count, slowest = {name: 0.0 for name in names}, [0, 0], 0, 0.0
    print("series           " + "".join(f"{name:>15}" for name in names))
    for series, season, horizon in SMALL:
        y = [float(x) for x in (options.data / "small" / f"{series}.csv").read_text().split()[1:]]
        errors = {name: [] for name in names}
        for k in range(5, 0, -1):
            past, actual = y[:len(y) - k * horizon], y[len(y) - k * horizon:][:horizon]
            text = "value\n" + "".join(f"{x}\n" for x in past)
            result, seconds = forecast(options.unfold, text, horizon, "--season", str(season))
            one = result["series"][0]
            slowest = max(slowest, seconds)
            errors["unfold"].append(mase(actual, one["mean"], past, season))
            for level, (low, high) in enumerate((("q10", "q90"), ("q2.5", "q97.5"))):
                inside[level] += sum(a <= x <= b for a, x, b in zip(one[low], actual, one[high]))
            count += horizon
            detected, _ = forecast(options.unfold, text, horizon)
            errors["detected"].append(mase(actual, detected["series"][0]["mean"], past, season))
            naive = [past[len(past) - season + h % season] for h in range(horizon)]
            errors["seasonal naive"].append(mase(actual, naive, past, season))
            for name, make in methods.items():
                import numpy
                mean = make(season_length=season).forecast(y=numpy.array(past), h=horizon)["mean"]
                errors[name].append(mase(actual, mean, past, season))
        print(f"{series:<17}" + "".join(f"{statistics.fmean(errors[name]):15.3f}" for name in names), flush=True)
        for name in names:
            logs[name] += math.log(statistics.fmean(errors[name])) / len(SMALL)
    print("geometric mean   " + "".join(f"{math.exp(logs[name]):15.3f}" for name in names))
    print(f"coverage {100 * inside[0] / count:.1f} % of 80 %, {100 * inside[1] / count:.1f} % of 95 %; "
          f"at most {slowest:.1f} CPU seconds for a forecast")


def rows(path):
    with gzip.open(path, "rt") as file:
        return [[float(x) for x in row[1:] if x] for row in list(csv.reader(file))[1:]]


def m4(options):
    past, future = rows(options.data / "M4-Hourly-train.csv.gz"), rows(options.data / "M4-Hourly-test.csv.gz")
    with gzip.open(options.data / "M4-Hourly-train.csv.gz", "rt") as file:
        text = file.read()
    for label, arguments in (("season detected", []), ("season 24", ["--season", "24"])):
        result, seconds = forecast(options.unfold, text, 48, *arguments)
        smape, mases, msis, inside, count = [], [], [], [0, 0], 0
        for one, y, actual in zip(result["series"], past, future):
            pairs = list(zip(actual, one["mean"]))
            smape.append(statistics.fmean(200 * abs(a - b) / (abs(a) + abs(b)) if a or b else 0 for a, b in pairs))
            mases.append(mase(actual, one["mean"], y, 24))
            width = [h - l + 40 * max(0, l - a) + 40 * max(0, a - h) for l, h, a in zip(one["q2.5"], one["q97.5"], actual)]
            msis.append(statistics.fmean(width) / scale(y, 24))
            inside[0] += sum(l <= a <= h for l, a, h in zip(one["q10"], actual, one["q90"]))
            inside[1] += sum(l <= a <= h for l, a, h in zip(one["q2.5"], actual, one["q97.5"]))
            count += len(actual)
        s, m = statistics.fmean(smape), statistics.fmean(mases)
        print(f"M4 hourly, {label}: sMAPE {s:.3f}, MASE {m:.3f}, OWA {0.5 * (s / NAIVE2[0] + m / NAIVE2[1]):.3f}, "
              f"MSIS {statistics.fmean(msis):.2f}, coverage {100 * inside[0] / count:.1f} % of 80 %, "
              f"{100 * inside[1] / count:.1f} % of 95 %, {seconds:.1f} CPU seconds", flush=True)


def speed(options):
    draw, lines = random.Random(1), []
    for series in range(10000):
        level = 50.0
        for t in range(100):
            level += draw.gauss(0, 0.5)
            lines.append(f"s{series},{t},{level + (3, -1, -4, 2)[t % 4] + draw.gauss(0, 1):.3f}\n")
    text = "id,t,value\n" + "".join(lines)
    for season in ("1", "4"):
        result, seconds = forecast(options.unfold, text, 12, "--group", "id", "--order", "t", "--season", season)
        print(f"10,000 series of 100 values, season {season}: {seconds:.1f} CPU seconds with reading and backtest, "
              f"{20000 / seconds:.0f} series/s of two cores; members " + " ".join(m["name"] for m in result["members"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data/forecasting"))
    parser.add_argument("parts", nargs="*", default=["small", "m4", "speed"], choices=["small", "m4", "speed"])
    options = parser.parse_args()
    for part in options.parts:
        {"small": small, "m4": m4, "speed": speed}[part](options)


if __name__ == "__main__":
    main()
