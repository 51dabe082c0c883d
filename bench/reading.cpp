// Speed of reading files, on one thread.
//
//   bench_reading [--once] [--read] FILE...
//
// Prints one JSON object per file: the format, the size in bytes, and the megabytes (10^6 bytes) per second of
// CPU time of two passes, each the best of several repetitions (with --once, a single run; with --read, only `read`):
// - `inspect`: the schema of a table, inferred from the file in pieces as `unfold inspect` does;
// - `read`: the file as training reads it. For tables, this includes the pass that infers the schema; for text, it
//   includes the alphabet and the corpus; for logs, the templates; for FASTA, the letters.
//
// bench/reading.py compares these with pandas and Arrow.

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/best_seconds.h"
#include "data/logs/log_lines.h"
#include "data/readers/example_reader.h"
#include "data/readers/fasta.h"
#include "data/schema/inference/infer_schema.h"
#include "unfold/data/text/corpus.h"

namespace unfold {
namespace {

constexpr double kSeconds = 3;

std::string format_of(const std::string& file) {
  if (!guess_fasta(file).empty()) return std::string(kFastaFormat);
  return guess_format(Input::open(file)).format;
}

void read_text(const std::string& file) {
  std::vector<Input> inputs;
  inputs.push_back(Input::open(file));
  Alphabet alphabet = build_alphabet(inputs, {});
  Corpus::load(std::move(inputs), std::move(alphabet));
}

void read_log(const std::string& file) {
  const LogScanner scanner{LogRules()};
  const Input input = Input::open(file);
  shapes_of(input.bytes(), [&](std::string_view line, LogLine& out) { scanner.scan(line, out); });
}

void read_once(const std::string& file, const std::string& format) {
  if (format == "text") return read_text(file);
  if (format == "log") return read_log(file);
  const Input input = Input::open(file);
  if (format == kFastaFormat) {
    read_fasta(input);
  } else {
    read_examples(input, {.format = format});
  }
}

/// Returns the maximum resident memory since the program started. Unlike ru_maxrss, it does not include the memory of
/// the parent.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    double kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes) return kilobytes * 1024 / 1e6;
  }
  return 0;
}

void measure(const std::string& file, double seconds, bool inspects) {
  const std::string format = format_of(file);
  const double size = static_cast<double>(Input::open(file).bytes().size()) / 1e6;
  double inspected = 0;
  if (inspects && format == "table")
    inspected = size / best_seconds(seconds, [&] { infer_table_schema_of_file(file); });
  const double read = size / best_seconds(seconds, [&] { read_once(file, format); });
  std::printf(R"({"file": "%s", "format": "%s", "megabytes": %.3f, "inspect": %.1f, "read": %.1f, "peak": %.0f})"
              "\n",
              file.c_str(), format.c_str(), size, inspected, read, peak_megabytes());
  std::fflush(stdout);
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) {
  double seconds = unfold::kSeconds;
  bool inspects = true;
  try {
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--once") == 0)
        seconds = 1e-3;  // ends after the first repetition
      else if (std::strcmp(argv[i], "--read") == 0)
        inspects = false;
      else
        unfold::measure(argv[i], seconds, inspects);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
