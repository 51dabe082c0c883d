#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/reproduce/reproduction.h"
#include "base/utf8.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr Index kFolds = 10;

std::vector<std::string> lines_of(const std::string& path) {
  const Input input = Input::open(path);
  std::istringstream stream{std::string(input.bytes())};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Converts ISO-8859-1 to UTF-8 unless the text is already valid UTF-8.
std::string as_utf8(const std::string& text) {
  if (find_invalid_utf8(text) < 0) return text;
  std::string out;
  for (const char c : text) append_utf8(out, static_cast<unsigned char>(c));
  return out;
}

/// Divides labeled lines into ten stratified folds: line i of a class is tested in fold i mod 10. Writes STEM-F.train
/// and STEM-F.test for F = 1 ... 10.
void write_folds(const std::vector<std::pair<std::string, std::string>>& classes, const std::string& stem) {
  for (Index fold = 0; fold < kFolds; ++fold) {
    std::string training, test;
    for (const auto& [label, path] : classes) {
      const std::vector<std::string> lines = lines_of(path);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string text = as_utf8(lines[i]);
        std::ranges::replace(text, '\t', ' ');
        (static_cast<Index>(i) % kFolds == fold ? test : training) += fmt::format("{}\t{}\n", label, text);
      }
    }
    write_file_atomically(fmt::format("{}-{}.train", stem, fold + 1), training);
    write_file_atomically(fmt::format("{}-{}.test", stem, fold + 1), test);
  }
}

void make_names(const std::string& data, const std::string& stem) {
  write_folds({{"female", data + "/sequences/names/female.txt"}, {"male", data + "/sequences/names/male.txt"}}, stem);
}

void make_polarity(const std::string& data, const std::string& stem) {
  const std::string path = data + "/sequences/polarity/rt-polarity.";
  write_folds({{"positive", path + "pos"}, {"negative", path + "neg"}}, stem);
}

/// Converts blocks of lines of twelve numbers, separated by empty lines, to JSON lines. `sizes`: number of examples per
/// speaker.
std::string vowels(const std::string& path, const std::vector<Index>& sizes) {
  const Input input = Input::open(path);
  std::istringstream stream{std::string(input.bytes())};
  std::string out;
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  std::size_t speaker = 0;
  Index left = sizes.front();
  const auto finish = [&] {
    if (frames.empty() || speaker == sizes.size()) return;
    out += nlohmann::ordered_json{{"frames", frames}, {"label", std::to_string(speaker + 1)}}.dump() + "\n";
    frames.clear();
    if (--left == 0 && ++speaker < sizes.size()) left = sizes[speaker];
  };
  for (std::string line; std::getline(stream, line);) {
    std::istringstream numbers(line);
    std::vector<double> frame;
    for (double x = 0; numbers >> x;) frame.push_back(x);
    if (frame.empty())
      finish();
    else
      frames.push_back(frame);
  }
  finish();
  return out;
}

void make_vowels(const std::string& data, const std::string& stem) {
  const std::string folder = data + "/timeseries/japanese_vowels/";
  write_file_atomically(stem + ".train.jsonl", vowels(folder + "ae.train", std::vector<Index>(9, 30)));
  write_file_atomically(stem + ".test.jsonl", vowels(folder + "ae.test", {31, 35, 88, 44, 29, 24, 40, 50, 29}));
}

std::vector<double> sunspots(const std::string& data) {
  std::vector<double> values;
  const std::vector<std::string> lines = lines_of(data + "/timeseries/monthly-sunspots.csv");
  for (std::size_t i = 1; i < lines.size(); ++i) values.push_back(std::stod(lines[i].substr(lines[i].find(',') + 1)));
  return values;
}

void make_sunspots(const std::string& data, const std::string& stem) {
  std::string out = "value\n";
  for (const double x : sunspots(data)) out += fmt::format("{}\n", x);
  write_file_atomically(stem + ".csv", out);
}

/// Solves a x = b by Gaussian elimination with partial pivoting; overwrites a [n x n].
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t r = k + 1; r < n; ++r)
      if (std::abs(a[r][k]) > std::abs(a[pivot][k])) pivot = r;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t r = k + 1; r < n; ++r) {
      const double factor = a[r][k] / a[k][k];
      for (std::size_t c = k; c < n; ++c) a[r][c] -= factor * a[k][c];
      b[r] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t c = k + 1; c < n; ++c) b[k] -= a[k][c] * b[c];
    b[k] /= a[k][k];
  }
  return b;
}

/// Normalized squared error of one-step-ahead forecasts by an autoregression of order p. It is fitted by least squares
/// to the values before `split` and evaluated on the rest. Order 0 is persistence: the last value is the forecast.
double autoregression(const std::vector<double>& y, std::size_t split, std::size_t p) {
  std::vector<double> w(p + 1);
  if (p == 0) {
    w = {0, 1};
  } else {
    std::vector<std::vector<double>> a(p + 1, std::vector<double>(p + 1));
    std::vector<double> b(p + 1);
    for (std::size_t t = p; t < split; ++t)
      for (std::size_t i = 0; i <= p; ++i) {
        const double xi = i == 0 ? 1 : y[t - i];
        b[i] += xi * y[t];
        for (std::size_t j = 0; j <= p; ++j) a[i][j] += xi * (j == 0 ? 1 : y[t - j]);
      }
    w = solve(std::move(a), std::move(b));
  }
  double mean = 0, error = 0, variance = 0;
  for (std::size_t t = split; t < y.size(); ++t) mean += y[t] / static_cast<double>(y.size() - split);
  for (std::size_t t = split; t < y.size(); ++t) {
    double said = w[0];
    for (std::size_t i = 1; i < w.size(); ++i) said += w[i] * y[t - i];
    error += (y[t] - said) * (y[t] - said);
    variance += (y[t] - mean) * (y[t] - mean);
  }
  return error / variance;
}

/// Returns the results of simple baselines on the same split.
std::string simple_forecasts() {
  const std::vector<double> y = sunspots(data_folder());
  const auto split = static_cast<std::size_t>(0.8 * static_cast<double>(y.size()));
  std::size_t best = 1;
  for (std::size_t p = 2; p <= 30; ++p)
    if (autoregression(y, split, p) < autoregression(y, split, best)) best = p;
  return fmt::format(
      "Simple methods on the sunspots, fitted to the first 80 % and evaluated on the rest: persistence {:.4f}; the "
      "best of AR(1..30), selected on the test values, AR({}) {:.4f}.\n",
      autoregression(y, split, 0), best, autoregression(y, split, best));
}

const Variant kDefault{"the default", ""};
/// Variants that predict the labels jointly with a CRF, which is the default, or each one separately.
std::vector<Variant> label_losses(const std::string& field, const std::string& read) {
  return {{"joint labels", fmt::format("--predict {}{}", field, read)},
          {"independent labels", fmt::format("--predict {}=softmax{}", field, read)}};
}

Reproduction chunking() {
  const std::string files = "{data}/conll2000/train.txt.gz --test {data}/conll2000/test.txt";
  const Variant by_default{"CoNLL-2000, the default", files};
  const Variant faster{"CoNLL-2000, 160 units",
                       files +
                           " --model bilstm:160,dropout=0.5,embedding=128 --optimizer "
                           "adam:rate=0.004,clip=1,schedule=cosine,warmup=100 --epochs 10 --validate-every 503"};
  return {.name = "tagging",
          .title = "Chunks of words",
          .source = "Tjong Kim Sang and Buchholz 2000; the last 10 % of the training file for validation",
          .measure = "/test/heads/3/chunk_f1",
          .measure_text = "chunk F1 on the test set, %",
          .percent = true,
          .success = 0.941,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = label_losses("3", ""),
          .small = {.columns = {by_default}, .seeds = 1, .budget = "--epochs 2"},
          .full = {.columns = {by_default, faster}, .seeds = 5, .budget = ""},
          .theirs = {{{"joint labels", by_default.label}, "CRFsuite 93.56"}},
          .data = "conll2000"};
}

Reproduction parts_of_speech() {
  const auto column = [](const char* label, const char* files, double success) {
    return Variant{.label = label, .arguments = std::string(files) + " --unknown skip", .success = success};
  };
  const std::vector<Variant> columns = {column("ATIS",
                                               "{data}/ud/en_atis-ud-train.conllu.gz --valid "
                                               "{data}/ud/en_atis-ud-dev.conllu.gz --test "
                                               "{data}/ud/en_atis-ud-test.conllu.gz",
                                               0.985),
                                        column("EWT, trained on its dev part",
                                               "{data}/ud/en_ewt-ud-dev.conllu.gz --test "
                                               "{data}/ud/en_ewt-ud-test.conllu.gz",
                                               0.88)};
  return {.name = "tagging",
          .title = "Parts of speech",
          .source =
              "Universal Dependencies, English ATIS, and EWT, whose training part is not available: nine tenths of the "
              "2,002 sentences of its dev part for training, one tenth for validation",
          .measure = "/test/heads/upos/accuracy",
          .measure_text = "accuracy on the test set, %",
          .percent = true,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = label_losses("upos", " --read form,form.lower,form.prefix3,form.suffix2,form.suffix3"),
          .small = {.columns = {columns.front()}, .seeds = 1, .budget = "--epochs 2"},
          .full = {.columns = columns, .seeds = 5, .budget = ""},
          .data = "ud"};
}

Reproduction classification(const Variant& column, const std::string& source, int seeds, const std::string& small,
                            const std::string& theirs) {
  return {.name = "classification",
          .title = column.label,
          .source = source,
          .measure = "/test/heads/label/accuracy",
          .measure_text = "accuracy on the test set, %",
          .percent = true,
          .success = column.success,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {kDefault},
          .small = {.columns = {column}, .seeds = 1, .budget = small},
          .full = {.columns = {column}, .seeds = seeds, .budget = ""},
          .theirs = {{{"the default", column.label}, theirs}},
          .data = "sequences"};
}

std::vector<Reproduction> classifications() {
  const std::string folds = "{made}-{seed}.train --test {made}-{seed}.test";
  std::vector<Reproduction> tables = {
      classification({.label = "questions",
                      .arguments = "{data}/sequences/qc/train.txt --test {data}/sequences/qc/test.txt --predict label",
                      .success = 0.91},
                     "Li and Roth 2002, six coarse classes, 500 test questions", 5, "--epochs 5", "linear SVM 90.6"),
      classification({.label = "first names", .arguments = folds, .prepare = make_names, .success = 0.85},
                     "Kantrowitz; ten stratified folds, one per seed", 10, "--epochs 3", "logistic regression 84.0"),
      classification({.label = "movie reviews", .arguments = folds, .prepare = make_polarity, .success = 0.785},
                     "Pang and Lee 2005; ten stratified folds, one per seed", 10, "--epochs 2", "linear SVM 77.8"),
      classification({.label = "Japanese vowels",
                      .arguments = "{made}.train.jsonl --test {made}.test.jsonl",
                      .prepare = make_vowels,
                      .success = 363.0 / 370},
                     "Kudo et al. 1999: nine speakers, 370 test examples", 5, "--epochs 10", "-")};
  tables.back().data = "timeseries";
  return tables;
}

Reproduction forecasting() {
  const auto column = [](const char* label, const char* split, void (*prepare)(const std::string&, const std::string&),
                         double success) {
    return Variant{.label = label,
                   .arguments = fmt::format("{{made}}.csv --predict value --split {}", split),
                   .prepare = prepare,
                   .success = success};
  };
  const std::vector<Variant> columns = {column("Santa Fe laser", "36/4/60", make_laser, 0.008),
                                        column("sunspots", "72/8/20", make_sunspots, 0.12)};
  return {.name = "forecasting",
          .title = "One step ahead",
          .source = "Weigend and Gershenfeld 1993 (laser); SILSO (monthly sunspots)",
          .measure = "/test/heads/value/nmse",
          .measure_text = "normalized squared error on the test set",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {kDefault,
                   {"lstm:128", "--model lstm:128,embedding=32"},
                   {"for noisy series", "--model gru:32,direct=24,dropout=0.5 --epochs 60"}},
          .small = {.columns = columns, .seeds = 1, .budget = "--epochs 20"},
          .full = {.columns = columns, .seeds = 5, .budget = ""},
          .data = "timeseries",
          .appendix = simple_forecasts};
}

Variant chords(const std::string& label, const std::string& stem, const std::string& ending, double success) {
  const std::string file = "{data}/music/" + stem;
  return {.label = label,
          .arguments = fmt::format("{0}.train.txt{1} --valid {0}.valid.txt{1} --test {0}.test.txt{1}", file, ending),
          .success = success};
}

Reproduction music() {
  const std::vector<Variant> columns = {chords("JSB chorales", "JSB_Chorales", "", 8.4),
                                        chords("Nottingham", "Nottingham", ".gz", 3.2)};
  return {.name = "music",
          .title = "Chords of polyphonic music",
          .source = "Boulanger-Lewandowski et al. 2012; bits that are independent given the past",
          .measure = "/test/heads/notes/nats_per_position",
          .measure_text = "nats per step on the test set",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{kDefault.label, "--predict notes"}},
          .small = {.columns = {columns.front()}, .seeds = 1, .budget = "--epochs 10"},
          .full = {.columns = columns, .seeds = 3, .budget = ""},
          .theirs = {{{"the default", "JSB chorales"}, "RNN 8.71, LSTM 8.45"},
                     {{"the default", "Nottingham"}, "RNN 4.46, LSTM 3.29"}},
          .data = "music"};
}

Reproduction music_of_dependent_notes() {
  // Hyperparameters selected on validation data (docs/results/density.md).
  const std::string smaller = " --model lstm:200,dropout=0.5,embedding=128 --predict notes=nade:150";
  const std::string larger = " --predict notes=nade:200 --batch 4 --model lstm:300,embedding=128,";
  const std::string decaying = " --optimizer adamw:rate=0.003,clip=1,schedule=cosine,warmup=100,decay=";
  const auto with = [](Variant of, const std::string& setting) {
    of.arguments += setting;
    return of;
  };
  const Variant chorales = chords("JSB chorales by note", "JSB_Chorales", "", 5.56);
  const std::vector<Variant> columns = {
      with(chorales, smaller + " --epochs 200"),
      with(chords("Nottingham by note", "Nottingham", ".gz", 2.31), smaller + " --batch 8 --epochs 40"),
      with(chords("Piano-midi by note", "Piano_midi", "", 7.05), larger + "dropout=0.6" + decaying + "0.3 --epochs 60"),
      with(chords("MuseData by note", "MuseData", ".gz", 5.60),
           larger + "dropout=0.5" + decaying + "0.1 --epochs 100")};
  const std::string row = "LSTM-NADE";
  return {.name = "music",
          .title = "Chords, each note conditioned on the lower notes",
          .source = "Boulanger-Lewandowski et al. 2012; a NADE of the notes given the past",
          .measure = "/test/heads/notes/nats_per_position",
          .measure_text = "nats per step on the test set",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{row, "--whole-sequences"}},
          .small = {.columns = {with(chorales, smaller)}, .seeds = 1, .budget = "--epochs 10"},
          .full = {.columns = columns, .seeds = 1, .budget = ""},
          .theirs = {{{row, "JSB chorales by note"}, "5.56 (RNN-NADE)"},
                     {{row, "Nottingham by note"}, "2.31 (RNN-NADE)"},
                     {{row, "Piano-midi by note"}, "7.05 (RNN-NADE)"},
                     {{row, "MuseData by note"}, "5.60 (RNN-NADE)"}},
          .data = "music"};
}

Reproduction letter_to_sound() {
  const auto column = [](const char* label, const char* model, double success) {
    return Variant{.label = label,
                   .arguments = fmt::format("{{made}}.pairs --split 90/5/5{}", model),
                   .prepare = make_sounds,
                   .success = success};
  };
  const std::vector<Variant> columns = {
      column("without attention", " --model bigru:320,reset=after,layers=2,condition=both,dropout=0.3", 0.30),
      column("with attention", " --model bigru:256,reset=after,layers=2,attention=additive,condition=start,dropout=0.3",
             0.25)};
  return {.name = "letter-to-sound",
          .title = "Sounds from letters",
          .source =
              "CMU Pronouncing Dictionary 0.7a without stress; random split 90/5/5 by word with seed 1; the closest of "
              "several pronunciations counts; greedy decoding",
          .measure = "/test/heads/target/sequence_error",
          .measure_text = "word error rate on the test set, %",
          .percent = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats per phone",
          .rows = {kDefault},
          .small = {.columns = {column("with attention", "", 0.25)}, .seeds = 1, .budget = "--minutes 3"},
          .full = {.columns = columns,
                   .seeds = 1,
                   .budget = "--minutes 105 --batch 32 --optimizer adam:rate=0.0006,clip=1,schedule=cosine,warmup=200"},
          .theirs = {{{"the default", "without attention"}, "28.6 (Yao and Zweig 2015)"},
                     {{"the default", "with attention"}, "21.7 (Toshniwal and Livescu 2016)"}},
          .data = "sequences"};
}

}  // namespace

/// Parses lines "WORD number PHONES"; omits duplicates that differ only in stress.
void make_sounds(const std::string& data, const std::string& stem) {
  std::set<std::string> seen;
  std::string out;
  for (const std::string& line : lines_of(data + "/sequences/cmudict/cmudict.gz")) {
    std::istringstream words(line);
    std::string word, number, pair;
    words >> word >> number;
    for (std::string phone; words >> phone;) {
      while (!phone.empty() && phone.back() >= '0' && phone.back() <= '2') phone.pop_back();
      pair += (pair.empty() ? word + "\t" : " ") + phone;
    }
    if (!pair.empty() && seen.insert(pair).second) out += pair + "\n";
  }
  write_file_atomically(stem + ".pairs", out);
}

void make_laser(const std::string& data, const std::string& stem) {
  const std::vector<std::string> lines = lines_of(data + "/timeseries/santafe_laser.txt");
  std::string out = "value\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(5000, lines.size()); ++i) out += lines[i] + "\n";
  write_file_atomically(stem + ".csv", out);
}

std::vector<Reproduction> field_reproductions() {
  std::vector<Reproduction> list = {chunking(), parts_of_speech()};
  std::ranges::move(classifications(), std::back_inserter(list));
  list.push_back(forecasting());
  list.push_back(music());
  list.push_back(music_of_dependent_notes());
  list.push_back(letter_to_sound());
  std::ranges::move(tree_reproductions(), std::back_inserter(list));
  std::ranges::move(grid_reproductions(), std::back_inserter(list));
  return list;
}

}  // namespace unfold
