/// Exported C files of networks that read numeric and text fields, compared with the engine's stepper.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "app/fields/field_model.h"
#include "app/train/train.h"
#include "interop/c/export_c.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::file_bytes;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// Two numeric columns, of which the second follows the first, bits, labels and words.
std::string some_table() {
  std::string text = "load,heat,alarm,state,word\n";
  Random random(3, "table");
  for (int i = 0; i < 120; ++i) {
    const double load = 40 + 3 * random.normal();
    const bool high = load > 41;
    text += std::to_string(load) + "," + std::to_string(load / 7 + random.normal()) + "," + (high ? "1" : "0") + "," +
            (high ? "hot" : "cold") + ",w" + std::to_string(random.below(40)) + "\n";
  }
  return text;
}

std::vector<std::vector<double>> some_numbers(std::size_t width) {
  std::vector<std::vector<double>> rows(300, std::vector<double>(width));
  Random random(4, "numbers");
  for (auto& row : rows)
    for (double& x : row) x = 41 + 5 * random.normal();
  return rows;
}

/// Returns the symbols of every text field read; -1 marks some missing values.
std::vector<std::vector<int>> some_read(const std::vector<Index>& sizes) {
  std::vector<std::vector<int>> rows(300, std::vector<int>(sizes.size()));
  Random random(5, "texts");
  for (auto& row : rows)
    for (std::size_t k = 0; k < sizes.size(); ++k)
      row[k] = static_cast<int>(random.below(static_cast<std::uint64_t>(sizes[k] + 1))) - 1;
  return rows;
}

/// The inputs of steps.
struct Rows {
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<int>> read;
};

Rows some_rows(const NetworkModel<float>& model) {
  std::size_t numbers = 0;
  std::vector<Index> sizes;
  for (const NetworkInput& input : model.network().inputs) {
    const FieldSpecification& field = model.data().field(parse_read(input.field).field);
    if (field.type == FieldSpecification::Type::symbols)
      sizes.push_back(field.size);
    else
      numbers += static_cast<std::size_t>(field.size);
  }
  return {some_numbers(numbers), some_read(sizes)};
}

struct Told {
  std::vector<double> first, second;  ///< log-probabilities or means; deviations
};

/// Returns the output of the stepper as defined in docs/export.md.
Told told_by_stepper(const NetworkModel<float>& model, const Rows& rows, bool looks_back) {
  Told told;
  Team team(1);
  Stepper<float> stepper(model.plan(), model.parameters(), team);
  const Head<float>& head = model.network().heads.front();
  const FieldSpecification& field = model.data().field(head.field);
  for (std::size_t t = 0; t < rows.numbers.size() + (looks_back ? 1 : 0); ++t) {
    std::size_t column = 0, text = 0;
    for (const NetworkInput& input : model.network().inputs) {
      const FieldSpecification& read = model.data().field(parse_read(input.field).field);
      if (read.type == FieldSpecification::Type::symbols) {
        const std::size_t k = text++;
        stepper.symbols(input.signal)[0] = looks_back && t == 0 ? kNoSymbol : rows.read[t - (looks_back ? 1 : 0)][k];
        continue;
      }
      for (Index i = 0; i < read.size; ++i, ++column) {
        const double x = looks_back && t == 0 ? read.mean.at(0) : rows.numbers[t - (looks_back ? 1 : 0)][column];
        stepper.input(input.signal)(0, i) = static_cast<float>((x - read.mean.at(0)) / read.deviation.at(0));
      }
    }
    stepper.step();
    const Matrix<const float> signal = stepper.value(head.signal);
    const std::vector<float> o(signal.row(0), signal.row(0) + signal.cols);
    if (field.type == FieldSpecification::Type::symbols) {
      double sum = 0;
      for (const float x : o) sum += std::exp(static_cast<double>(x));
      for (const float x : o) told.first.push_back(static_cast<double>(x) - std::log(sum));
    } else if (head.loss->name() == "bernoulli") {
      told.first.push_back(1 / (1 + std::exp(-static_cast<double>(o[0]))));
    } else {
      told.first.push_back(restored(field, 0, static_cast<double>(o[0])));
      if (head.loss->name() == "normal")
        told.second.push_back(field.deviation[0] * std::exp(10 * std::tanh(static_cast<double>(o[1]) / 10)));
    }
  }
  return told;
}

class ExportCFields : public ::testing::Test {
 protected:
  std::string train_on(const std::string& read, const std::string& predict, const std::string& model, Index ahead) {
    TrainRequest request{.out = folder_.path("run")};
    request.overwrite = true;
    request.settings.data = {folder_.write("table.csv", some_table())};
    request.settings.format = "table";
    request.settings.read = read;
    request.settings.predict = predict;
    if (ahead > 0) request.settings.ahead = ahead;
    request.settings.model = model;
    request.settings.steps = 30;
    request.run.threads = 1;
    request.given = {"format", "read", "predict", "model", "steps"};
    train(request);
    return folder_.path("run") + "/model.safetensors";
  }

  /// Compiles a driver that steps through the numbers; returns its output.
  Told run(const std::string& model, const Rows& rows, const std::string& checks, bool looks_back, bool deviations,
           bool labels) {
    std::string text;
    export_c({.model = model, .name = "m"}, [&](std::string_view piece) { text += piece; });
    folder_.write("m.c", text);
    const bool has_numbers = !rows.numbers.front().empty(), has_texts = !rows.read.front().empty();
    std::string given;
    for (std::size_t t = 0; t < rows.numbers.size(); ++t) {
      for (const double x : rows.numbers[t]) given.append(reinterpret_cast<const char*>(&x), sizeof x);
      for (const int x : rows.read[t]) given.append(reinterpret_cast<const char*>(&x), sizeof x);
    }
    folder_.write("given", given);
    const auto step = [&](const std::string& numbers, const std::string& texts, const std::string& to) {
      return "m_step(&s, " + (has_numbers ? numbers + ", " : "") + (has_texts ? texts + ", " : "") + to + ")";
    };
    const std::string give = labels ? "p" : deviations ? "&y, &d" : "&y";
    const std::string out =
        labels ? "{ int j; for (j = 0; j < M_SYMBOLS; ++j) { y = p[j]; fwrite(&y, sizeof y, 1, out); } }"
               : "fwrite(&y, sizeof y, 1, out);";
    std::string driver = "#include <stdio.h>\n#include \"m.c\"\nint main(void) {\n  double y = 0, d = 0;\n";
    if (labels) driver += "  m_real p[M_SYMBOLS];\n";
    if (has_numbers) driver += "  double x[M_INPUTS], bad[M_INPUTS] = {HUGE_VAL};\n";
    if (has_texts) driver += "  int r[M_TEXTS], none[M_TEXTS] = {-2};\n";
    driver +=
        "  FILE *in = fopen(\"given\", \"rb\"), *out = fopen(\"out\", \"wb\"), *also = fopen(\"also\", \"wb\");\n"
        "  m_state s;\n  m_init(&s);\n" +
        checks;
    if (looks_back)
      driver += "  " + step("NULL", "NULL", give) + ";\n  " + out + "\n  fwrite(&d, sizeof d, 1, also);\n";
    driver += "  while (";
    if (has_numbers) driver += "fread(x, sizeof x, 1, in) == 1";
    if (has_texts) driver += std::string(has_numbers ? " && " : "") + "fread(r, sizeof r, 1, in) == 1";
    driver += ") {\n";
    if (has_numbers) driver += "    if (" + step("bad", "r", give) + " != -1) return 1;\n";
    if (has_texts) driver += "    if (" + step("x", "none", give) + " != -1) return 1;\n";
    driver += "    if (" + step("x", "r", give) + " != 0) return 1;\n    " + out +
              "\n    fwrite(&d, sizeof d, 1, also);\n  }\n  fclose(in); fclose(out); fclose(also);\n  return 0;\n}\n";
    folder_.write("driver.c", driver);
    EXPECT_EQ(std::system(("cd " + folder_.path(".") +
                           " && gcc -std=c99 -Wall -Wextra -pedantic -Werror -O2 driver.c -o driver -lm && ./driver")
                              .c_str()),
              0);
    return {doubles_of("out"), deviations ? doubles_of("also") : std::vector<double>{}};
  }
  std::vector<double> doubles_of(const std::string& name) {
    const std::string bytes = file_bytes(folder_.path(name));
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  /// Every text of every field maps to its symbol, and all other texts to the symbol for unseen values.
  static std::string checks_of(const NetworkModel<float>& model) {
    std::string checks;
    int k = 0;
    for (const NetworkInput& input : model.network().inputs) {
      const FieldSpecification& field = model.data().field(parse_read(input.field).field);
      if (field.type != FieldSpecification::Type::symbols) continue;
      const auto check = [&](const std::string& text, Symbol symbol) {
        checks += "  if (m_find_read(" + std::to_string(k) + ", \"" + text + "\", " + std::to_string(text.size()) +
                  ") != " + std::to_string(symbol) + ") return 2;\n";
      };
      for (Symbol x = 0; x < field.size; ++x) check(std::string(field.alphabet->text(x)), x);
      for (const char* unseen : {"", "w", "w1x", "zzz", "<"}) check(unseen, field.alphabet->unknown());
      ++k;
    }
    return checks;
  }

  void compare(const std::string& read, const std::string& predict, const std::string& spec, Index ahead = 0) {
    SCOPED_TRACE(spec + " reads " + read + " and predicts " + predict);
    const std::string file = train_on(read, predict, spec, ahead);
    const auto loaded = load_model_file(file);
    const auto* model = loaded->as<NetworkModel<float>>();
    ASSERT_NE(model, nullptr);
    const bool looks_back = parse_read(model->network().inputs.front().field).back == 1;
    const Head<float>& head = model->network().heads.front();
    const bool labels = model->data().field(head.field).type == FieldSpecification::Type::symbols;
    const Rows rows = some_rows(*model);
    const Told expected = told_by_stepper(*model, rows, looks_back);
    const Told found = run(file, rows, checks_of(*model), looks_back, head.loss->name() == "normal", labels);
    ASSERT_EQ(found.first.size(), expected.first.size());
    ASSERT_EQ(found.second.size(), expected.second.size());
    const bool exact = !labels && head.loss->name() != "bernoulli";
    for (std::size_t i = 0; i < found.first.size(); ++i) {
      if (exact)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found.first[i]), std::bit_cast<std::uint64_t>(expected.first[i])) << i;
      else
        EXPECT_NEAR(found.first[i], expected.first[i], 1e-5) << i;
    }
    for (std::size_t i = 0; i < found.second.size(); ++i)
      EXPECT_NEAR(found.second[i], expected.second[i], 1e-5 * expected.second[i]) << i;
  }

  ScratchFolder folder_;
};

TEST_F(ExportCFields, exported_step_equals_the_stepper) {
  if (std::system("command -v gcc >/dev/null 2>&1") != 0) GTEST_SKIP() << "gcc is not here";
  compare("load", "load", "lstm:12", 1);
  compare("load,heat", "heat=gaussian", "gru:9,layers=2");
  compare("load,heat", "heat=normal", "gru:9");
  compare("load", "alarm", "lstm:8");
  compare("load,heat", "state", "rnn:10");
  compare("load", "load", "mingru:8,direct=3", 1);
  compare("state", "load=gaussian", "gru:9");
  compare("word,state", "alarm", "lstm:20");
  compare("load,word,heat,state", "alarm", "lstm:8,embedding=5");
  compare("word,word.suffix1", "state", "gru:12,layers=2");
  compare("word", "state", "gnn:20,edges=3");
  compare("word,state", "word", "gru:10", 1);
}

/// Names come from data and from model files: none may end a comment and start code.
TEST_F(ExportCFields, names_cannot_escape_their_comments) {
  if (std::system("command -v gcc >/dev/null 2>&1") != 0) GTEST_SKIP() << "gcc is not here";
  const std::string ends = "*/ int injected; /*";
  std::string table = "read" + ends + ",text" + ends + ",told" + ends + ",kind" + ends + "\n";
  for (int i = 0; i < 60; ++i)
    table += std::to_string(i % 7) + "," + (i % 3 == 0 ? "a" : "b") + "," + std::to_string(i % 5) + "," +
             (i % 2 == 0 ? "x" : "y") + "\n";
  const auto is_clean = [&](const std::string& predict, const std::string& model) {
    TrainRequest request{.out = folder_.path("run")};
    request.overwrite = true;
    request.settings.data = {folder_.write("table.csv", table)};
    request.settings.format = "table";
    request.settings.read = "read" + ends + ",text" + ends;
    request.settings.predict = predict;
    request.settings.model = model;
    request.settings.steps = 2;
    request.run.threads = 1;
    request.given = {"format", "read", "predict", "model", "steps"};
    train(request);
    std::string text;
    export_c({.model = folder_.path("run") + "/model.safetensors", .name = "m"},
             [&](std::string_view piece) { text += piece; });
    folder_.write("m.c", text);
    return std::system(("cd " + folder_.path(".") + " && gcc -std=c99 -Wall -Wextra -pedantic -Werror -c m.c && " +
                        "! nm m.o | grep -q injected")
                           .c_str()) == 0;
  };
  EXPECT_TRUE(is_clean("told" + ends + "=normal", "lstm:20"));
  EXPECT_TRUE(is_clean("told" + ends + "=gaussian", "gru:5,layers=2"));
  EXPECT_TRUE(is_clean("kind" + ends, "gru:5"));
}

TEST_F(ExportCFields, unsupported_exports_are_named_in_the_error) {
  const auto message = [&](const std::string& file) {
    return message_of<UsageError>([&] { export_c({.model = file}, [](std::string_view) {}); });
  };
  EXPECT_TRUE(
      contains(message(train_on("word.chars", "load", "gru:4", 0)), "it reads the character-level field word.chars"));
  EXPECT_TRUE(contains(message(train_on("load", "heat=mixture:2", "gru:4", 0)), "its loss is mixture"));
  EXPECT_TRUE(contains(message(train_on("load", "heat", "bigru:4", 0)), "a step can read only earlier positions"));
  EXPECT_TRUE(
      contains(message(train_on("load", "heat,alarm", "gru:4", 0)), "predict one field, and this one predicts 2"));
}

}  // namespace
}  // namespace unfold
