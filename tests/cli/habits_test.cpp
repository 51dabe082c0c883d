/// Typical user files through inspect, train and predict: none is silently misread.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <sstream>

#include "tests/cli/fields.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

std::string lines_of(int count, const std::function<std::string(int)>& line, const std::string& header = {}) {
  std::string text = header.empty() ? "" : header + "\n";
  for (int i = 1; i <= count; ++i) text += line(i) + "\n";
  return text;
}

/// The word "sentence", a number, and a label determined by the number.
std::string sentence(int i) { return fmt::format("sentence number {},y{}", i, i % 2); }

class HabitsTest : public FieldsTest {
 protected:
  static Arguments small() { return {"--model", "gru:4", "--steps", "10", "--threads", "1", "--overwrite"}; }

  nlohmann::json inspected(const std::string& file, const Arguments& more = {}) const {
    return only_object(output_of(Arguments{"inspect", file, "--json"} + more));
  }
  static nlohmann::json column(const nlohmann::json& schema, const std::string& name) {
    for (const nlohmann::json& found : schema.at("columns"))
      if (found.at("name") == name) return found;
    ADD_FAILURE() << "no column " << name;
    return {};
  }
  Finished trained(const std::string& file, const Arguments& more = {}) const {
    Finished finished = unfold_command(Arguments{"train", file, "--out", run_} + small() + more);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished;
  }
  std::string predicted(const std::string& file, const Arguments& more = {}) const {
    return output_of(Arguments{"predict", run_, file, "--quiet"} + more);
  }
  std::vector<std::string> read_fields() const {
    return only_object(output_of({"info", run_, "--json"}))["read"].get<std::vector<std::string>>();
  }
};

TEST_F(HabitsTest, ColumnsOfWindowsFilesAreNamedAsTheyAreRead) {
  const auto row = [](int i) { return fmt::format("{},5;{};{}", i % 9, i % 4, i % 2 == 0 ? "blau" : "rot"); };
  const std::string file = data("windows.csv", lines_of(40, row,
                                                        "Gr\xf6\xdf"
                                                        "e;Zahl;Farbe"));
  EXPECT_EQ(column(inspected(file, {"--predict", "Größe"}), "Größe")["role"], "predicted");
  EXPECT_EQ(column(inspected(file, {"--types", "Größe=category"}), "Größe")["type"], "category");
  trained(file, {"--types", "Größe=category", "--predict", "Farbe", "--rows", "independent"});
  EXPECT_THAT(read_fields(), testing::Contains("Größe"));
  expect_failure({"inspect", file, "--predict", "Grösse"}, 2, "the columns are Größe, Zahl, Farbe");
}

TEST_F(HabitsTest, FilesWithOnlyAHeaderAreRefused) {
  const std::string file = data("header.csv", "product,priority,category,hours\n");
  const char* const message =
      "its only row (product, priority, category, hours) seems to contain the names of the columns";
  expect_failure(Arguments{"train", file, "--out", run_} + small(), 3, message);
  expect_failure(Arguments{"train", file, "--out", run_, "--predict", "category"} + small(), 3, message);
  expect_failure({"forecast", file, "--season", "0"}, 2, "season must be between 1 and 10080");
  expect_failure({"forecast", file}, 3, message);
  EXPECT_THAT(inspected(file)["refused"].get<std::string>(), HasSubstr("add rows below it"));
  const std::string known = data("known.csv", "date,value\n");
  expect_failure(Arguments{"train", known, "--out", run_} + small(), 3, "only the names of the columns");
  expect_failure({"forecast", known}, 3, "only the names of the columns");
}

TEST_F(HabitsTest, MissingFieldsAreReportedWithTheFieldsOfTheFile) {
  const auto row = [](int i) { return fmt::format("{},{},y{}", i * 7 % 10, i * 3 % 11, i % 2); };
  trained(data("a.csv", lines_of(60, row, "width,height,label")), {"--rows", "independent"});
  const std::string upper = data("upper.csv", lines_of(10, row, "WIDTH,HEIGHT,LABEL"));
  for (const char* verb : {"predict", "score", "eval"})
    expect_failure({verb, run_, upper}, 3,
                   "has no field \"width\"; did you mean \"WIDTH\"? (fields: WIDTH, HEIGHT, LABEL)");
  const std::string narrow = data("narrow.csv", lines_of(
                                                    10, [](int i) { return std::to_string(i); }, "width"));
  const Finished predicted = unfold_command({"predict", run_, narrow});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(predicted.err, HasSubstr("column \"height\", which the model reads, is absent; its values are treated as "
                                       "missing"));
  const std::string empty = data("empty.csv", lines_of(
                                                  10, [](int i) { return fmt::format("{},", i); }, "width,height"));
  const auto labels = [&](const std::string& file) {
    std::string found;
    std::istringstream rows(output_of({"predict", run_, file}));
    for (std::string line; std::getline(rows, line);)
      found += line.substr(line.rfind('\t', line.rfind('\t') - 1)) + "\n";
    return found;
  };
  EXPECT_EQ(output_of({"predict", run_, narrow}).substr(0, 36), "width\tlabel.best\tlabel.probability\n1");
  EXPECT_EQ(labels(narrow), labels(empty));
  const std::string other = data("other.csv", lines_of(
                                                  10, [](int i) { return std::to_string(i); }, "volume"));
  expect_failure({"predict", run_, other}, 3, "the model reads this column: add it, with empty cells if");
}

TEST_F(HabitsTest, OutputFilesNamedCsvHaveCommas) {
  const auto row = [](int i) {
    return fmt::format("\"the printer, number {}\",{}", i, i % 2 ? "low" : "\"very \"\"high\"\"\"");
  };
  trained(data("a.csv", lines_of(40, row, "body,label")));
  const std::string more = data("more.csv", lines_of(3, row, "body,label")), out = folder_ / "out.csv";
  const auto printed = [&](const Arguments& more_options) {
    return output_of(Arguments{"predict", run_, more} + more_options);
  };
  const auto written = [&](const Arguments& more_options) {
    EXPECT_EQ(printed(Arguments{"--out", out} + more_options), "");
    return read_bytes(out);
  };
  const std::string tabs = printed({}), commas = printed({"--format", "csv"});
  EXPECT_THAT(tabs, testing::StartsWith("body\tlabel\tlabel.best\tlabel.probability\nthe printer, number 1\tlow\t"));
  EXPECT_THAT(commas, testing::StartsWith("body,label,label.best,label.probability\n\"the printer, number 1\",low,"));
  EXPECT_THAT(commas, HasSubstr("\n\"the printer, number 2\",\"very \"\"high\"\"\","));
  EXPECT_EQ(written({}), commas);
  EXPECT_EQ(written({"--format", "tsv"}), tabs);
  EXPECT_EQ(written({"--format", "jsonl"}), printed({"--format", "jsonl"}));
  EXPECT_EQ(written({"--json"}), printed({"--json"}));
  const auto value = [](int i) { return std::to_string(i % 5); };
  const Arguments forecast = {"forecast", data("series.csv", lines_of(40, value, "v")), "--horizon", "2", "--quiet"};
  EXPECT_EQ(output_of(forecast + Arguments{"--out", out}), "");
  EXPECT_EQ(read_bytes(out), output_of(forecast + Arguments{"--format", "csv"}));
  EXPECT_EQ(std::ranges::count(read_bytes(out), '\t'), 0);
}

TEST_F(HabitsTest, ATargetThatIsHardlyExplainedHasANote) {
  Random random(2, "prices");
  const auto table = [&](double noise, bool outliers, int count = 1500) {
    std::string text = "area,rooms,price\n";
    for (int i = 0; i < count; ++i) {
      const double area = random.normal(), rooms = random.normal();
      const double price = area + rooms + noise * random.normal();
      text += fmt::format("{},{},{}\n", area, rooms, outliers && i % 100 == 7 ? 1e5 + price : price);
    }
    return text;
  };
  const Arguments rows = {"--rows", "independent", "--steps", "200", "--batch", "16", "--optimizer", "adam:rate=0.02"};
  const std::string hardly = "note: the squared error of \"price\" is ";
  EXPECT_THAT(trained(data("known.csv", table(0.1, false)), rows).err, testing::Not(HasSubstr(hardly)));
  const std::string noise = trained(data("noise.csv", table(30, false)), rows).err;
  EXPECT_THAT(noise, HasSubstr(hardly));
  EXPECT_THAT(noise, HasSubstr("The median absolute error is "));
  EXPECT_THAT(noise, testing::Not(HasSubstr("values far from the others")));
  const Arguments valid = {"--valid", data("valid.csv", table(0.1, true, 200))};
  const std::string far = trained(data("far.csv", table(0.1, true)), rows + valid).err;
  EXPECT_THAT(far, HasSubstr(hardly));
  EXPECT_THAT(far, HasSubstr("values far from the others dominate it: 1 % of the values have "));
}

TEST_F(HabitsTest, ColumnsThatNewDataShouldHaveWithATextAreNamed) {
  const auto row = [](int i) {
    return fmt::format("the printer number {} in room {} is {},{},{}", i, i % 7, i % 2 ? "slow" : "broken",
                       i % 3 ? "low" : "high", i % 2 ? "speed" : "repair");
  };
  const std::string file = data("tickets.csv", lines_of(60, row, "body,priority,category"));
  const std::string note = "new data should have the columns body, priority;";
  const std::string told = trained(file).err;
  EXPECT_THAT(told, HasSubstr(note));
  EXPECT_THAT(told, HasSubstr("validation without column \"priority\": accuracy of \"category\" "));
  const auto body = [&](int i) { return row(i).substr(0, row(i).find(',')); };
  const Finished predicted = unfold_command({"predict", run_, data("new.csv", lines_of(10, body, "body"))});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(predicted.err, HasSubstr("column \"priority\", which the model reads, is absent; its values are treated "
                                       "as missing; the accuracy of \"category\" was "));
  EXPECT_EQ(predicted.out.substr(0, predicted.out.find('\n')), "body\tcategory.best\tcategory.probability");
  const auto no_text = [](int i) { return i % 3 ? "low" : "high"; };
  expect_failure({"predict", run_, data("none.csv", lines_of(10, no_text, "priority"))}, 3,
                 "the model reads this column: add it, with empty cells if its values are not known, or train a model "
                 "without it (train --read priority)");
  EXPECT_THAT(trained(file, {"--read", "body"}).err, testing::Not(HasSubstr(note)));
}

/// 600 different words, so that texts are read with parts of words by default.
std::string text_with_fields(int i) {
  return fmt::format("w{} w{} w{} w{},{},{}.5,y{},{}", i * 4 % 700, i * 4 % 700 + 1, i * 4 % 700 + 2, i * 4 % 700 + 3,
                     i % 3 == 0 ? "low" : "high", i % 7, i % 2, i % 5 + 1);
}

TEST_F(HabitsTest, TextsAreReadBesideOtherFields) {
  const std::string file = data("texts.csv", lines_of(300, text_with_fields, "text,priority,size,label,hours"));
  const Arguments few = {"train", file, "--out", run_, "--steps", "3", "--threads", "1", "--overwrite"};
  for (const char* target : {"label", "hours", "label,hours"}) {
    const Finished finished = unfold_command(few + Arguments{"--predict", target});
    EXPECT_EQ(finished.code, 0) << finished.err;
    const bool counts = std::string(target) == "label";
    EXPECT_EQ(finished.err.find("start=logistic") != std::string::npos, counts) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("bag:256,"));
  }
  const Finished stated = unfold_command(few + Arguments{"--predict", "label", "--read", "text,priority"});
  EXPECT_EQ(stated.code, 0) << stated.err;
  EXPECT_THAT(stated.err, HasSubstr("stands for text.plain,text.plain.run2,priority"));
  EXPECT_THAT(stated.err, HasSubstr("bag:256,start=logistic"));
}

TEST_F(HabitsTest, ANullAmongNumbersIsMissing) {
  const std::string file = data(
      "a.csv",
      lines_of(
          120, [](int i) { return i == 91 ? std::string("91,null") : fmt::format("{},{}.5", i, i % 7); }, "t,load"));
  const nlohmann::json load = column(inspected(file), "load");
  EXPECT_EQ(load["type"], "number");
  EXPECT_EQ(load["missing"], 1);
  EXPECT_EQ(load["role"], "predicted");
  trained(file);
  EXPECT_EQ(read_fields(), (std::vector<std::string>{"previous load"}));
  EXPECT_THAT(predicted(file), HasSubstr("\n91\tnull\t"));
}

TEST_F(HabitsTest, ThousandsSeparatorsAreRead) {
  const std::string file = data(
      "a.csv", lines_of(
                   120, [](int i) { return i == 91 ? std::string("91,\"1,200\"") : fmt::format("{},{}.5", i, i % 7); },
                   "t,load"));
  EXPECT_EQ(column(inspected(file), "load")["most"], 1200);
  trained(file);
  EXPECT_THAT(predicted(file), HasSubstr("\n91\t1,200\t"));
}

TEST_F(HabitsTest, DecimalCommasBetweenSemicolonsAreRead) {
  const auto row = [](int i) { return fmt::format("{};{},5", i, i % 7); };
  const std::string file = data("a.csv", lines_of(120, row, "t;load"));
  EXPECT_EQ(column(inspected(file), "load")["most"], 6.5);
  trained(file);
  EXPECT_THAT(predicted(file), HasSubstr("\n1\t1,5\t"));
  const std::string few = data("b.csv", "t;load\n1;1,5\n2;2,5\n");  // read like the training data
  EXPECT_THAT(predicted(few), HasSubstr("\n2\t2,5\t"));
}

TEST_F(HabitsTest, StatementsAboutATableReplaceThoseOfTheModel) {
  const auto rows = [](const char* mark) { return [mark](int i) { return fmt::format("{};{}{}5", i, i % 7, mark); }; };
  const std::string file = data("a.csv", lines_of(60, rows(","), "t;load"));
  trained(file);
  const std::string points = data("points.csv", "t;load\n" + lines_of(20, rows(".")));
  expect_failure({"predict", run_, points}, 3, "--decimal point");
  const auto means = [](const std::string& table) {
    std::string columns;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::size_t end = std::min(table.find('\n', i), table.size());
      const std::string line = table.substr(i, end - i);
      columns += line.substr(line.find('\t', line.find('\t') + 1)) + "\n";
      i = end;
    }
    return columns;
  };
  const std::string commas = data("commas.csv", lines_of(20, rows(","), "t;load"));
  EXPECT_EQ(means(predicted(points, {"--decimal", "point"})), means(predicted(commas)));
  const std::string odd = data("odd.csv", lines_of(20, rows(","), "# exported\nt;load") + "21;-999,0\n");
  EXPECT_THAT(predicted(odd, {"--comment", "#"}), HasSubstr("\n21\t-999,0\t"));
  output_of(Arguments{"eval", run_, points, "--decimal", "point"});
  output_of(Arguments{"score", run_, points, "--decimal", "point"});
}

TEST_F(HabitsTest, StatementsAboutATableAreForTables) {
  const std::string file = data("a.jsonl", lines_of(30, [](int i) {
                                  return fmt::format(R"({{"text": "word {} is {}", "label": "y{}"}})", i, i % 2, i % 2);
                                }));
  trained(file);
  expect_failure({"predict", run_, file, "--decimal", "comma"}, 2, "apply to tables");
}

TEST_F(HabitsTest, APanelHasASeriesPerGroup) {
  const std::string file =
      data("panel.csv",
           lines_of(
               60, [](int i) { return fmt::format("firm{},{},{}.5", (i - 1) / 20, 1950 + (i - 1) % 20, i % 7); },
               "firm,year,invest"));
  EXPECT_EQ(column(inspected(file), "firm")["role"], "group");
  trained(file);
  EXPECT_EQ(read_fields(), (std::vector<std::string>{"previous invest"}));
  const std::string forecast = output_of({"forecast", file, "--horizon", "1", "--quiet"});
  for (const char* firm : {"firm0", "firm1", "firm2"}) EXPECT_THAT(forecast, HasSubstr(std::string(firm) + "\t"));
}

TEST_F(HabitsTest, YearsAndQuartersAreOneTime) {
  const std::string file =
      data("macro.csv", lines_of(
                            40, [](int i) { return fmt::format("{},{},{}.5", 1959 + (i - 1) / 4, (i - 1) % 4 + 1, i); },
                            "year,quarter,gdp"));
  EXPECT_EQ(column(inspected(file), "year")["step"], "quarterly");
  trained(file);
  EXPECT_THAT(predicted(file), HasSubstr("\n1960\t1\t5.5\t"));  // as in the file
  EXPECT_THAT(output_of({"forecast", file, "--horizon", "2", "--quiet"}), HasSubstr("1969Q2"));
}

TEST_F(HabitsTest, RowsThatAreSeriesAreRefusedWithTheCommandThatWorks) {
  const std::string file =
      data("wide.csv", lines_of(
                           12, [](int i) { return fmt::format("land{},{}.5,{}.5,{}.5", i, i, i + 1, i + 2); },
                           "country,2018,2019,2020"));
  expect_failure(Arguments{"train", file, "--out", run_} + small(), 3, "unfold forecast " + file + " --horizon 1");
  EXPECT_THAT(output_of({"forecast", file, "--horizon", "1", "--quiet"}), HasSubstr("land12\t"));
}

TEST_F(HabitsTest, AnOddCellIsRefusedWithItsLine) {
  const std::string file = data(
      "odd.csv",
      lines_of(
          120, [](int i) { return i == 91 ? std::string("91,12.5*") : fmt::format("{},{}.5", i, i % 7); }, "t,load"));
  const nlohmann::json shown = inspected(file);
  EXPECT_EQ(column(shown, "load")["odd_cells"][0]["line"], 92);
  EXPECT_THAT(shown["refused"].get<std::string>(), HasSubstr("line 92: \"12.5*\" in column load is not a number"));
  expect_failure(Arguments{"train", file, "--out", run_} + small(), 3, "line 92: \"12.5*\" in column load");
  trained(file, {"--missing", "12.5*"});
  EXPECT_THAT(predicted(file), HasSubstr("\n91\t12.5*\t"));
}

TEST_F(HabitsTest, BadRowsAreSkippedAndCounted) {
  const auto row = [](int i) {
    return i == 7 ? std::string("7,1.5,x") : i == 91 ? std::string("91,12.5*") : fmt::format("{},{}.5", i, i % 7);
  };
  const std::string file = data("odd.csv", lines_of(120, row, "t,load"));
  const nlohmann::json shown = inspected(file);
  EXPECT_THAT(
      shown["refused"].get<std::string>(),
      HasSubstr("\n2 places cannot be read:\n  line 8: 3 cells instead of 2\n  line 92, column load: \"12.5*\""));
  expect_failure(Arguments{"train", file, "--out", run_} + small(), 3, "--bad-rows skip");
  trained(file, {"--bad-rows", "skip"});
  expect_failure({"predict", run_, file}, 3, "\n  2 places cannot be read:\n    line 8: 3 cells instead of 2\n");
  const std::string rows = predicted(file, {"--bad-rows", "skip"});
  EXPECT_THAT(rows, HasSubstr("\n90\t"));
  EXPECT_THAT(rows, Not(HasSubstr("\n91\t")));
  EXPECT_THAT(rows, Not(HasSubstr("\n7\t")));
}

TEST_F(HabitsTest, InspectionAcceptsTheOptionsThatDetermineTheSchema) {
  Random random(2, "rows");
  const auto row = [&](int) {
    return fmt::format("{},{},{}.5,{}", random.below(13), random.below(11), random.below(7), "ab"[random.below(2)]);
  };
  const std::string file = data("rows.csv", lines_of(60, row, "x,w,z,label"));
  EXPECT_EQ(column(inspected(file), "label")["role"], "predicted");
  const auto chosen = only_object(
      output_of({"inspect", file, "--json", "--predict", "z=normal", "--read", "x,w", "--rows", "independent"}));
  EXPECT_EQ(column(chosen, "z")["role"], "predicted");
  EXPECT_EQ(column(chosen, "label")["role"], "left out");
  EXPECT_EQ(column(chosen, "x")["role"], "read");
  EXPECT_EQ(chosen["independent_rows"], true);
  EXPECT_EQ(column(only_object(output_of({"inspect", file, "--json", "--predict", "x=softmax"})), "x")["type"],
            "category");
  expect_failure({"inspect", file, "--predict", "zz"}, 2, "--predict: there is no column \"zz\"");
  expect_failure({"inspect", file, "--read", "x,yy.hour"}, 2, "--read: there is no column");
  expect_failure(
      {"inspect", data("prose.txt", "A line of text.\nAnother one!\n"), "--format", "text", "--predict", "z"}, 2,
      "--predict applies to data with fields");
}

TEST_F(HabitsTest, SkewedPricesArePredictedOnALogScale) {
  Random random(1, "prices");
  const auto row = [&](int) {
    const auto rooms = static_cast<double>(random.below(6));
    return fmt::format("{},{:.1f},{:.0f}", rooms, random.normal(),
                       1000 * std::exp(0.9 * rooms + 0.2 * random.normal()));
  };
  const std::string file = data("prices.csv", lines_of(200, row, "rooms,noise,price"));
  const Finished finished = trained(file);
  EXPECT_THAT(finished.err,
              HasSubstr("price is positive and skewed, and its logarithm is predicted (loss log-normal)"));
  std::istringstream rows(predicted(file));
  std::string line;
  std::getline(rows, line);
  EXPECT_THAT(line, HasSubstr("price.mean\tprice.q10\tprice.q90"));
  while (std::getline(rows, line)) {
    std::istringstream cells(line);
    double rooms = 0, noise = 0, price = 0, mean = 0, low = 0, high = 0;
    cells >> rooms >> noise >> price >> mean >> low >> high;
    EXPECT_GT(low, 0);
    EXPECT_LT(low, high);
    EXPECT_GT(mean, low);
    EXPECT_LT(mean, 1e6);  // on the scale of the prices
  }
  const auto figures = only_object(output_of({"eval", run_, file, "--json"}))["heads"]["price"];
  EXPECT_TRUE(figures.contains("crps")) << figures;
  EXPECT_THAT(trained(file, {"--predict", "price=normal"}).err, Not(HasSubstr("log-normal")));
}

TEST_F(HabitsTest, TicketsAreIndependentRowsAndTheirLabelsAreChecked) {
  const auto row = [](int i) {
    const char* const texts[] = {"The printer does not print", "I cannot log in any more", "The invoice is too high"};
    return fmt::format("{},C{},2024-03-{:02} {:02}:{:02},{},{},{}.5", i, i * 7 % 25, 1 + i / 3, 8 + i % 3 * 4,
                       i * 17 % 60, texts[i % 3],
                       i % 3 == 0   ? "Technical"
                       : i % 3 == 1 ? "account"
                       : i % 2 == 0 ? "Billing"
                                    : "billing",
                       i % 9);
  };
  const std::string file = data("tickets.csv", lines_of(60, row, "id,customer,created,text,category,hours"));
  const nlohmann::json shown = inspected(file);
  EXPECT_EQ(shown["independent_rows"], true);
  EXPECT_THAT(shown["notes"].dump(), HasSubstr("\\\"Billing\\\" (10), \\\"billing\\\" (10)"));
  const Finished finished = trained(file);
  EXPECT_THAT(finished.err, HasSubstr("60 independent rows (--rows sequence reads them as one sequence)"));
  EXPECT_THAT(finished.err, HasSubstr("a class is spelled in several ways"));
  const Finished sequences = trained(file, {"--group", "customer", "--predict", "hours"});
  EXPECT_THAT(sequences.err, HasSubstr("grouped by customer"));
}

TEST_F(HabitsTest, AReservoirReadsShortSequences) {
  const std::string file = data("names.txt", lines_of(80, [](int i) { return fmt::format("name{}{}", i % 7, i); }));
  const Finished finished = unfold_command(
      {"train", file, "--lines", "--model", "esn:20", "--out", run_, "--threads", "1", "--format", "text"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("washout 0"));
}

TEST_F(HabitsTest, AMissingCellOfAShortColumnIsMissing) {
  const std::string file = data("b.csv", "load\n1\n2\nnull\n4\n5\n6\n7\n8\n");
  EXPECT_EQ(column(inspected(file), "load")["missing"], 1);
  trained(file, {"--predict", "load"});
  EXPECT_THAT(predicted(file), HasSubstr("\nnull\t"));
}

TEST_F(HabitsTest, CodesAndLongIntegersAreWrittenAsTheyStand) {
  const std::string file =
      data("c.csv", lines_of(
                        20, [](int i) { return fmt::format("0{},900719925474099{},{}", i, i % 10, i % 2 ? "a" : "b"); },
                        "zip,id,label"));
  EXPECT_EQ(column(inspected(file), "label")["role"], "predicted");
  EXPECT_EQ(column(inspected(file), "id")["role"], "left out");
  trained(file, {"--types", "zip=category"});
  const std::string rows = predicted(file);
  EXPECT_THAT(rows, HasSubstr("03\t9007199254740993\ta\t"));
  EXPECT_THAT(rows, HasSubstr("020\t9007199254740990\tb\t"));
}

TEST_F(HabitsTest, PredictedNumbersHaveTheDigitsThatTheyNeed) {
  const std::string file =
      data("d.csv", lines_of(
                        120, [](int i) { return fmt::format("1234{}.25", i % 7 + 100); }, "price"));
  trained(file);
  const std::string rows = output_of({"forecast", run_, file, "--ahead", "2", "--quiet"});
  EXPECT_THAT(rows, HasSubstr("\n1\t1\t12341"));
  EXPECT_THAT(rows, Not(HasSubstr("e+")));
}

TEST_F(HabitsTest, ANetworkOfSeriesIsSavedByForecastAndUsedAgain) {
  std::string text = "shop,day,sales\n";
  for (const int shop : {1, 2, 3})
    for (int t = 0; t < 160; ++t)
      text += fmt::format("s{},{},{}\n", shop, t, shop * 50 + (t % 8) * (t % 8) + (t * 5) % 3);
  const std::string file = data("f.csv", text), model = folder_ / "shops.safetensors";
  const Arguments columns{"--group", "shop", "--order", "day", "--quiet"};
  const Arguments forecast = Arguments{"forecast", file, "--horizon", "8"} + columns;
  const Arguments again = Arguments{"forecast", model, file} + columns;
  EXPECT_EQ(count_lines(output_of(forecast + Arguments{"--members", "segments:8", "--save", model})), 1 + 3 * 8);
  EXPECT_EQ(count_lines(output_of(again + Arguments{"--horizon", "5"})), 1 + 3 * 5);
  EXPECT_THAT(output_of({"info", model}), HasSubstr("segments:8,window="));
  expect_failure(again + Arguments{"--horizon", "9"}, 2, "was trained for 8 steps");
  expect_failure(again + Arguments{"--members", "naive"}, 2, "--members does not apply");
  expect_failure(forecast + Arguments{"--members", "naive", "--save", model}, 2, "no network is trained");
  expect_failure({"predict", model, file}, 2, "reads series");
}

TEST_F(HabitsTest, ARowWithATextIsAnExample) {
  for (const int count : {700, 300}) {
    const std::string file = data("e.csv", lines_of(count, sentence, "text,label"));
    EXPECT_EQ(column(inspected(file), "text")["type"], "text");
    trained(file);
    const std::string rows = predicted(file);
    EXPECT_THAT(rows, StartsWith("text\tlabel\tlabel.best\tlabel.probability\nsentence number 1\ty1\t"));
    EXPECT_EQ(count_lines(rows), count + 1);
  }
}

TEST_F(HabitsTest, ATextIsReadNextToADate) {
  const std::string file = data(
      "e.csv", lines_of(
                   300, [](int i) { return fmt::format("2024-{:02}-{:02},{}", i % 12 + 1, i % 28 + 1, sentence(i)); },
                   "when,text,label"));
  trained(file);
  EXPECT_THAT(predicted(file), HasSubstr("\n2024-02-02\tsentence number 1\ty1\t"));
}

TEST_F(HabitsTest, LettersWithoutBlanksAreReadAsCharacters) {
  const std::string letters = "ACGT";
  unsigned state = 1;
  const std::string file = data("dna.csv", lines_of(
                                               200,
                                               [&](int i) {
                                                 std::string text;
                                                 for (int k = 0; k < 12; ++k)
                                                   text += letters[(state = state * 1103515245U + 12345U) >> 30];
                                                 return text + (i % 2 ? ",exon" : ",intron");
                                               },
                                               "sequence,label"));
  EXPECT_EQ(column(inspected(file), "sequence")["unit"], "characters");
  trained(file);
  EXPECT_EQ(count_lines(predicted(file)), 201);
}

TEST_F(HabitsTest, ColumnsWithoutEntriesAreLeftOut) {
  const std::string word = "1\tsun\tsun\tNOUN\t_\t_\t0\troot\t_\t_\n\n1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n";
  std::string text;
  for (int i = 0; i < 20; ++i) text += word;
  const std::string file = data("bank.conllu", text);
  trained(file, {"--predict", "upos"});
  for (const std::string& field : read_fields()) EXPECT_NE(field, "feats");
  EXPECT_EQ(inspected(file)["format"], "columns");
}

TEST_F(HabitsTest, TaggersOfConlluReadOnlyTheWordsAndAcceptListsOfWords) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "1\tsun\tsun\tNOUN\t_\t_\t0\troot\t_\t_\n2\tgoes\tgo\tVERB\t_\t_\t1\tdep\t_\t_\n\n";
  const std::string file = data("bank.conllu", text);
  for (const char* model : {"crf", "bilstm:8"}) {
    trained(file, {"--model", model, "--overwrite"});
    for (const std::string& field : read_fields()) EXPECT_TRUE(field.starts_with("form")) << field;
    EXPECT_EQ(count_lines(predicted(data("words.txt", "sun\ngoes\n\nsun\n"))), 5);
  }
  const nlohmann::json report = inspected(file);
  std::map<std::string, std::string> roles;
  for (const nlohmann::json& field : report["fields"]) roles[field["name"]] = field["role"];
  EXPECT_EQ(roles["form"], "read");
  EXPECT_EQ(roles["upos"], "predicted");
  EXPECT_EQ(roles["lemma"], "left out (annotation; --read includes it)");
  EXPECT_EQ(roles["xpos"], "left out (no entries)");
}

TEST_F(HabitsTest, AFormatIsNotChangedByOneLine) {
  std::string conll;
  for (int i = 1; i <= 300; ++i) conll += i % 5 == 0 ? "\n" : i == 199 ? "word NN\n" : "word\tNN\n";
  expect_failure(Arguments{"train", data("tags.conll", conll), "--out", run_} + small(), 3,
                 "line 199: the line has 1 column");
  std::string jsonl;
  for (int i = 1; i <= 50; ++i) jsonl += i == 30 ? "{\"x\": [NaN]}\n" : "{\"x\": [1.5]}\n";
  const std::string rows = data("rows.jsonl", jsonl);
  expect_failure(Arguments{"train", rows, "--out", run_} + small(), 3, "line 30");
  expect_failure({"inspect", rows}, 3, "line 30");
  expect_failure(Arguments{"train", data("bad.trees", "(1 a)\n(1 (0 b)\n(1 c)\n"), "--out", run_} + small(), 3,
                 "line 2");
}

TEST_F(HabitsTest, TextThatResemblesATableOrALogIsReported) {
  std::string table = "a b\n", log;  // the first line has no commas
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("{},{},x\n", i, i * 2);
    log += fmt::format("2024-01-02 10:{:02}:00 server started job {}\n", i, i);
  }
  EXPECT_THAT(inspected(data("table.txt", table))["notes"].dump(), HasSubstr("line 1"));
  EXPECT_THAT(inspected(data("log.txt", log))["notes"].dump(), HasSubstr("begin with a time"));
  for (const char* name : {"server.log", "syslog", "server.log.1", "catalina.out"})
    EXPECT_EQ(inspected(data(name, log))["format"], "log") << name;
  std::string fields;
  for (int i = 0; i < 40; ++i) fields += fmt::format("ts=\"2024-01-02T10:{:02}:00Z\" level=info job={}\n", i, i);
  EXPECT_THAT(inspected(data("fields.txt", fields))["notes"].dump(), HasSubstr("begin with a time"));
  std::string mixed = log;
  for (int i = 0; i < 6; ++i) mixed += "{\"ts\":\"2024-01-02T10:00:00\",\"msg\":\"refresh\"}\n";
  EXPECT_EQ(inspected(data("messages", mixed))["format"], "log");
  EXPECT_EQ(inspected(data("diary", "at 10:00:00 we left\n" + std::string(200, '\n') + "and came home\n"))["format"],
            "text");
}

TEST_F(HabitsTest, BracketsOfThePennTreebankAreRead) {
  const std::string file =
      data("wsj.mrg",
           "( (S (NP a) (VP b)))\n\n( (S\n    (NP (DT the)\n      (NN cat))\n    (VP sat)) )\n( (S (NP c) (VP d)))\n");
  const nlohmann::json shown = inspected(file);
  EXPECT_EQ(shown["format"], "trees");
  EXPECT_EQ(shown["examples"], 3);
  EXPECT_EQ(shown["positions"], 3 + 5 + 3);
  const Finished finished = unfold_command(
      {"train", file, "--out", run_, "--model", "tree-lstm:4", "--steps", "5", "--split", "100/0/0", "--overwrite"});
  EXPECT_EQ(finished.code, 0) << finished.err;
}

TEST_F(HabitsTest, RowsOfAGroupNeedNotBeNeighbors) {
  const std::string file =
      data("stations.csv", lines_of(
                               40, [](int i) { return fmt::format("{},{}", i % 2 ? "A" : "B", i); }, "station,load"));
  for (const char* option : {"--sequences", "--group"}) {
    trained(file, {option, "station", "--predict", "load", "--read", "load"});
    const std::string rows = predicted(file);
    EXPECT_THAT(rows, HasSubstr("\nA\t1\t"));
    EXPECT_LT(rows.find("\nA\t39\t"), rows.find("\nB\t2\t"));
  }
}

TEST_F(HabitsTest, YearsAreNamesOfColumns) {
  const std::string file =
      data("years.csv",
           lines_of(
               30, [](int i) { return fmt::format("land{},{}.5,{}.25", i % 3, i, i * 2); }, "country,2019,2020"));
  EXPECT_EQ(column(inspected(file), "2020")["type"], "number");
  trained(file, {"--predict", "2020"});
  EXPECT_THAT(predicted(file), StartsWith("country\t2019\t2020\t2020.mean"));
}

TEST_F(HabitsTest, PairsKeepTheirBlanks) {
  std::string pairs;
  for (int i = 0; i < 30; ++i) pairs += "x\ta b\ny\tb a\nz\ta a b\n";
  const std::string file = data("w.pairs", pairs);
  const Finished finished = unfold_command(
      {"train", file, "--out", run_, "--symbols", "chars,words", "--steps", "10", "--model", "gru:4", "--overwrite"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(predicted(file), HasSubstr("\nx\ta b\t"));
}

TEST_F(HabitsTest, TestMetricsAreShownWithoutValidation) {
  const std::string file = data("e.csv", lines_of(60, sentence, "text,label"));
  EXPECT_THAT(trained(file, {"--test", file, "--split", "100/0/0"}).out, HasSubstr("Test:\n"));
}

TEST_F(HabitsTest, EventsArePredictedFromTheirPast) {
  const std::string file =
      data("clicks.csv", lines_of(
                             120,
                             [](int i) {
                               const std::vector<std::string> pages = {"home", "list", "item"};
                               return fmt::format("u{},2024-01-02 10:{:02}:{:02},{}", i % 4, i / 60, i % 60,
                                                  pages[static_cast<std::size_t>(i / 4) % 3]);
                             },
                             "user_id,time,page"));
  const nlohmann::json shown = inspected(file);
  EXPECT_EQ(column(shown, "user_id")["role"], "group");
  EXPECT_EQ(column(shown, "time")["role"], "order");
  EXPECT_EQ(column(shown, "page")["role"], "predicted");
  trained(file);
  const std::vector<std::string> read = read_fields();
  EXPECT_NE(std::ranges::find(read, "previous page"), read.end());
  EXPECT_THAT(predicted(file), HasSubstr("\nu1\t2024-01-02 10:00:01\t"));
}

TEST_F(HabitsTest, AllMeasurementsOfSensorsAreForecast) {
  const auto row = [](int i) {
    const double angle = i * 0.2618;
    return fmt::format("2024-03-{:02} {:02}:00,{:.2f},{:.2f},{:.1f}", 1 + i / 24, i % 24, 20 + 3 * std::sin(angle),
                       50 + 5 * std::cos(angle) + i % 3, 1000 + (i * 7) % 11 * 0.5);
  };
  const std::string file = data("sensors.csv", lines_of(300, row, "time,temperature,humidity,pressure"));
  EXPECT_THAT(trained(file).err,
              HasSubstr("predicted: temperature (number), humidity (number), pressure (number); ordered by time"));
  const std::string ahead = output_of({"predict", run_, file, "--ahead", "24"});
  EXPECT_EQ(count_lines(ahead), 25);
  EXPECT_THAT(ahead, HasSubstr("temperature.mean\ttemperature.q10\ttemperature.q90\thumidity.mean"));
  EXPECT_THAT(ahead.substr(0, ahead.find('\n')), HasSubstr("pressure.q90"));
  const std::string forecast = output_of({"forecast", file, "--horizon", "3", "--members", "naive"});
  EXPECT_THAT(forecast.substr(0, forecast.find('\n')),
              testing::AllOf(HasSubstr("temperature.mean"), HasSubstr("humidity.mean"), HasSubstr("pressure.mean")));
}

TEST_F(HabitsTest, OtherNamesOfCommandsAreUnderstood) {
  expect_failure({"evaluate", run_, run_}, 2,
                 "unknown command \"evaluate\"; see `unfold --help`; did you mean `unfold eval`");
  expect_failure({"detect", run_}, 2, "did you mean `unfold score`");
  expect_failure({"plot", run_}, 2, "did you mean `unfold info RUN --plot FILE.svg`");
  const std::string file =
      data("a.csv", lines_of(
                        30, [](int i) { return fmt::format("{},{}", i % 7 + 0.5, i % 2); }, "x,label"));
  expect_failure({"check", file}, 2, "a.csv is a file; `unfold inspect ");
  trained(file, {"--rows", "independent"});
  expect_failure({"check", run_}, 2, "is a trained model; `unfold info ");
  expect_failure({"inspect", run_}, 2, "is a trained model; inspect describes data, and `unfold info ");
  expect_failure({"info", file}, 4, "not a model file, but a text; the model is named before the data");
  expect_failure({"predict", file, run_}, 4, "the model is named before the data");
}

TEST_F(HabitsTest, DatesBecomeCalendarFields) {
  const std::string file =
      data("daily.csv", lines_of(
                            90,
                            [](int i) {
                              const int day = (i - 1) % 30 + 1, month = (i - 1) / 30;
                              const std::vector<int> months = {4, 6, 9};
                              return fmt::format("2024-{:02}-{:02},{}.5,{}", months[static_cast<std::size_t>(month)],
                                                 day, i % 7, i % 2 ? "yes" : "no");
                            },
                            "date,load,promotion"));
  trained(file, {"--predict", "load"});
  const std::vector<std::string> read = read_fields();
  EXPECT_NE(std::ranges::find(read, "date.weekday"), read.end());
  EXPECT_NE(std::ranges::find(read, "previous promotion"), read.end());  // never dropped in silence
  EXPECT_THAT(predicted(file), StartsWith("date\tload\tpromotion\tload.mean\t"));
  trained(file, {"--predict", "load", "--read", "date,load"});
  EXPECT_EQ(count_lines(output_of({"forecast", run_, file, "--ahead", "3", "--quiet"})), 4);
}

TEST_F(HabitsTest, AModelDoesNotReadWhatItPredicts) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += fmt::format("w{} T{}\n{}", i % 7, i % 3, i % 5 == 4 ? "\n" : "");
  const std::string file = data("words.conll", words);
  for (const char* read : {"2.lower", "1,2.suffix1", "1,2[0]", "1,2[1]"})
    expect_failure(
        {"train", file, "--out", run_, "--predict", "2", "--read", read, "--model", "lstm:4", "--steps", "2"}, 2,
        " reveals ");
  expect_failure(
      {"train", file, "--out", run_, "--predict", "2", "--read", "1,2[-1]", "--model", "bilstm:4", "--steps", "2"}, 2,
      "reads sequences from both ends");
}

TEST_F(HabitsTest, LossesRefuseNumbersOutsideTheirDomain) {
  const std::string file = data("n.csv", lines_of(
                                             40, [](int i) { return fmt::format("{}.5", i); }, "load"));
  expect_failure(Arguments{"train", file, "--out", run_, "--predict", "load=poisson"} + small(), 3,
                 "line 2: field load is 1.5");
  expect_failure(Arguments{"train", file, "--out", run_, "--predict", "load=negative-binomial"} + small(), 3,
                 "line 2: field load is 1.5, but the loss negative-binomial predicts integers from 0");
  expect_failure(Arguments{"train", file, "--out", run_, "--predict", "load=bernoulli"} + small(), 3,
                 "predicts numbers from 0 to 1");
}

TEST_F(HabitsTest, WholeNumbersAreClassesIfTheColumnNameSaysSo) {
  const std::string file =
      data("flowers.csv", lines_of(
                              60, [](int i) { return fmt::format("{}.5,{}", i % 10, i % 3 + 1); }, "width,class"));
  EXPECT_EQ(column(inspected(file), "class")["type"], "category");
  trained(file);
  const auto rows = objects_in(predicted(file, {"--format", "jsonl"}));
  EXPECT_TRUE(rows[0]["class"][0].is_number_integer());
  EXPECT_TRUE(rows[0]["class.best"][0].is_number_integer());
  const std::string other =
      data("stars.csv", lines_of(
                            60, [](int i) { return fmt::format("{}.5,{}", i % 10, i % 3 + 1); }, "width,stars"));
  trained(other, {"--predict", "stars=softmax", "--read", "width"});
  EXPECT_THAT(predicted(other), StartsWith("width\tstars\tstars.best\t"));
}

TEST_F(HabitsTest, AddedColumnsDoNotReplaceThoseOfTheData) {
  const std::string file = data("e.csv", lines_of(
                                             60, [](int i) { return sentence(i) + ",x"; }, "text,label,label.best"));
  trained(file);
  EXPECT_THAT(predicted(file), StartsWith("text\tlabel\tlabel.best\tlabel.best.2\tlabel.probability\n"));
}

TEST_F(HabitsTest, AnOptionDoesNotChangeTheKindOfData) {
  const std::string file = data("a.csv", lines_of(
                                             60, [](int i) { return fmt::format("{},{}.5", i, i % 7); }, "t,load"));
  for (const Arguments& option : {Arguments{"--restarts", "2"},
                                  {"--activity-penalty", "0.1"},
                                  {"--symbols", "words"},
                                  {"--lines"},
                                  {"--model", "ngram:3"}})
    EXPECT_EQ(unfold_command(Arguments{"train", file, "--out", run_, "--steps", "2"} + option).code, 2) << option[0];
}

TEST_F(HabitsTest, NoClassIsLostFromTraining) {
  const std::string file =
      data("z.csv", lines_of(
                        60,
                        [](int i) {
                          return fmt::format("sentence number {},{}", i, i == 60 ? "z" : i % 2 ? "a" : "b");
                        },
                        "text,label"));
  trained(file);
  EXPECT_THAT(predicted(file, {"--probabilities"}),
              StartsWith("text\tlabel\tlabel.best\tlabel.probability\tlabel.a\tlabel.b\tlabel.z\n"));
}

TEST_F(HabitsTest, EscapesOfATerminalDoNotReachIt) {
  const std::string file =
      data("color.csv", lines_of(
                            30, [](int i) { return fmt::format("\x1b[31mred{}\x1b[0m,{}.5", i % 3, i); }, "name,load"));
  EXPECT_THAT(output_of({"inspect", file}), Not(HasSubstr("\x1b")));
  trained(file, {"--predict", "load"});
}

TEST_F(HabitsTest, JsonLinesWithoutListsAreRowsOfATable) {
  const auto row = [](int i) {
    return fmt::format("{{\"id\": 900719925474{}, \"color\": \"{}\", \"size\": {}.5, \"sold\": {}, \"label\": {}}}",
                       7099300 + i, i % 3 ? "red" : "blue", i % 7, i % 2 ? "true" : "false", i % 2);
  };
  const std::string file = data("rows.jsonl", lines_of(60, row));
  const nlohmann::json schema = inspected(file);
  EXPECT_EQ(schema["format"], "records");
  EXPECT_EQ(column(schema, "id")["role"], "left out");
  EXPECT_EQ(column(schema, "label")["type"], "category");
  EXPECT_EQ(column(schema, "label")["role"], "predicted");
  trained(file);
  const auto rows = objects_in(predicted(file, {"--format", "jsonl"}));
  ASSERT_EQ(rows.size(), 60U);
  EXPECT_EQ(rows[1]["id"], 9007199254747099302);
  EXPECT_EQ(rows[1]["sold"], false);
  EXPECT_EQ(rows[1]["size"], 2.5);
  EXPECT_EQ(rows[1]["label"], 0);
  EXPECT_TRUE(rows[1]["label.best"].is_number_integer());
  const auto followed = objects_in(predicted(file, {"--format", "jsonl", "--follow"}));
  ASSERT_EQ(followed.size(), 60U);
  EXPECT_EQ(followed[40], rows[40]);
  expect_failure(Arguments{"train", data("odd.jsonl", lines_of(60, row) + "{\"size\": [1]}\n"), "--format", "records",
                           "--out", run_} +
                     small(),
                 3, "line 61: \"size\" is a list, but a row has strings");
}

TEST_F(HabitsTest, WholeNumbersOfJsonLinesAreClassesAndTextsAreWrittenAsTheyStand) {
  const std::string file = data("tickets.jsonl", lines_of(60, [](int i) {
                                  return fmt::format("{{\"text\": \"word{}  is here\", \"label\": {}}}", i % 3, i % 3);
                                }));
  trained(file);
  const auto rows = objects_in(predicted(file, {"--format", "jsonl"}));
  EXPECT_EQ(rows[0]["text"], "word1  is here");
  EXPECT_EQ(rows[0]["label"], 1);
  EXPECT_TRUE(rows[0]["label.best"].is_number_integer());
  const std::string stars = data("stars.jsonl", lines_of(60, [](int i) {
                                   return fmt::format("{{\"text\": \"word{} is here\", \"stars\": {}}}", i % 3, i % 3);
                                 }));
  trained(stars, {"--predict", "stars=softmax"});
  EXPECT_TRUE(objects_in(predicted(stars, {"--format", "jsonl"}))[0]["stars.best"].is_number_integer());
}

TEST_F(HabitsTest, NumbersMayHaveAUnit) {
  const auto row = [](const char* unit) {
    return [unit](int i) { return fmt::format("{}{}.50,{}.5", unit, i % 9, i % 9); };
  };
  const std::string file = data("prices.csv", lines_of(60, row("$"), "price,load"));
  EXPECT_EQ(column(inspected(file), "price")["unit"], "$");
  trained(file, {"--predict", "load", "--read", "price"});
  EXPECT_THAT(predicted(file), HasSubstr("\n$1.50\t1.5\t"));
  const std::string euros = data("euros.csv", lines_of(60, row("€"), "price,load"));
  expect_failure({"predict", run_, euros}, 3, "line 2: \"€1.50\" in column price");
}

TEST_F(HabitsTest, LabelsThatAlternateAreInEveryPart) {
  const std::string file = data("e.csv", lines_of(300, sentence, "text,label"));
  trained(file);
  const nlohmann::json results = only_object(output_of(Arguments{"train", file, "--out", run_, "--json"} + small()));
  for (const nlohmann::json& baseline : results["baselines"]) {
    if (baseline["name"] != "majority class") continue;
    EXPECT_EQ(baseline["value"], 0.5);
  }
  EXPECT_FALSE(results["baselines"].empty());
}

TEST_F(HabitsTest, CountsOfRowsAreValuesWhereThereIsNothingElse) {
  const std::string file =
      data("st.csv", lines_of(
                         60, [](int i) { return fmt::format("{},{}", i % 2 ? "A" : "B", i); }, "station,v"));
  trained(file, {"--sequences", "station"});
  EXPECT_EQ(read_fields(), (std::vector<std::string>{"previous v"}));
}

/// Flowers of three kinds, sorted by kind, with a missing cell.
std::string flowers(int count) {
  Random random(1, "flowers");
  std::string text = "length,width,color,species\n";
  for (int i = 0; i < count; ++i) {
    const int kind = 3 * i / count;
    const double wave = 0.01 * static_cast<double>(random.below(100));
    const char* color = random.below(5) < 2 ? "white" : "red";
    text += fmt::format("{:.2f},{},{},{}\n", 2.0 * kind + wave, i == 5 ? "" : fmt::format("{:.2f}", 5.0 - kind + wave),
                        color, std::array{"setosa", "versicolor", "virginica"}[static_cast<std::size_t>(kind)]);
  }
  return text;
}

TEST_F(HabitsTest, RowsWithoutAnOrderAreExamples) {
  const std::string file = data("flowers.csv", flowers(90));
  EXPECT_EQ(inspected(file)["independent_rows"], true);
  const Finished training = unfold_command(Arguments{"train", file, "--out", run_, "--threads", "1"});
  ASSERT_EQ(training.code, 0) << training.err;
  EXPECT_THAT(training.err, HasSubstr("90 independent rows"));
  const nlohmann::json figures = only_object(output_of({"eval", run_, file, "--json"}));
  EXPECT_EQ(figures["examples"], 90);
  EXPECT_GT(figures["heads"]["species"]["accuracy"], 0.95);
  // Rows are predicted in any order, and without their labels.
  std::string shuffled = "color,width,length\n";
  for (const char* row : {"red,3.2,4.2", "white,5.1,0.3", "red,4.3,2.1"}) shuffled += std::string(row) + "\n";
  const std::string answers = predicted(data("new.csv", shuffled));
  EXPECT_THAT(answers, HasSubstr("red\t3.2\t4.2\tvirginica"));
  EXPECT_THAT(answers, HasSubstr("white\t5.1\t0.3\tsetosa"));
  // A stream reads rows alike.
  const Finished streamed = unfold_command({"predict", run_, "-", "--follow", "--quiet"}, {.input = shuffled});
  EXPECT_THAT(streamed.out, HasSubstr("white\t5.1\t0.3\tsetosa"));
}

TEST_F(HabitsTest, RowsThatFollowEachOtherStayASequence) {
  const std::string file = data("flowers.csv", flowers(90));
  EXPECT_EQ(inspected(file, {"--rows", "sequence"})["independent_rows"], false);
  trained(file, {"--rows", "sequence"});
  EXPECT_EQ(only_object(output_of({"eval", run_, file, "--json"}))["examples"], 1);
  // A model that relates rows needs a sequence.
  const Finished tagger = trained(file, {"--model", "crf", "--read", "length,width"});
  EXPECT_THAT(tagger.err, Not(HasSubstr("independent")));
}

}  // namespace
}  // namespace unfold::test
