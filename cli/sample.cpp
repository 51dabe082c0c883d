#include "app/sample/sample.h"
#include "app/common/perplexity.h"
#include "app/fields/condition.h"
#include "app/predict/predict.h"
#include "app/sample/density_sampling.h"
#include "app/sample/hidden_markov.h"
#include "app/sample/number_sequences.h"
#include "app/sample/piano_roll.h"
#include "app/sample/sample_grids.h"
#include "base/printable.h"
#include "unfold/base/formats/file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/prime.h"
#include "cli/shared_options.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"

namespace unfold {
namespace {

class Sample final : public Verb {
 public:
  Sample();
  ExitCode run(Console& console) override;

 private:
  void choose_lines();
  ExitCode print_json() const;
  ExitCode sample_fields();
  ExitCode sample_rows() const;
  ExitCode sample_rolls() const;
  ExitCode sample_pictures() const;
  ExitCode sample_numbers(bool hidden) const;

  std::vector<std::string> model_;
  SampleRequest request_{.model = {}, .sampling = {.length = 500}};
  std::optional<std::string> prime_file_, given_, midi_, picture_, voices_, size_;
  Index seed_ = 1, milliseconds_ = 500;
};

Sample::Sample()
    : Verb(CommandOptions(
          "sample", "generates text from a model and writes it unchanged to standard output",
          {"unfold sample run --length 500 --temperature 0.8", "unfold sample names --given label=female --count 20",
           "unfold sample run --prime 'To be' --top-p 0.95 --seed 7"})) {
  options_.add(model_input(model_));
  options_.add({.name = "length",
                .target = &request_.sampling.length,
                .placeholder = "N",
                .help = "number of symbols (for piano rolls, steps) to sample; without it, a model trained with "
                        "--lines samples whole lines (10 unless --count is given)",
                .least = 0,
                .most = 1e12,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences | Kind::rolls});
  options_.add({.name = "prime",
                .target = &request_.prime,
                .placeholder = "TEXT",
                .help = "text that the model reads first; it is not printed",
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences});
  options_.add(prime_file_row(prime_file_));
  options_.add({.name = "temperature",
                .target = &request_.sampling.temperature,
                .placeholder = "X",
                .help = "below 1: less random, above 1: more random; 0: always the most probable symbol",
                .least = 0,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences});
  options_.add({.name = "top-k",
                .target = &request_.sampling.top_k,
                .placeholder = "N",
                .help = "only the N most probable symbols; 0: all",
                .least = 0,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences});
  options_.add({.name = "top-p",
                .target = &request_.sampling.top_p,
                .placeholder = "P",
                .help = "only the most probable symbols with total probability P",
                .least = 0,
                .most = 1,
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences});
  options_.add({.name = "min-p",
                .target = &request_.sampling.min_p,
                .placeholder = "P",
                .help = "only symbols with at least P times the largest probability",
                .least = 0,
                .most = 1,
                .group = OptionGroup::search,
                .kinds = Kind::text | Kind::sequences});
  options_.add({.name = "stop",
                .target = &request_.sampling.stop,
                .placeholder = "TEXT",
                .help = "stop when the sample ends with this text",
                .group = OptionGroup::search,
                .common = true,
                .kinds = Kind::text | Kind::sequences});
  options_.add(sampling_seed_row(seed_));
  options_.add({.name = "count",
                .target = &request_.count,
                .placeholder = "N",
                .help = "number of samples; several are separated by newlines",
                .least = 1,
                .group = OptionGroup::search,
                .common = true});
  options_.add({.name = "given",
                .target = &given_,
                .placeholder = "FIELD=VALUE",
                .help = "for whole sequences (train --ends): conditions, or source=TEXT; separate several by commas",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::sequences | Kind::density});
  options_.add({.name = "size",
                .target = &size_,
                .placeholder = "HxW",
                .help = "for models of grids (train --predict pixels): height and width of the sample, such as 28x28",
                .group = OptionGroup::search,
                .kinds = Kind::fields});
  options_.add({.name = "voices",
                .target = &voices_,
                .placeholder = "FILE",
                .help = "for piano-roll models: keep the notes of the first piece of FILE (format rolls) and add a "
                        "voice with at most one note per step",
                .file = FileUse::data,
                .group = OptionGroup::search,
                .kinds = Kind::rolls});
  options_.add({.name = "midi",
                .target = &midi_,
                .placeholder = "FILE.mid",
                .help = "for piano-roll models: also write the piece as a MIDI file",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::rolls});
  options_.add({.name = "picture",
                .target = &picture_,
                .placeholder = "FILE.svg",
                .help = "for piano-roll models: draw the piece",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::rolls});
  options_.add({.name = "step",
                .target = &milliseconds_,
                .placeholder = "MS",
                .help = "milliseconds per step in the MIDI file",
                .least = 1,
                .most = 16000,
                .group = OptionGroup::output,
                .kinds = Kind::rolls});
  add_threads();
  add_key();
  add_common();
}

ExitCode Sample::run(Console&) {
  request_.model = model_.front();
  if (given_) request_.given = split_given(*given_);
  if (holds_field_model(request_.model)) return sample_fields();
  options_.require_kind(Kind::text, "this is a model of running text");
  take_prime(prime_file_, request_.prime);
  request_.sampling.seed = static_cast<std::uint64_t>(seed_);
  choose_lines();
  if (json_) return print_json();
  sample(request_, [&](const SampledBlock& block) {
    print_result(block.text);
    if (block.last && request_.count > 1 && !block.text.ends_with('\n')) print_result("\n");
    flush_results();
  });
  return ExitCode::success;
}

/// Without --length and --stop, a model trained with --lines generates lines.
void Sample::choose_lines() {
  constexpr Index kLines = 10, kLongest = 100'000;
  if (options_.any_given(request_.sampling.length, request_.sampling.stop) || !samples_lines(request_.model)) return;
  request_.by_line = true;
  request_.sampling.length = kLongest;
  if (!options_.is_given(request_.count)) request_.count = kLines;
}

/// Prints pieces, one per line.
ExitCode Sample::sample_rolls() const {
  options_.require_kind(Kind::rolls, "this is a piano-roll model");
  if ((midi_ || picture_) && request_.count > 1)
    throw UsageError(
        "--midi and --picture support only one piece: leave out --count, and change --seed to sample a different "
        "piece");
  if (options_.is_given(milliseconds_) && !midi_) throw UsageError("--step requires --midi FILE.mid");
  constexpr Index kSteps = 100;
  RollRequest request{.model = request_.model,
                      .length = options_.is_given(request_.sampling.length) ? request_.sampling.length : kSteps,
                      .seed = static_cast<std::uint64_t>(seed_)};
  if (voices_) {
    options_.refuse("is determined by the voices", request_.sampling.length);
    request.voices = read_roll(*voices_);
  }
  nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
  for (; request.number < request_.count; ++request.number) {
    const Roll roll = sample_roll(request);
    if (midi_) write_file_atomically(*midi_, roll_midi(roll, milliseconds_));
    if (picture_) write_file_atomically(*picture_, roll_picture(roll));
    if (json_)
      pieces.push_back(roll);
    else
      print_result(roll_text(roll) + "\n");
  }
  if (json_) print_result(one_line({{"pieces", std::move(pieces)}}));
  return ExitCode::success;
}

/// Formats a cell of a comma-separated table.
std::string quoted_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// Returns the class whose index is stored in a number of a row; null if the column is numeric.
const std::string* class_of(const VectorTable& table, const std::vector<double>& row, std::size_t d) {
  if (d >= table.classes.size() || table.classes[d].empty()) return nullptr;
  return &table.classes[d].at(at(static_cast<Index>(row[d])));
}

std::string row_of_cells(const VectorTable& table, const std::vector<double>& row) {
  std::vector<std::string> cells;
  cells.reserve(row.size());
  for (std::size_t d = 0; d < row.size(); ++d) {
    const std::string* name = class_of(table, row, d);
    cells.push_back(name != nullptr ? quoted_cell(*name) : fmt::format("{:.6g}", row[d]));
  }
  return fmt::format("{}\n", fmt::join(cells, ","));
}

nlohmann::ordered_json rows_json(const VectorTable& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::vector<double>& row : table.rows) {
    nlohmann::ordered_json& cells = rows.emplace_back(nlohmann::ordered_json::array());
    for (std::size_t d = 0; d < row.size(); ++d) {
      const std::string* name = class_of(table, row, d);
      cells.push_back(name != nullptr ? nlohmann::ordered_json(*name) : nlohmann::ordered_json(row[d]));
    }
  }
  return rows;
}

/// Prints vectors as a table with one row per vector.
ExitCode Sample::sample_rows() const {
  options_.require_kind(Kind::density, "this is a density model");
  const VectorTable table = sample_vectors({.model = request_.model,
                                            .given = request_.given,
                                            .count = request_.count,
                                            .seed = static_cast<std::uint64_t>(seed_)});
  if (json_) {
    print_result(one_line({{"names", table.names}, {"rows", rows_json(table)}}));
    return ExitCode::success;
  }
  const bool named = !std::ranges::all_of(table.names, [](const std::string& name) {
    return std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  });
  std::vector<std::string> heading;
  for (const std::string& name : table.names) heading.push_back(quoted_cell(name));
  if (named) print_result(fmt::format("{}\n", fmt::join(heading, ",")));
  for (const std::vector<double>& row : table.rows) print_result(row_of_cells(table, row));
  return ExitCode::success;
}

/// Parses "28x28". Throws UsageError.
std::pair<Index, Index> parse_size(const std::optional<std::string>& text) {
  std::pair<Index, Index> size = {0, 0};
  const std::string given = text.value_or("");
  const std::size_t times = given.find('x');
  const auto parse = [](std::string_view digits, Index& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::string_view all = given;
  if (times == std::string::npos || !parse(all.substr(0, times), size.first) ||
      !parse(all.substr(times + 1), size.second))
    throw UsageError(fmt::format("a sample of a grid needs --size HEIGHTxWIDTH, such as 28x28{}",
                                 text ? fmt::format(", but it is \"{}\"", given) : ""));
  return size;
}

/// Returns the heading of the table of numbers: "sample", "row", "column" and the field, numbered if it is a vector.
std::string grid_heading(const SampledGrid& grid) {
  const Index size = static_cast<Index>(grid.values.size()) / (grid.height * grid.width);
  std::string heading = "sample\trow\tcolumn";
  for (Index i = 1; i <= size; ++i)
    heading += "\t" + escape_cell(size == 1 ? grid.field : fmt::format("{}.{}", grid.field, i));
  return heading + "\n";
}

/// Prints grids: characters row by row, with an empty line between grids, or numbers as a table with one row per
/// position.
ExitCode Sample::sample_pictures() const {
  options_.require_kind(Kind::fields, "this is a model of grids");
  const auto [height, width] = parse_size(size_);
  const std::vector<SampledGrid> grids = sample_grids({.model = request_.model,
                                                       .height = height,
                                                       .width = width,
                                                       .count = request_.count,
                                                       .seed = static_cast<std::uint64_t>(seed_),
                                                       .threads = threads_});
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  if (!json_ && grids.front().texts.empty()) print_result(grid_heading(grids.front()));
  for (std::size_t n = 0; n < grids.size(); ++n) {
    const SampledGrid& grid = grids[n];
    const std::size_t cells = at(height * width), each = grid.values.size() / cells;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (!json_ && n > 0 && each == 0) print_result("\n");
    for (std::size_t p = 0; p < cells; ++p) {
      const std::span<const double> numbers = std::span(grid.values).subspan(p * each, each);
      const std::size_t row = p / at(width), column = p % at(width);
      if (json_ && column == 0) rows.push_back(nlohmann::ordered_json::array());
      if (json_ && each > 0)
        rows.back().push_back(numbers);
      else if (json_)
        rows.back().push_back(grid.texts[p]);
      else if (each > 0)
        print_result(fmt::format("{}\t{}\t{}\t{:.6g}\n", n + 1, row + 1, column + 1, fmt::join(numbers, "\t")));
      else
        print_result(grid.texts[p] + (column + 1 == at(width) ? "\n" : ""));
    }
    if (json_) samples.push_back({{"rows", std::move(rows)}, {"bits", bits(grid.nats)}});
  }
  if (json_) print_result(one_line({{"samples", std::move(samples)}}));
  return ExitCode::success;
}

std::vector<Index> numbered_from_one(std::vector<Index> states) {
  for (Index& state : states) ++state;
  return states;
}

/// Prints sequences of numbers as a table with one row per position: whole sequences, or those of a hidden Markov
/// model.
ExitCode Sample::sample_numbers(bool hidden) const {
  const SamplingOptions& sampling = request_.sampling;
  options_.refuse("does not apply to sequences of numbers", request_.prime, prime_file_, sampling.temperature,
                  sampling.top_k, sampling.top_p, sampling.min_p, sampling.stop, midi_, picture_, milliseconds_,
                  voices_);
  const SampledNumberSequences drawn =
      hidden ? sample_hidden_markov(request_) : sample_number_sequences(request_, threads_);
  const std::size_t width = drawn.columns.size();
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  std::string heading = "sequence";
  for (const std::string& column : drawn.columns) heading += '\t' + escape_cell(column);
  if (!json_) print_result(heading + "\n");
  for (std::size_t s = 0; s < drawn.sequences.size(); ++s) {
    const SampledNumbers& sequence = drawn.sequences[s];
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (auto from = sequence.values.begin(); from != sequence.values.end();
         from += static_cast<std::ptrdiff_t>(width)) {
      const std::span<const double> row(from, width);
      if (json_)
        rows.push_back(row);
      else
        print_result(fmt::format("{}\t{:.6g}\n", s + 1, fmt::join(row, "\t")));
    }
    if (!json_) continue;
    nlohmann::ordered_json sample = {
        {"values", std::move(rows)}, {"ended", sequence.ended}, {"bits", bits(sequence.nats)}};
    if (hidden) sample["states"] = numbered_from_one(sequence.states);
    samples.push_back(std::move(sample));
  }
  if (json_) print_result(one_line({{"columns", drawn.columns}, {"samples", std::move(samples)}}));
  return ExitCode::success;
}

/// Prints whole sequences, one per line.
ExitCode Sample::sample_fields() {
  if (holds_density(request_.model)) return sample_rows();
  if (holds_roll_model(request_.model)) return sample_rolls();
  if (generates_grids(request_.model)) return sample_pictures();
  request_.sampling.seed = static_cast<std::uint64_t>(seed_);
  if (const bool hidden = holds_hidden_markov(request_.model); hidden || holds_number_sequences(request_.model))
    return sample_numbers(hidden);
  options_.require_kind(Kind::sequences, "this is a model of whole sequences");
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (const SampledSequence& sequence : sample_sequences(request_, threads_)) {
    if (json_)
      samples.push_back({{"text", sequence.text},
                         {"symbols", sequence.symbols},
                         {"ended", sequence.ended},
                         {"bits", bits(sequence.nats)}});
    else
      print_result(sequence.text + "\n");
  }
  if (json_) print_result(one_line({{"samples", std::move(samples)}}));
  return ExitCode::success;
}

ExitCode Sample::print_json() const {
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (const SampledText& sample : sample(request_))
    samples.push_back({{"text", sample.text}, {"symbols", sample.symbols}});
  print_result(one_line({{"samples", std::move(samples)}}));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_sample() { return std::make_unique<Sample>(); }

}  // namespace unfold
