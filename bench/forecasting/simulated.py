"""Prints the accuracy of `unfold forecast` on simulated series with dates, each forecast on its own, and how many values
its intervals contain.

    python3 bench/forecasting/simulated.py --unfold build/release/bin/unfold [--series 30] [--references] [KIND...]

Each series is written as a table with a date column; its last values are forecast once. With --references, the methods of
statsforecast are compared: seasonal naive with a season of a year, AutoETS and AutoARIMA.
"""

import argparse
import concurrent.futures
import datetime
import json
import pathlib
import subprocess
import tempfile

import numpy as np


def dates(first, days, count):
    return [first + datetime.timedelta(int(days) * k) for k in range(count)]


def year_share(day):
    return (day.timetuple().tm_yday - 1) / 365.25


def december(days, width, height, center):
    """Returns a rise before Christmas that falls off on both sides."""
    distance = np.array([(year_share(day) - center + 0.5) % 1 - 0.5 for day in days])
    return height * np.exp(-0.5 * (distance / width) ** 2)


def yearly(draw, step, years, shape, last=None):
    """Sales with a December rise or a smooth yearly season, a trend, a slowly changing level and a weekly season of days.
    `last`: about the last day."""
    first = datetime.date(2018, 1, 1) + datetime.timedelta(int(draw.integers(0, 52)) * 7)
    count = int(years * 365.25 / step) + (13 if step == 7 else 28)
    if last:
        first = last - datetime.timedelta(step * (count - 1))
    days = dates(first, step, count)
    level = 100 * np.exp(np.cumsum(draw.normal(draw.normal(0, .0008), draw.uniform(.001, .01), count)))
    if shape == "rise":
        season = december(days, draw.uniform(.015, .05), draw.uniform(.4, 1.5), draw.uniform(.94, .98))
    elif shape == "smooth":
        phase = 2 * np.pi * (np.array([year_share(day) for day in days]) - draw.random())
        season = draw.uniform(.1, .4) * np.sin(phase) + draw.uniform(0, .1) * np.sin(2 * phase)
    else:
        season = np.zeros(count)
    week = draw.normal(0, .15, 7)[[day.weekday() for day in days]] if step == 1 else 0
    return days, np.round(level * (1 + season + week) * np.exp(draw.normal(0, draw.uniform(.02, .1), count)), 2)


def monthly(count, first_year=2010):
    return [datetime.date(first_year + k // 12, k % 12 + 1, 1) for k in range(count)]


def trend(draw):
    n = int(draw.integers(40, 150)) + 12
    return monthly(n), 100 + draw.normal(0, 1) * np.arange(n) + draw.normal(0, draw.uniform(1, 10), n)


def season(draw):
    n = int(draw.integers(48, 200)) + 12
    shape = draw.normal(0, 10, 12)
    return monthly(n), 100 + np.cumsum(draw.normal(0, .5, n)) + shape[np.arange(n) % 12] + draw.normal(0, 3, n)


def shift(draw):
    n = int(draw.integers(60, 200)) + 12
    x = 50 + draw.normal(0, 2, n)
    for _ in range(draw.integers(1, 4)):
        x[draw.integers(5, n - 14):] += draw.normal(0, 15)
    return dates(datetime.date(2022, 3, 1), 1, n), x


def counts(draw):
    n = int(draw.integers(60, 300)) + 14
    mean = np.exp(draw.uniform(0, 3) + draw.uniform(0, .6) * np.sin(2 * np.pi * np.arange(n) / 7))
    return dates(datetime.date(2022, 3, 1), 1, n), draw.poisson(mean).astype(float)


def walk(draw):
    n = int(draw.integers(60, 300)) + 12
    return dates(datetime.date(2022, 3, 1), 1, n), np.round(100 + np.cumsum(draw.normal(0, 1, n)), 3)


def weekly_walk(draw):
    n = int(draw.integers(108, 210)) + 13
    return dates(datetime.date(2019, 1, 7), 7, n), np.round(100 * np.exp(np.cumsum(draw.normal(0, .03, n))), 3)


def daily_noise(draw):
    n = int(draw.integers(740, 1000)) + 28
    x = np.zeros(n)
    for t in range(1, n):
        x[t] = .7 * x[t - 1] + draw.normal(0, 1)
    return dates(datetime.date(2019, 1, 7), 1, n), np.round(50 + 5 * x + draw.normal(0, 4, 7)[np.arange(n) % 7], 3)


# kind: (draw, horizon, season of the error)
KINDS = {
    "trend": (trend, 12, 1),
    "season": (season, 12, 12),
    "shift": (shift, 12, 1),
    "counts": (counts, 14, 7),
    "walk": (walk, 12, 1),
    "weekly-rise-2": (lambda draw: yearly(draw, 7, 2.1 + .8 * draw.random(), "rise"), 13, 52),
    "weekly-rise-3": (lambda draw: yearly(draw, 7, 3.1 + 1.5 * draw.random(), "rise"), 13, 52),
    "weekly-smooth": (lambda draw: yearly(draw, 7, 2.1 + 2 * draw.random(), "smooth"), 13, 52),
    "weekly-none": (lambda draw: yearly(draw, 7, 2.1 + 2 * draw.random(), "none"), 13, 52),
    "weekly-walk": (weekly_walk, 13, 52),
    "weekly-ahead": (lambda draw: yearly(draw, 7, 1.85 + .8 * draw.random(), "rise", datetime.date(2023, 12, 31)), 6, 52),
    "daily-rise-2": (lambda draw: yearly(draw, 1, 2.1 + .8 * draw.random(), "rise"), 28, 7),
    "daily-rise-3": (lambda draw: yearly(draw, 1, 3.1 + draw.random(), "rise"), 28, 7),
    "daily-ahead": (lambda draw: yearly(draw, 1, 2 + .8 * draw.random(), "rise", datetime.date(2023, 12, 28)), 28, 7),
    "daily-smooth": (lambda draw: yearly(draw, 1, 2.1 + draw.random(), "smooth"), 28, 7),
    "daily-none": (lambda draw: yearly(draw, 1, 2.1 + draw.random(), "none"), 28, 7),
    "daily-noise": (daily_noise, 28, 7),
}


def forecast(options, days, values, horizon):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "series.csv"
        path.write_text("date,sales\n" + "".join(f"{d.isoformat()},{v:.12g}\n" for d, v in zip(days, values)))
        done = subprocess.run([options.unfold, "forecast", str(path), "--horizon", str(horizon), "--coverage", "80,95",
                               "--threads", "1", "--json", "--quiet"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["series"][0]


def references(season):
    from statsforecast import models
    return {"seasonal naive": models.SeasonalNaive(season), "AutoETS": models.AutoETS(min(season, 24)),
            "AutoARIMA": models.AutoARIMA(season_length=min(season, 24))}


def scale(values, season):
    return np.abs(values[season:] - values[:-season]).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--series", type=int, default=30, help="number of series of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--references", action="store_true")
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    options = parser.parse_args()
    whole = [[], []]
    for kind in options.kinds or KINDS:
        make, horizon, season = KINDS[kind]
        panel = [make(np.random.default_rng((options.seed, k))) for k in range(options.series)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda one: forecast(options, one[0][:-horizon], one[1][:-horizon], horizon), panel))
        errors, inside, chosen = {"unfold": []}, [[], []], 0.0
        for (days, values), one in zip(panel, results):
            past, actual = values[:-horizon], values[-horizon:]
            means = {"unfold": np.array(one["mean"])}
            if options.references:
                for name, model in references(season).items():
                    means[name] = model.forecast(y=past, h=horizon)["mean"]
            for name, mean in means.items():
                errors.setdefault(name, []).append(np.abs(actual - mean).mean() / scale(past, season))
            for level, (low, high) in enumerate((("q10", "q90"), ("q2.5", "q97.5"))):
                inside[level].append(np.mean((np.array(one[low]) <= actual) & (actual <= np.array(one[high]))))
            chosen += sum(member["weight"] for member in one["members"] if "+yearly" in member["name"])
        print(f"{kind}: {len(panel)} series, MASE " + ", ".join(f"{m} {np.mean(e):.3f}" for m, e in errors.items()) +
              f"; intervals contain {100 * np.mean(inside[0]):.1f} % and {100 * np.mean(inside[1]):.1f} %; weight of yearly "
              f"members {chosen / len(panel):.2f}", flush=True)
        for level in range(2):
            whole[level] += inside[level]
    print(f"all: {len(whole[0])} series, intervals contain {100 * np.mean(whole[0]):.1f} % and "
          f"{100 * np.mean(whole[1]):.1f} %")


if __name__ == "__main__":
    main()
