"""The log of a run as CSV and as events of TensorBoard."""

import csv
import importlib.util
import io
import os
import tempfile
import unittest

import unfold


class LogTest(unittest.TestCase):
    def setUp(self):
        self.run_ = unfold.train(text="to be or not to be " * 60, model="gru:3", steps=30, threads=1)

    def test_log_as_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.run_.log_to_csv())))
        self.assertEqual([row["event"] for row in rows], [event["event"] for event in self.run_.log])
        self.assertEqual(float(rows[0]["loss"]), self.run_.log[0]["loss"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log.csv")
            self.assertIsNone(self.run_.log_to_csv(path))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), self.run_.log_to_csv())

    @unittest.skipIf(importlib.util.find_spec("tensorboard") is None, "tensorboard is not installed")
    def test_log_as_events_of_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        with tempfile.TemporaryDirectory() as folder:
            self.run_.log_to_tensorboard(folder)
            read = EventAccumulator(folder)
            read.Reload()
            first = read.Scalars("training/loss")[0]
            self.assertEqual(first.step, self.run_.log[0]["step"])
            self.assertAlmostEqual(first.value, self.run_.log[0]["loss"], places=5)
            self.assertIn("validation/bits_per_symbol", read.Tags()["scalars"])


if __name__ == "__main__":
    unittest.main()
