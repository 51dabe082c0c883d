/// Random fields of features imported from and exported to CRFsuite and CRF++: results compared with enumeration by the
/// rules of these programs.

#include "interop/crf/crf_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/predict/predict.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

constexpr const char* kDump = R"(FILEHEADER = {
  magic: lCRF
  size: 1234
  type: FOMC
  version: 100
  num_features: 0
  num_labels: 3
  num_attrs: 6
  off_features: 0x30
}

LABELS = {
      0: B
      1: I
      2: O
}

ATTRIBUTES = {
      0: 1[0]=a
}

TRANSITIONS = {
  (1) B --> I: 1.500000
  (1) I --> I: 0.250000
  (1) O --> I: -2.000000
  (1) O --> O: 0.750000
}

STATE_FEATURES = {
  (0) __BOS__ --> B: 0.600000
  (0) __EOS__ --> O: 0.900000
  (0) 1[0]=a --> B: 1.000000
  (0) 1[0]=a --> O: -0.500000
  (0) 1[0]=b: x --> y --> I: 0.800000
  (0) 1[0]=c --> O: 1.100000
  (0) 1[-1]|1[0]=a|b --> I: 0.400000
  (0) 1[-1]|1[0]=_B-1|a --> B: 0.300000
}
)";

/// y x1 ... of CRF++: U00 reads the column, U01 a pair; U02 only the positions before the first; B.
constexpr const char* kCrfpp = R"(version: 100
cost-factor: 2
maxid: 30
xsize: 1

B
I
O

U00:%x[0,0]
U01:%x[-1,0]/%x[0,0]
U02:%x[-1,0]
B
B01:%x[0,0]

0 U00:a
3 U00:b
6 U01:a/b
9 U02:_B-1
12 B
21 B01:b

0.5
-0.1
0.2
-0.3
0.7
0.4
0.1
0.9
-0.6
0.8
0.3
-0.2
0.1
0.6
-0.4
0.2
-0.7
0.5
0.3
-0.8
0.9
0.15
0.25
-0.35
-0.45
0.55
0.65
0.75
-0.85
0.95
)";

using Words = std::vector<std::string>;

std::string word_at(const Words& words, Index t) {
  if (t < 0) return "_B" + std::to_string(t);
  if (t >= static_cast<Index>(words.size())) return "_B+" + std::to_string(t - static_cast<Index>(words.size()) + 1);
  return words[at(t)];
}

/// Returns the best labels and their score by enumeration; `score(words, labels)`.
std::pair<std::vector<Index>, double> best_of(
    const Words& words, const std::function<double(const Words&, const std::vector<Index>&)>& score) {
  std::vector<Index> labels(words.size(), 0), best;
  double most = -1e300;
  while (true) {
    if (const double found = score(words, labels); found > most) most = found, best = labels;
    std::size_t t = 0;
    while (t < labels.size() && ++labels[t] == 3) labels[t++] = 0;
    if (t == labels.size()) return {best, most};
  }
}

/// The score as defined by the dump: attributes with their label, and transitions.
double crfsuite_score(const Words& words, const std::vector<Index>& y) {
  static const std::vector<double> kSteps = {0, 1.5, 0, 0, 0.25, 0, 0, -2, 0.75};
  double sum = (y.front() == 0 ? 0.6 : 0) + (y.back() == 2 ? 0.9 : 0);
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (t > 0) sum += kSteps[at(3 * y[t - 1] + y[t])];
    const std::string here = words[t], before = word_at(words, static_cast<Index>(t) - 1);
    if (here == "a") sum += y[t] == 0 ? 1.0 : y[t] == 2 ? -0.5 : 0;
    if (here == "c" && y[t] == 2) sum += 1.1;
    if (before == "a" && here == "b" && y[t] == 1) sum += 0.4;
    if (before == "_B-1" && here == "a" && y[t] == 0) sum += 0.3;
  }
  return sum;
}

double crfpp_score(const Words& words, const std::vector<Index>& y) {
  static const std::vector<double> w = {0.5, -0.1, 0.2,  -0.3,  0.7,   0.4,  0.1,  0.9,  -0.6,  0.8,
                                        0.3, -0.2, 0.1,  0.6,   -0.4,  0.2,  -0.7, 0.5,  0.3,   -0.8,
                                        0.9, 0.15, 0.25, -0.35, -0.45, 0.55, 0.65, 0.75, -0.85, 0.95};
  double sum = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    const std::string here = words[t], before = word_at(words, static_cast<Index>(t) - 1);
    const std::size_t label = at(y[t]);
    if (here == "a") sum += w[label];
    if (here == "b") sum += w[3 + label];
    if (before == "a" && here == "b") sum += w[6 + label];
    if (before == "_B-1") sum += w[9 + label];
    if (t > 0) sum += w[12 + 3 * at(y[t - 1]) + label];
    if (t > 0 && here == "b") sum += w[21 + 3 * at(y[t - 1]) + label];
  }
  return 2 * sum;
}

const std::vector<Words> kSentences = {{"a", "b", "c", "d"}, {"c"}, {"b", "b", "a"}, {"d", "a", "b", "a", "c"}, {"a"}};

std::string conll() {
  std::string text;
  for (const Words& words : kSentences) {
    for (const std::string& word : words) text += word + "\n";
    text += "\n";
  }
  return text;
}

/// Returns the labels of `predict`, sentence by sentence.
std::vector<std::vector<std::string>> predicted(const std::string& model, const std::string& data,
                                                const std::string& column) {
  std::string table;
  Reporter quiet;
  predict(
      {.model = model, .data = {data}, .threads = 1}, [&](std::string_view text) { table += text; }, quiet);
  std::vector<std::vector<std::string>> rows(1);
  std::vector<std::string> cells;
  std::size_t wanted = 0;
  for (std::size_t begin = 0, line = 0; begin < table.size(); ++line) {
    const std::size_t end = table.find('\n', begin);
    std::string rest = table.substr(begin, end - begin);
    begin = end + 1;
    cells.clear();
    for (std::size_t tab = 0; tab != std::string::npos;) {
      tab = rest.find('\t');
      cells.push_back(rest.substr(0, tab));
      if (tab != std::string::npos) rest.erase(0, tab + 1);
    }
    if (line == 0)
      wanted = static_cast<std::size_t>(std::ranges::find(cells, column + ".best") - cells.begin());
    else if (cells.size() == 1 && cells[0].empty())
      rows.emplace_back();
    else
      rows.back().push_back(cells.at(wanted));
  }
  return rows;
}

void expect_answers(const std::vector<std::vector<std::string>>& found,
                    double (*score)(const Words&, const std::vector<Index>&)) {
  ASSERT_EQ(found.size(), kSentences.size());
  for (std::size_t s = 0; s < found.size(); ++s) {
    std::vector<Index> labels;
    for (const std::string& label : found[s]) labels.push_back(static_cast<Index>(std::string("BIO").find(label)));
    EXPECT_NEAR(score(kSentences[s], labels), best_of(kSentences[s], score).second, 1e-6) << s;
  }
}

std::string exported(const ExportCrfRequest& request) {
  std::string text;
  export_crf(request, [&](std::string_view part) { text += part; });
  return text;
}

TEST(CrfWeights, crfsuite_dump_imports_with_equal_predictions) {
  const ScratchFolder folder;
  const std::string out = folder.path("model.safetensors");
  const ImportCrfOutcome made = import_crf({.file = folder.write("dump", kDump), .out = out, .label = "tag"});
  EXPECT_EQ(made.labels, 3);
  EXPECT_EQ(made.features, 6);
  expect_answers(predicted(out, folder.write("data", conll()), "tag"), crfsuite_score);
}

TEST(CrfWeights, crfpp_text_model_imports_with_equal_predictions) {
  const ScratchFolder folder;
  const std::string out = folder.path("model.safetensors");
  import_crf({.file = folder.write("model.txt", kCrfpp), .out = out});
  expect_answers(predicted(out, folder.write("data", conll()), "2"), crfpp_score);
}

TEST(CrfWeights, exported_crf_round_trips) {
  const ScratchFolder folder;
  const std::string first = folder.path("first.safetensors"), second = folder.path("second.safetensors");
  import_crf({.file = folder.write("dump", kDump), .out = first, .label = "2"});
  const std::string dump = exported({.model = first});
  import_crf({.file = folder.write("again", dump), .out = second, .label = "2"});
  EXPECT_EQ(exported({.model = second}), dump);
  const std::string crfpp = exported({.model = first, .crfpp = true});
  import_crf({.file = folder.write("crfpp", crfpp), .out = second});
  EXPECT_EQ(exported({.model = second, .crfpp = true}), crfpp);
  const std::string data = folder.write("data", conll());
  EXPECT_EQ(predicted(second, data, "2"), predicted(first, data, "2"));
}

TEST(CrfWeights, texts_with_separators_keep_their_weights) {
  CrfWeights crf({"B", "I", "O"});
  crf.add("1[-1]|1[0]", "a|b|c", 0, 0.75);  // of CRF++: a/b|c, or a|b/c
  crf.add("1[-1]|1[0]", "a|b", 1, -0.5);
  std::string text;
  write_crfpp(crf, {}, [&](std::string_view piece) { text += piece; });
  CrfWeights back = read_crfpp(Input::from_bytes("model.txt", text), numbered_columns(9));
  EXPECT_EQ(back.read("1[-1]|1[0]").weights.at("a|b|c").at(0), 0.75);
  EXPECT_EQ(back.read("1[-1]|1[0]").weights.at("a|b").at(1), -0.5);
}

TEST(CrfWeights, read_transitions_round_trip_through_crfpp_only) {
  const ScratchFolder folder;
  const std::string model = folder.path("model.safetensors"), again = folder.path("again.safetensors");
  import_crf({.file = folder.write("model.txt", kCrfpp), .out = model});
  const std::string out = exported({.model = model, .crfpp = true});
  EXPECT_TRUE(contains(out, ":%x[0,0]\n\n")) << out;
  import_crf({.file = folder.write("again.txt", out), .out = again});
  const std::string data = folder.write("data", conll());
  EXPECT_EQ(predicted(again, data, "2"), predicted(model, data, "2"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { exported({.model = model}); }), "CRF++ does"));
}

TEST(CrfWeights, template_attributes_are_split_at_every_possible_position) {
  const Input input = Input::from_bytes("dump", R"(FILEHEADER = {
}
LABELS = {
      0: x
}
ATTRIBUTES = {
}
TRANSITIONS = {
}
STATE_FEATURES = {
  (0) U05:1/2/of --> x: 0.5
}
)");
  const CrfWeights crf = read_crfsuite(input, {{"U05", "1[-1]|1[0]"}});
  ASSERT_EQ(crf.reads.size(), 1u);
  EXPECT_EQ(crf.reads[0].texts, (Words{"1|2/of", "1/2|of"}));
  EXPECT_EQ(crf.reads[0].weights.at("1/2|of").at(0), 0.5);
}

TEST(CrfWeights, import_errors_name_the_line) {
  const auto of_dump = [](std::string text) {
    return message_of<DataError>([&] { read_crfsuite(Input::from_bytes("dump", std::move(text)), {}); });
  };
  const std::string dump = kDump;
  EXPECT_TRUE(contains(of_dump(dump.substr(0, 40)), "dump: unexpected end of file; expected"))
      << of_dump(dump.substr(0, 40));
  std::string wrong = dump;
  wrong.replace(wrong.find("1.500000"), 8, "1.5000x0");
  EXPECT_TRUE(contains(of_dump(wrong), "dump, line 23: \"1.5000x0\" is not a finite number")) << of_dump(wrong);
  wrong = dump;
  wrong.replace(wrong.find("1[0]=c"), 6, "1[0] c");
  EXPECT_TRUE(contains(of_dump(wrong), "is neither of the form NAME=TEXT")) << of_dump(wrong);
  wrong = dump;
  wrong.replace(wrong.find("O --> O"), 7, "O --> Q");
  EXPECT_TRUE(contains(of_dump(wrong), "there is no label Q")) << of_dump(wrong);
  const auto of_crfpp = [](std::string text) {
    return message_of<DataError>(
        [&] { read_crfpp(Input::from_bytes("model.txt", std::move(text)), numbered_columns(9)); });
  };
  const std::string crfpp = kCrfpp;
  wrong = crfpp;
  wrong.replace(wrong.find("maxid: 30"), 9, "maxid: 20");
  EXPECT_TRUE(contains(of_crfpp(wrong), "too few")) << of_crfpp(wrong);
  wrong.replace(wrong.find("maxid: 20"), 9, "maxid: 9000000000000000000");
  EXPECT_TRUE(contains(of_crfpp(wrong), "unexpected end of file; expected a weight")) << of_crfpp(wrong);
  EXPECT_TRUE(contains(of_crfpp(crfpp.substr(0, crfpp.size() - 5)), "unexpected end of file; expected a weight"))
      << of_crfpp(crfpp);
}

TEST(CrfWeights, models_without_a_counterpart_are_named_in_the_error) {
  const ScratchFolder folder;
  const std::string model = folder.path("model.safetensors");
  std::string dump = kDump;
  for (std::size_t place; (place = dump.find("1[")) != std::string::npos;) dump.replace(place, 2, "word[");
  import_crf({.file = folder.write("dump", dump), .out = model, .label = "tag"});
  EXPECT_TRUE(contains(message_of<UsageError>([&] { exported({.model = model, .crfpp = true}); }), "--columns"));
  EXPECT_TRUE(contains(exported({.model = model, .crfpp = true, .columns = {"pos", "word"}}), ":%x[-1,1]/%x[0,1]"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { import_crf({.file = folder.path("dump"), .out = model}); }),
                       "--label NAME"));
}

}  // namespace
}  // namespace unfold
