/// Metrics compared with counts by hand, with conlleval's tables of tag pairs, and with sums in two passes.

#include "train/prediction_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Labels = std::vector<Symbol>;

double measure_of(const Measures& measures, std::string_view name) {
  for (const auto& [key, value] : measures)
    if (key == name) return value;
  ADD_FAILURE() << name << " is missing";
  return 0;
}

bool has_measure(const Measures& measures, std::string_view name) {
  for (const auto& each : measures)
    if (each.first == name) return true;
  return false;
}

Labels random_labels(Random& random, Index count, Index labels, double missing = 0) {
  Labels result;
  for (Index i = 0; i < count; ++i)
    result.push_back(
        random.uniform() < missing ? kNoSymbol : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(labels))));
  return result;
}

TEST(ValueMetrics, median_is_the_middle_value_or_the_mean_of_two) {
  EXPECT_TRUE(std::isnan(median_of_values({})));
  EXPECT_EQ(median_of_values({4}), 4);
  EXPECT_EQ(median_of_values({9, 1, 4}), 4);
  EXPECT_EQ(median_of_values({9, 1, 4, 5}), 4.5);
}

TEST(LabelMetrics, label_metrics_equal_those_of_the_confusion_matrix) {
  Random random(1, "labels");
  LabelMetrics measures({"a", "b", "c", "d", "e"});  // d and e never occur
  Labels all_wanted, all_best;
  for (int example = 0; example < 20; ++example) {
    const Index length = static_cast<Index>(random.below(9));
    const Labels wanted = random_labels(random, length, 3, 0.2), best = random_labels(random, length, 3);
    measures.see(wanted, best);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] != kNoSymbol) all_wanted.push_back(wanted[i]), all_best.push_back(best[i]);
  }
  double matrix[5][5] = {}, right = 0, f1 = 0;
  for (std::size_t i = 0; i < all_wanted.size(); ++i) ++matrix[all_wanted[i]][all_best[i]];
  for (int c = 0; c < 3; ++c) {
    double in_row = 0, in_column = 0;
    for (int d = 0; d < 5; ++d) in_row += matrix[c][d], in_column += matrix[d][c];
    const double precision = matrix[c][c] / in_column, recall = matrix[c][c] / in_row;
    f1 += 2 * precision * recall / (precision + recall) / 3;
    right += matrix[c][c];
  }
  const auto n = static_cast<double>(all_wanted.size());
  EXPECT_EQ(measures.seen(), static_cast<Index>(all_wanted.size()));
  EXPECT_NEAR(measures.accuracy(), right / n, 1e-15);
  EXPECT_NEAR(measures.macro_f1(), f1, 1e-15);
  EXPECT_NEAR(measure_of(measures.measures(), "accuracy"), right / n, 1e-15);
  EXPECT_NEAR(measure_of(measures.measures(), "error_rate"), 1 - right / n, 1e-15);
  EXPECT_NEAR(measure_of(measures.measures(), "macro_f1"), f1, 1e-15);
  for (Symbol c = 0; c < 5; ++c)
    for (Symbol d = 0; d < 5; ++d) EXPECT_EQ(static_cast<double>(measures.confusion(c, d)), matrix[c][d]);
  EXPECT_FALSE(has_measure(measures.measures(), "chunk_f1"));
}

TEST(LabelMetrics, never_correct_labels_count_as_zero_and_absent_labels_are_excluded) {
  LabelMetrics measures({"a", "b", "c", "d"});
  measures.see(Labels{0, 0, 1}, Labels{0, 0, 2});
  // a: 1, b: only in the reference, c: only in the prediction; d does not occur.
  EXPECT_DOUBLE_EQ(measures.macro_f1(), 1.0 / 3);
}

TEST(LabelMetrics, classes_are_listed_by_frequency_in_the_reference) {
  LabelMetrics measures({"a", "b", "c", "d"});
  measures.see(Labels{0, 1, 1, 1, 0}, Labels{0, 1, 1, 2, 1});
  const auto classes = measures.classes();
  ASSERT_EQ(classes.size(), 3u);  // d does not occur
  EXPECT_EQ(classes[0], (std::pair{Symbol{1}, MatchCounts{.wanted = 3, .found = 3, .right = 2}}));
  EXPECT_EQ(classes[1], (std::pair{Symbol{0}, MatchCounts{.wanted = 2, .found = 1, .right = 1}}));
  EXPECT_EQ(classes[2], (std::pair{Symbol{2}, MatchCounts{.wanted = 0, .found = 1, .right = 0}}));
  EXPECT_DOUBLE_EQ(classes[0].second.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(classes[1].second.recall(), 0.5);
  EXPECT_DOUBLE_EQ(classes[2].second.f1(), 0);
}

TEST(LabelMetrics, mistakes_are_listed_by_frequency) {
  LabelMetrics measures({"a", "b", "c"});
  measures.see(Labels{0, 1, 1, 2, 2, 0}, Labels{0, 2, 2, 0, 2, 1});
  using Mistake = LabelMetrics::Mistake;
  EXPECT_EQ(measures.mistakes(), (std::vector<Mistake>{{1, 2, 2}, {0, 1, 1}, {2, 0, 1}}));
}

TEST(LabelMetrics, metrics_of_no_labels_are_undefined) {
  LabelMetrics measures({"O", "B-x"});
  measures.see(Labels{kNoSymbol}, Labels{1});
  EXPECT_TRUE(measures.measures().empty());
  EXPECT_TRUE(std::isnan(measures.accuracy()));
  EXPECT_TRUE(std::isnan(measures.macro_f1()));
  EXPECT_EQ(measures.chunks(), MatchCounts());
}

TEST(LabelMetrics, length_mismatch_and_invalid_labels_are_rejected) {
  LabelMetrics measures({"a", "b"});
  EXPECT_THROW(measures.see(Labels{0, 1}, Labels{0}), UsageError);
  EXPECT_THROW(measures.see(Labels{2}, Labels{0}), UsageError);
  EXPECT_THROW(measures.see(Labels{0}, Labels{2}), UsageError);
  EXPECT_THROW(measures.see(Labels{0}, Labels{kNoSymbol}), UsageError);
  EXPECT_EQ(measures.seen(), 0);
  EXPECT_THROW(measures.merge(LabelMetrics({"a", "c"})), UsageError);
}

TEST(LabelMetrics, merged_label_metrics_equal_the_whole) {
  const std::vector<std::string> labels = {"O", "B-x", "I-x", "B-y", "I-y"};
  LabelMetrics whole(labels), one(labels), other(labels);
  Random random(2, "labels");
  for (int example = 0; example < 30; ++example) {
    const Labels wanted = random_labels(random, 8, 5), best = random_labels(random, 8, 5);
    whole.see(wanted, best);
    (example % 3 == 0 ? one : other).see(wanted, best);
  }
  one.merge(other);
  EXPECT_EQ(one.measures(), whole.measures());
  EXPECT_EQ(one.mistakes(), whole.mistakes());
  EXPECT_EQ(one.chunks_by_type(), whole.chunks_by_type());
}

TEST(LabelMetrics, chunk_labels_are_recognized_by_prefix) {
  EXPECT_TRUE(LabelMetrics({"O", "B-x", "I-x"}).has_chunks());
  EXPECT_TRUE(LabelMetrics({"S-x", "E-x-y"}).has_chunks());
  EXPECT_TRUE(LabelMetrics(Alphabet(SymbolKind::words, {"<eos>", "<unk>", "O", "B-x"})).has_chunks());
  EXPECT_FALSE(LabelMetrics(Alphabet(SymbolKind::words, {"<eos>", "NN", "B-x"})).has_chunks());
  EXPECT_FALSE(LabelMetrics({"O", "X"}).has_chunks());
  EXPECT_FALSE(LabelMetrics({"O"}).has_chunks());
  EXPECT_FALSE(LabelMetrics({"O", "B-"}).has_chunks());
  EXPECT_FALSE(LabelMetrics({"O", "C-x"}).has_chunks());
  EXPECT_FALSE(LabelMetrics({"pos", "neg"}).has_chunks());
}

/// Lines "wanted best", blank lines between sentences.
LabelMetrics measures_of_file(const std::string& text) {
  std::set<std::string> seen;
  std::vector<std::vector<std::pair<std::string, std::string>>> sentences(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) {
      sentences.emplace_back();
      continue;
    }
    sentences.back().emplace_back(line.substr(0, blank), line.substr(blank + 1));
    seen.insert(line.substr(0, blank));
    seen.insert(line.substr(blank + 1));
  }
  const std::vector<std::string> labels(seen.begin(), seen.end());
  const auto number = [&](const std::string& label) {
    return static_cast<Symbol>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  };
  LabelMetrics measures(labels);
  for (const auto& sentence : sentences) {
    Labels wanted, best;
    for (const auto& [w, b] : sentence) wanted.push_back(number(w)), best.push_back(number(b));
    measures.see(wanted, best);
  }
  return measures;
}

// Five files, counted by hand.

TEST(ChunkFile, iob2_chunks_compare_first_last_and_type) {
  // wanted NP[1-2] VP[3] NP[4-5] PP[6], best NP[1-2] VP[3] NP[4] PP[6]: the second NP ends too early.
  const LabelMetrics m = measures_of_file("B-NP B-NP\nI-NP I-NP\nB-VP B-VP\nB-NP B-NP\nI-NP O\nB-PP B-PP\nO O\n");
  EXPECT_EQ(m.chunks(), (MatchCounts{.wanted = 4, .found = 4, .right = 3}));
  EXPECT_DOUBLE_EQ(m.chunks().f1(), 0.75);
  EXPECT_EQ(m.chunks_by_type().at("NP"), (MatchCounts{.wanted = 2, .found = 2, .right = 1}));
  EXPECT_EQ(m.chunks_by_type().at("VP"), (MatchCounts{.wanted = 1, .found = 1, .right = 1}));
}

TEST(ChunkFile, iob1_chunks_begin_with_i_after_o_or_another_type) {
  // wanted NP[1-2] VP[3] NP[5] NP[6-7]: I begins NP[1], VP[3] after another type and NP[5] after O; B cuts NP[6].
  // best   NP[1-2] VP[3] NP[5-7]: the missing B joins two chunks.
  const LabelMetrics m = measures_of_file("I-NP I-NP\nI-NP I-NP\nI-VP I-VP\nO O\nI-NP I-NP\nB-NP I-NP\nI-NP I-NP\n");
  EXPECT_EQ(m.chunks(), (MatchCounts{.wanted = 4, .found = 3, .right = 2}));
  EXPECT_DOUBLE_EQ(m.chunks().precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.chunks().recall(), 0.5);
  EXPECT_DOUBLE_EQ(m.chunks().f1(), 4.0 / 7);
}

TEST(ChunkFile, chunks_end_with_their_sentence) {
  // wanted NP[1-2] | NP[1] VP[2] | O, best NP[1-2] | NP[1] NP[2] | NP[1]. An I after the end of a sentence begins a
  // chunk, though the label before it had the same type. In the second sentence, the prediction B B gives two chunks.
  const LabelMetrics m = measures_of_file("B-NP B-NP\nI-NP I-NP\n\nI-NP I-NP\nB-VP B-NP\n\nO I-NP\n");
  EXPECT_EQ(m.chunks(), (MatchCounts{.wanted = 3, .found = 4, .right = 2}));
  EXPECT_DOUBLE_EQ(m.chunks().f1(), 4.0 / 7);
}

TEST(ChunkFile, chunks_of_wrong_type_are_wrong_despite_correct_labels) {
  // wanted NP[1-3], best NP[1-2] VP[3]: an I of another type cuts. wanted VP[5-6], best NP[5-6]: the type differs.
  // wanted NP[8], best NP[8-9]: it ends too late.
  const LabelMetrics m =
      measures_of_file("B-NP B-NP\nI-NP I-NP\nI-NP I-VP\nO O\nB-VP B-NP\nI-VP I-NP\nO O\nB-NP B-NP\nO I-NP\n");
  EXPECT_EQ(m.chunks(), (MatchCounts{.wanted = 3, .found = 4, .right = 0}));
  EXPECT_EQ(m.chunks().f1(), 0);
  EXPECT_DOUBLE_EQ(m.accuracy(), 5.0 / 9);
}

TEST(ChunkFile, iobes_chunks_end_after_e_and_s) {
  // wanted X[1] Y[2-4] Y[5] X[6-7] X[8-9]. best X[1] Y[2-3] Y[4] Y[5] X[6-7] X[8] X[9]: E at 3 and 8 cuts, regardless
  // of what follows; I at 6 begins a chunk after another type. X[1], Y[5] and X[6-7] are correct.
  const LabelMetrics m =
      measures_of_file("S-X S-X\nB-Y B-Y\nI-Y E-Y\nE-Y I-Y\nS-Y S-Y\nB-X I-X\nE-X E-X\nB-X E-X\nE-X E-X\n");
  EXPECT_EQ(m.chunks(), (MatchCounts{.wanted = 5, .found = 7, .right = 3}));
  EXPECT_DOUBLE_EQ(m.chunks().f1(), 0.5);
}

TEST(Chunks, chunks_end_at_unlabeled_positions) {
  LabelMetrics measures({"O", "B-x", "I-x"});
  measures.see(Labels{1, kNoSymbol, 2}, Labels{1, 2, 2});  // wanted and found x[0] and x[2]
  EXPECT_EQ(measures.chunks(), (MatchCounts{.wanted = 2, .found = 2, .right = 2}));
}

/// The published conlleval classifies pairs of neighboring tags by two tables, and tracks whether the chunks that are
/// open on both sides began at the same position.
class PairTables {
 public:
  void see(const std::vector<std::string>& wanted, const std::vector<std::string>& best) {
    for (std::size_t i = 0; i < wanted.size(); ++i) step(parse(wanted[i]), parse(best[i]));
    step({'O', ""}, {'O', ""});  // the blank line
  }
  MatchCounts counts;

 private:
  struct Parsed {
    char tag = 'O';
    std::string type;
  };
  static Parsed parse(const std::string& label) { return label == "O" ? Parsed{} : Parsed{label[0], label.substr(2)}; }
  static bool listed(const std::set<std::string>& pairs, const Parsed& before, const Parsed& now) {
    return pairs.contains({before.tag, now.tag});
  }
  static bool ends(const Parsed& before, const Parsed& now) {
    return listed({"BB", "BO", "IB", "IO", "EE", "EI", "EO"}, before, now) ||
           (before.tag != 'O' && before.type != now.type);
  }
  static bool starts(const Parsed& before, const Parsed& now) {
    return listed({"BB", "IB", "OB", "OI", "EE", "EI", "OE"}, before, now) ||
           (now.tag != 'O' && before.type != now.type);
  }
  void step(const Parsed& wanted, const Parsed& best) {
    const bool wanted_ends = ends(wanted_before_, wanted), best_ends = ends(best_before_, best);
    if (together_ && wanted_ends && best_ends && wanted_before_.type == best_before_.type) {
      ++counts.right;
      together_ = false;
    } else if (together_ && (wanted_ends != best_ends || wanted.type != best.type)) {
      together_ = false;
    }
    const bool wanted_starts = starts(wanted_before_, wanted), best_starts = starts(best_before_, best);
    if (wanted_starts && best_starts && wanted.type == best.type) together_ = true;
    counts.wanted += wanted_starts ? 1 : 0;
    counts.found += best_starts ? 1 : 0;
    wanted_before_ = wanted;
    best_before_ = best;
  }

  Parsed wanted_before_, best_before_;
  bool together_ = false;
};

TEST(Chunks, chunk_counts_equal_conlleval) {
  Random random(3, "chunks");
  // IOB and IOE: the tables do not contain S, or B after E.
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{"O", "B-x", "I-x", "B-y", "I-y"}, {"O", "I-x", "E-x", "I-y", "E-y"}}) {
    LabelMetrics measures(labels);
    PairTables tables;
    for (int sentence = 0; sentence < 2000; ++sentence) {
      const auto length = static_cast<Index>(random.below(12));
      const Labels wanted = random_labels(random, length, 5);
      Labels best = wanted;
      for (Symbol& each : best)
        if (random.below(5) == 0) each = static_cast<Symbol>(random.below(5));
      std::vector<std::string> wanted_texts, best_texts;
      for (const Symbol each : wanted) wanted_texts.push_back(labels[at(each)]);
      for (const Symbol each : best) best_texts.push_back(labels[at(each)]);
      measures.see(wanted, best);
      tables.see(wanted_texts, best_texts);
      ASSERT_EQ(measures.chunks(), tables.counts) << "sentence " << sentence;
    }
    EXPECT_GT(tables.counts.right, 1000);
  }
}

struct ValueRow {
  std::vector<double> observed, mean, low, high;
  double crps;
};

std::vector<ValueRow> value_rows(Index count, std::uint64_t seed) {
  Random random(seed, "values");
  std::vector<ValueRow> rows;
  for (Index r = 0; r < count; ++r) {
    ValueRow row;
    for (int c = 0; c < 2; ++c) {
      row.observed.push_back(1e3 * c + random.normal());
      row.mean.push_back(row.observed.back() + 0.3 * random.normal());
      row.low.push_back(row.mean.back() - 0.4);
      row.high.push_back(row.mean.back() + 0.4);
    }
    row.crps = random.uniform();
    rows.push_back(row);
  }
  return rows;
}

void see_row(ValueMetrics& measures, const ValueRow& row) {
  measures.see(row.observed, {.mean = row.mean, .crps = row.crps, .low = row.low, .high = row.high});
}

TEST(ValueMetrics, value_metrics_equal_two_pass_sums) {
  const std::vector<ValueRow> rows = value_rows(57, 4);
  ValueMetrics measures;
  double average[2] = {}, squared = 0, absolute = 0, around = 0, crps = 0, within = 0;
  for (const ValueRow& row : rows) {
    see_row(measures, row);
    for (std::size_t c = 0; c < 2; ++c) average[c] += row.observed[c] / 57;
  }
  for (const ValueRow& row : rows) {
    for (std::size_t c = 0; c < 2; ++c) {
      const double error = row.observed[c] - row.mean[c];
      squared += error * error, absolute += std::fabs(error);
      around += (row.observed[c] - average[c]) * (row.observed[c] - average[c]);
      within += std::fabs(error) <= 0.4 ? 1 : 0;
    }
    crps += row.crps;
  }
  const Measures found = measures.measures();
  EXPECT_EQ(measures.seen(), 114);
  EXPECT_NEAR(measure_of(found, "mean_squared_error"), squared / 114, 1e-12);
  EXPECT_NEAR(measure_of(found, "mean_absolute_error"), absolute / 114, 1e-12);
  EXPECT_NEAR(measure_of(found, "nmse"), squared / around, 1e-12);
  EXPECT_NEAR(measure_of(found, "nrmse"), std::sqrt(squared / around), 1e-12);
  EXPECT_NEAR(measure_of(found, "crps"), crps / 114, 1e-12);
  EXPECT_NEAR(measure_of(found, "coverage"), within / 114, 1e-15);
}

TEST(ValueMetrics, merged_value_metrics_equal_the_whole) {
  ValueMetrics whole, one, other, empty;
  const std::vector<ValueRow> rows = value_rows(40, 5);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    see_row(whole, rows[r]);
    see_row(r < 13 ? one : other, rows[r]);
  }
  one.merge(other);
  one.merge(ValueMetrics());
  empty.merge(one);
  for (const auto& [name, value] : whole.measures()) {
    EXPECT_NEAR(measure_of(one.measures(), name), value, 1e-12) << name;
    EXPECT_EQ(measure_of(empty.measures(), name), measure_of(one.measures(), name)) << name;
  }
}

TEST(ValueMetrics, predicting_the_mean_has_relative_error_one) {
  ValueMetrics measures;
  const std::vector<double> average = {2.5};
  for (const double y : {1.0, 2.0, 3.0, 4.0}) measures.see(std::vector<double>{y}, {.mean = average});
  EXPECT_DOUBLE_EQ(measure_of(measures.measures(), "nmse"), 1);
  EXPECT_DOUBLE_EQ(measure_of(measures.measures(), "nrmse"), 1);
  EXPECT_DOUBLE_EQ(measure_of(measures.measures(), "mean_squared_error"), 1.25);
}

TEST(ValueMetrics, undefined_metrics_are_omitted) {
  ValueMetrics measures;
  EXPECT_TRUE(measures.measures().empty());
  const std::vector<double> y = {0.1}, m = {2};
  for (int i = 0; i < 3; ++i) measures.see(y, {.mean = m});
  for (const char* name : {"nmse", "nrmse", "crps", "coverage"})
    EXPECT_FALSE(has_measure(measures.measures(), name)) << name;
  EXPECT_TRUE(has_measure(measures.measures(), "mean_squared_error"));
}

TEST(ValueMetrics, rows_of_other_kinds_are_rejected) {
  const std::vector<double> one = {1}, two = {1, 2};
  ValueMetrics measures;
  EXPECT_THROW(measures.see(one, {.mean = two}), UsageError);
  EXPECT_THROW(measures.see(one, {.mean = one, .low = one}), UsageError);
  measures.see(one, {.mean = one});
  EXPECT_THROW(measures.see(two, {.mean = two}), UsageError);
  EXPECT_THROW(measures.see(one, {.mean = one, .crps = 1}), UsageError);
  EXPECT_THROW(measures.see(one, {.mean = one, .low = one, .high = one}), UsageError);
  ValueMetrics scored;
  scored.see(one, {.mean = one, .crps = 1});
  EXPECT_THROW(measures.merge(scored), UsageError);
}

}  // namespace
}  // namespace unfold
