/// Tunes in ABC notation conditioned on their key: compares class-conditional prediction with the right and with a
/// wrong key.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "app/reproduce/class_conditional.h"
#include "app/reproduce/reproduction.h"
#include "app/sample/sample.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

const std::vector<std::string> kKeys = {"D", "G", "A", "C"};  // the keys with at least 50 tunes
constexpr const char* kTunesModel = "gru:256,dropout=0.4,embedding=32";
constexpr Index kTunesEpochs = 30;

/// Removes chords, which are in quotes, and spaces.
std::string melody_of(const std::string& line) {
  std::string melody;
  bool chord = false;
  for (const char c : line) {
    if (c == '"') chord = !chord;
    if (c != '"' && !chord && !std::isspace(static_cast<unsigned char>(c))) melody += c;
  }
  return melody;
}

bool is_header(const std::string& line) {
  return line.size() >= 2 && line[1] == ':' && std::isalpha(static_cast<unsigned char>(line[0])) != 0;
}

/// Adds the melodies of a collection, grouped by key. Skips tunes that change their key.
void read_tunes(std::string_view text, std::vector<std::vector<std::string>>& of_key) {
  std::string key, melody;
  bool changes = false;
  const auto end = [&] {
    const auto place = std::ranges::find(kKeys, key);
    if (place != kKeys.end() && !changes && !melody.empty())
      of_key[static_cast<std::size_t>(place - kKeys.begin())].push_back(melody);
    key = melody = "";
    changes = false;
  };
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.starts_with("X:")) end();
    if (line.starts_with("K:")) {
      const std::string named = line.substr(2);
      changes = changes || (!key.empty() && named != key);
      key = named;
    }
    if (!line.starts_with("%") && !is_header(line)) melody += melody_of(line);
  }
  end();
}

ClassFiles write_tunes(const std::string& data, const std::string& stem) {
  std::vector<std::vector<std::string>> of_key(kKeys.size());
  for (const char* collection : {"ashover", "hpps", "jigs", "morris", "playford", "reelsa-c", "reelsd-g", "reelsh-l",
                                 "reelsm-q", "reelsr-t", "reelsu-z", "slip", "waltzes", "xmas"})
    read_tunes(Input::open(fmt::format("{}/abc/{}.abc", data, collection)).bytes(), of_key);
  return write_class_files(stem, kKeys, of_key);
}

void make_tunes_files(const std::string& data, const std::string& stem) { write_tunes(data, stem); }

std::string tunes_table() {
  const StudyFolder folder("tunes");
  const ClassFiles files = write_tunes(data_folder(), folder.path("tunes"));
  ClassTraining training{.model = kTunesModel, .epochs = kTunesEpochs};
  const std::string alone = train_class_conditional(files, folder.path("alone"), training);
  training.given = true;
  const std::string given = train_class_conditional(files, folder.path("given"), training);
  std::string text = fmt::format(
      "`{}`, {} epochs, seed 1; melodies, without chords, of tunes that keep their key; every tenth tune of each key "
      "is used for\ntesting, the following one for validation. Bits per tune, including its end, for an unconditional "
      "network, for one conditioned on the key, and for the latter\nconditioned on a wrong key (mean over the three "
      "other keys).\n\n| key | tunes tested | no key given | right key | wrong key |\n| --- | --- | --- | --- | --- "
      "|\n",
      kTunesModel, kTunesEpochs);
  for (std::size_t k = 0; k < kKeys.size(); ++k) {
    double others = 0;
    for (std::size_t other = 0; other < kKeys.size(); ++other)
      if (other != k) others += bits_given_class(given, files, k, kKeys[other]) / static_cast<double>(kKeys.size() - 1);
    const double untold = bits_given_class(alone, files, k), told = bits_given_class(given, files, k);
    text += fmt::format("| {} | {} | {:.1f} | {} | {:.1f} |\n", kKeys[k], files.tested[k], untold,
                        told < untold ? fmt::format("**{:.1f}**", told) : fmt::format("{:.1f}", told), others);
  }
  text += "\nSamples, seed 1:\n\n```\n";
  for (const std::string& key : kKeys)
    for (const SampledSequence& tune :
         sample_sequences({.model = given, .sampling = {.length = 120}, .count = 1, .given = {"label=" + key}}, 1))
      text += fmt::format("{}: {}\n", key, tune.text);
  return text + "```\n";
}

}  // namespace

Reproduction tunes_given_key() {
  const std::vector<Variant> columns = {
      {.label = "given keys",
       .arguments =
           fmt::format("{{made}}.train --valid {{made}}.valid --test {{made}}.test --format labelled --symbols chars "
                       "--unknown skip --predict text --ends symbol --model {}",
                       kTunesModel),
       .prepare = make_tunes_files}};
  const std::string budget = fmt::format("--epochs {}", kTunesEpochs);
  return {.name = "names",
          .title = "Tunes, given the key",
          .source = "Nottingham Music Database of folk tunes",
          .measure = "/test/heads/text/nats_per_position",
          .measure_text = "nats per symbol on the test set",
          .compares = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{"given the key", "--read label"}, {"unconditional", "--read text"}},
          .small = {.columns = columns, .seeds = 1, .budget = budget},
          .full = {.columns = columns, .seeds = 5, .budget = budget},
          .data = "abc",
          .appendix = tunes_table};
}

}  // namespace unfold
