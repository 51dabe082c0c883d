"""Networks that predict numbers with outliers (student-t) and counts (negative-binomial), from training to forecasts."""

import pathlib
import tempfile
import unittest

import numpy

import unfold


def written(folder, name, columns):
    path = pathlib.Path(folder, name)
    rows = zip(*columns.values())
    path.write_text("\n".join([",".join(columns), *(",".join(f"{x:.10g}" for x in row) for row in rows)]) + "\n")
    return str(path)


def fitted(path, target, loss, **settings):
    """Return the metrics on the last fifth of the rows, and the model."""
    run = unfold.train(path, predict=f"{target}={loss}", model="rnn:8", optimizer="adam:rate=0.01", steps=300, threads=1,
                       split="80/0/20", **settings)
    return run.model.eval(path, split="80/0/20", part="test")["heads"][target], run.model


class HeadsOfNumbersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_student_t_predicts_numbers_with_outliers_better_than_normal(self):
        source = numpy.random.default_rng(1)
        x = source.normal(size=600)
        y = 3 * x + 0.2 * source.standard_t(2.2, size=600)
        path = written(self.folder, "outliers.csv", {"x": x, "y": y})
        student, model = fitted(path, "y", "student-t", read="x", ahead=0)
        normal, _ = fitted(path, "y", "normal", read="x", ahead=0)
        self.assertEqual(student["loss"], "student-t")
        self.assertLess(student["nats_per_example"], normal["nats_per_example"] - 0.1)
        self.assertAlmostEqual(student["coverage"], 0.8, delta=0.08)
        low, high = (numpy.array([row[f"y.{part}"] for row in model.predict(path)]) for part in ("q10", "q90"))
        self.assertAlmostEqual(((low <= y) & (y <= high)).mean(), 0.8, delta=0.08)

    def test_negative_binomial_predicts_counts_with_their_dispersion(self):
        source = numpy.random.default_rng(2)
        mean = 8 + 6 * numpy.sin(numpy.arange(700) / 9)
        sold = source.negative_binomial(2, 2 / (2 + mean))
        path = written(self.folder, "sold.csv", {"sold": sold})
        counts, model = fitted(path, "sold", "negative-binomial", read="sold", ahead=1)
        poisson, _ = fitted(path, "sold", "poisson", read="sold", ahead=1)
        self.assertLess(abs(counts["coverage"] - 0.83), 0.08)  # at least 0.8, because counts are discrete
        self.assertLess(poisson["coverage"], 0.7)
        self.assertLess(counts["crps"], poisson["crps"])
        ahead = model.predict(path, ahead=5, samples=100)[0]
        for part in ("q10", "q90"):
            values = numpy.array(ahead[f"sold.{part}"])
            self.assertTrue((values >= 0).all())
        self.assertEqual(ahead["sold.q90"][0], round(ahead["sold.q90"][0]))

    def test_numbers_that_are_not_counts_are_refused_with_their_row(self):
        path = written(self.folder, "numbers.csv", {"sold": numpy.append(numpy.arange(40.0), 2.5)})
        with self.assertRaisesRegex(unfold.errors.DataError, "line 42: field sold is 2.5.*negative-binomial.*integers from 0"):
            fitted(path, "sold", "negative-binomial", read="sold", ahead=1)


if __name__ == "__main__":
    unittest.main()
