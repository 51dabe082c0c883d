/// Models as C files: compiled by the compilers of this machine, at several levels, and compared with the library bit
/// by bit.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "app/train/train.h"
#include "interop/c/export_c.h"
#include "numerics/functions.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/model/network/language_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::file_bytes;
using testing_support::message_of;
using testing_support::ScratchFolder;

const std::string kLetters = "abc ?\"\\\n*/z";

/// Every cell at least once, with sizes that do not fill a vector; layers around cells; and sizes of several tiles,
/// with and without a remainder, below and above the first-level cache.
const std::vector<std::string> kModels = {"rnn:20",
                                          "rnn:21,activation=relu,layers=3",
                                          "rnn:18,delays=1+2+5",
                                          "rnn:15,leak=learned",
                                          "rnn:15,leak=fixed",
                                          "lstm:20",
                                          "lstm:70,layers=2,trained-initial=true",
                                          "lstm:33,norm=layer",
                                          "lstm:12,embedding=7,dropout=0.5",
                                          "lstm:17,gates=hard",
                                          "gru:20",
                                          "gru:21,reset=after,gates=hard",
                                          "gru:17,reset=after,layers=2,direct=1",
                                          "gru:16,norm=layer",
                                          "gru:20,gated-state=true",
                                          "mrnn:20,factors=35",
                                          "tensor-rnn:13",
                                          "urnn:16",
                                          "mingru:20",
                                          "minlstm:19,layers=2",
                                          "sru:20,layers=2",
                                          "qrnn:20,layers=2",
                                          "indrnn:20",
                                          "lru:10,layers=2",
                                          "lru:11,output=linear",
                                          "mingru:17,layers=3,residual=plain",
                                          "gru:14,embedding=14,layers=2,residual=norm",
                                          "slstm:20",
                                          "slstm:9,forget=exponential",
                                          "rhn:15",
                                          "mogrifier:20",
                                          "esn:40,readout=trained",
                                          "esn:30,readout=trained,leak=0.3,matrix=orthogonal",
                                          "gnn:20,edges=3",
                                          "glnn:25,edges=4",
                                          "glnn:25,edges=4,activation=relu",
                                          "sparse-rnn:30,edges=3",
                                          "bag:12",
                                          "rnn:137",
                                          "lstm:64",
                                          "gru:72",
                                          "gru:40,reset=after"};

std::vector<Symbol> some_symbols(Index count, Index alphabet) {
  Random random(5, "symbols");
  std::vector<Symbol> symbols;
  for (Index i = 0; i < count; ++i)
    symbols.push_back(static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet))));
  return symbols;
}

template <class T>
void randomize(Parameters<T>& parameters) {
  Random random(9, "parameters");
  for (T& p : parameters.flat()) p = static_cast<T>(1.2 * random.uniform() - 0.6);
}

/// The log-probabilities of the library before and after each symbol, as bytes.
std::string expected_bytes(const SymbolModel& model, const std::vector<Symbol>& symbols, bool wide) {
  const auto predictor = model.predictor();
  std::string bytes;
  for (std::size_t i = 0; i <= symbols.size(); ++i) {
    for (Symbol x = 0; x < model.alphabet().size(); ++x) {
      const double exact = -predictor->surprisal(x);
      const auto rounded = static_cast<float>(exact);
      if (wide)
        bytes.append(reinterpret_cast<const char*>(&exact), sizeof exact);
      else
        bytes.append(reinterpret_cast<const char*>(&rounded), sizeof rounded);
    }
    if (i < symbols.size()) predictor->observe(symbols[i]);
  }
  return bytes;
}

/// Returns whether code compiled for these instruction sets can run on this processor.
bool has_vectors_of_32_bytes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

class ExportC : public ::testing::Test {
 protected:
  /// Writes the model as C, to be included in the driver.
  void add(const SymbolModel& model, const std::string& what, bool wide) {
    const std::string name = "m" + std::to_string(models_.size());
    model.save(folder_.path(name));
    std::string text;
    export_c({.model = folder_.path(name), .name = name}, [&](std::string_view piece) { text += piece; });
    folder_.write(name + ".c", text);
    models_.push_back({what, expected_bytes(model, symbols_, wide)});
  }
  template <class T>
  void add_random(const std::string& spec) {
    LanguageModel<T> model(spec, Alphabet::chars_of(kLetters));
    randomize(model.parameters());
    add(model, spec, sizeof(T) == 8);
  }

  /// A program that runs these models.
  std::string driver(const std::vector<std::size_t>& models) const {
    std::string text = "#include <stdio.h>\n", calls;
    for (const std::size_t i : models) {
      std::string part =
          "#include \"NAME.c\"\n"
          "static void run_NAME(const int *symbols, int count) {\n"
          "  NAME_state state, copy;\n"
          "  NAME_real p[M_SYMBOLS];\n"
          "  FILE *out = fopen(\"NAME.out\", \"wb\");\n"
          "  int i;\n"
          "  NAME_init(&state);\n"
          "  NAME_step(&state, M_NO_SYMBOL, p);\n"
          "  fwrite(p, sizeof p, 1, out);\n"
          "  for (i = 0; i < count; ++i) {\n"
          "    copy = state;\n"
          "    NAME_step(&state, (symbols[i] + 1) % M_SYMBOLS, NULL);\n"
          "    if (NAME_step(&copy, M_SYMBOLS, p) != -1 || NAME_step(&copy, -2, p) != -1) return;\n"
          "    state = copy;\n"
          "    if (NAME_step(&state, symbols[i], p) != 0) return;\n"
          "    if (NAME_find(NAME_texts[symbols[i]], NAME_text_sizes[symbols[i]]) != symbols[i]) return;\n"
          "    fwrite(p, sizeof p, 1, out);\n"
          "  }\n"
          "  fclose(out);\n"
          "}\n";
      const std::string name = "m" + std::to_string(i), capitals = "M" + std::to_string(i);
      for (const auto& [from, to] :
           {std::pair{std::string("NAME"), name}, {"M_SYM", capitals + "_SYM"}, {"M_NO", capitals + "_NO"}})
        for (std::size_t p; (p = part.find(from)) != std::string::npos;) part.replace(p, from.size(), to);
      text += part;
      calls += "  run_" + name + "(symbols, count);\n";
    }
    text += "static const int symbols[] = {";
    for (const Symbol x : symbols_) text += std::to_string(x) + ",";
    return text + "0};\nint main(void) {\n  const int count = " + std::to_string(symbols_.size()) + ";\n" + calls +
           "  return 0;\n}\n";
  }

  /// The models with an even or odd number, or all.
  enum class Part { even, odd, all };
  std::vector<std::size_t> numbers_of(Part part) const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = part == Part::odd ? 1 : 0; i < models_.size(); i += part == Part::all ? 1 : 2)
      numbers.push_back(i);
    return numbers;
  }

  void compare(const std::string& compiler, const std::string& flags, Part part = Part::all) {
    const std::vector<std::size_t> models = numbers_of(part);
    if (models.empty() || !runs("command -v " + compiler)) return;
    SCOPED_TRACE(compiler + " " + flags);
    folder_.write("driver.c", driver(models));
    const std::string here = "cd " + folder_.path(".") + " && ";
    ASSERT_EQ(std::system((here + compiler + " -Wall -Wextra -Werror " + flags + " driver.c -o driver -lm").c_str()),
              0);
    ASSERT_TRUE(runs(here + "rm -f *.out && ./driver"));
    ++compared_;
    for (const std::size_t i : models)
      EXPECT_TRUE(file_bytes(folder_.path("m" + std::to_string(i) + ".out")) == models_[i].expected)
          << models_[i].what << " as m" << i;
  }
  /// Every file alone.
  void compile_alone(const std::string& compiler, const std::string& flags = "") {
    if (!runs("command -v " + compiler)) return;
    for (std::size_t i = 0; i < models_.size(); ++i)
      expect_compiles(compiler, flags, "m" + std::to_string(i) + ".c", models_[i].what);
  }
  /// All files as one, and the first alone.
  void compile_together(const std::string& compiler) {
    if (!runs("command -v " + compiler)) return;
    std::string all;
    for (std::size_t i = 0; i < models_.size(); ++i) all += "#include \"m" + std::to_string(i) + ".c\"\n";
    folder_.write("all.c", all);
    expect_compiles(compiler, "", "all.c", "all models");
    expect_compiles(compiler, "", "m0.c", models_[0].what);
  }
  /// Compiles as C99 and as C++11 without warnings. C is compiled to code if `code`; C++ is only checked.
  void expect_compiles(const std::string& compiler, const std::string& flags, const std::string& file,
                       const std::string& what, bool code = true) {
    for (const std::string dialect : {"-x c -std=c99", "-x c++ -std=c++11"}) {
      const char* output = code && dialect == "-x c -std=c99" ? "-O1 -c" : "-fsyntax-only";
      EXPECT_EQ(std::system(fmt::format("cd {} && {} {} -pedantic -Wall -Wextra -Wconversion -Werror {} {} {}",
                                        folder_.path("."), compiler, dialect, output, flags, file)
                                .c_str()),
                0)
          << what << " as " << file << " by " << compiler << " " << dialect << " " << flags;
    }
  }
  /// Compiles with each compiler and a selection of very different flags; with UNFOLD_THOROUGH in the environment, with
  /// every combination and every file alone.
  void compare_everywhere() {
    compare("gcc", "-std=c99 -pedantic -O0");
    compare("gcc", "-O3 -march=native");  // with the compiler's own dialect, which contracts
    if (std::getenv("UNFOLD_THOROUGH") != nullptr) {
      compare_thoroughly();
    } else {
      compare("clang", "-std=c99 -pedantic -O2", Part::even);
      compare("g++", "-x c++ -std=c++11 -pedantic -O2", models_.size() > 1 ? Part::odd : Part::all);
      compile_together("gcc");
    }
    if (compared_ == 0) GTEST_SKIP() << "neither gcc nor clang is here";
  }
  void compare_thoroughly() {
    compare("clang", "-std=c99 -pedantic -O2");
    compare("g++", "-x c++ -std=c++11 -pedantic -O2");
    compile_alone("gcc");
    compare("gcc", "-std=c99 -pedantic -O2");
    compare("clang", "-std=c99 -pedantic -O0");
    compare("clang", "-O3 -march=native");
    compare("g++", "-x c++ -O2");
    compare("clang++", "-x c++ -O2");
    if (has_vectors_of_32_bytes()) {
      for (const char* compiler : {"gcc", "clang"}) compare(compiler, "-O2 -mavx2 -mfma");
      compare("g++", "-x c++ -std=c++11 -pedantic -O2 -mavx2 -mfma");
      compile_alone("gcc", "-mavx2 -mfma");
      compile_alone("clang", "-mavx2 -mfma");
    }
    compile_alone("clang");  // which does not warn of unused functions in a file that is included
  }

  struct Exported {
    std::string what, expected;
  };
  ScratchFolder folder_;
  std::vector<Symbol> symbols_ = some_symbols(1500, 11);
  std::vector<Exported> models_;
  int compared_ = 0;
};

TEST_F(ExportC, every_cell_has_the_bits_of_the_library) {
  for (const std::string& spec : kModels) add_random<float>(spec);
  compare_everywhere();
}

TEST_F(ExportC, double_precision_has_the_bits_of_the_library) {
  for (const char* spec : {"lstm:20", "slstm:9", "urnn:8", "gru:17,norm=layer", "glnn:20,edges=3", "lru:10"})
    add_random<double>(spec);
  compare_everywhere();
}

TEST_F(ExportC, a_trained_model_has_the_bits_of_the_library_over_ten_thousand_symbols) {
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {folder_.write("text", testing_support::blocks(400))};
  request.settings.model = "lstm:24,layers=2";
  request.settings.steps = 60;
  request.settings.window = 16;
  request.settings.batch = 8;
  request.run.threads = 1;
  request.given = {"model", "steps", "window", "batch"};
  train(request);
  const auto model = LanguageModel<float>::load(folder_.path("run") + "/model.safetensors");
  symbols_ = some_symbols(10000, model.alphabet().size());
  add(model, "trained", false);
  compare_everywhere();
}

/// Applies the function of the file to every number, one vector at a time.
template <class T>
std::string functions_driver() {
  const std::string real = sizeof(T) == 8 ? "double" : "float";
  std::string text =
      "#include <stdio.h>\n#include \"m0.c\"\nstatic REAL x[1 << 16], y[1 << 16];\nint main(void) {\n"
      "  FILE *in = fopen(\"in\", \"rb\"), *out = fopen(\"out\", \"wb\");\n  size_t n, i;\n"
      "  while ((n = fread(x, sizeof *x, 1 << 16, in)) > 0) {\n"
      "    for (i = 0; i < n; i += M0_LANES) M0_STORE(y + i, m0_sigmoid(M0_LOAD(x + i)));\n    fwrite(y, sizeof *y, n, "
      "out);\n"
      "    for (i = 0; i < n; i += M0_LANES) M0_STORE(y + i, m0_tanh(M0_LOAD(x + i)));\n    fwrite(y, sizeof *y, n, "
      "out);\n"
      "    for (i = 0; i < n; i += M0_LANES) M0_STORE(y + i, m0_exp_minus(M0_LOAD(x + i)));\n    fwrite(y, sizeof *y, "
      "n, out);\n"
      "  }\n  fclose(in); fclose(out);\n  return 0;\n}\n";
  return text.replace(text.find("REAL"), 4, real);
}

/// Numbers of every exponent and sign, and those at which the functions switch algorithms.
template <class T>
std::vector<T> numbers_of_all_sizes() {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::vector<T> numbers;
  for (const double x : {0.0, 0.55, 10.0, 20.0, 87.4, 89.0, 103.9, 104.0, 708.5, 744.5, 745.2, 1e30, HUGE_VAL})
    for (const T sign : {T{1}, T{-1}})
      for (const T to : {T{0}, static_cast<T>(x), std::numeric_limits<T>::infinity()})
        numbers.push_back(sign * std::nextafter(static_cast<T>(x), to));
  for (int payload = 0; payload < 4; ++payload)
    numbers.push_back(std::bit_cast<T>(std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()) + Bits(payload)));
  Random random(3, "bits");
  for (int i = 0; i < 1000000; ++i) {
    const auto bits = static_cast<Bits>(random.below(std::uint64_t{1} << 63) * 2 + random.below(2));
    numbers.push_back(std::bit_cast<T>(bits));
    numbers.push_back(static_cast<T>(220 * random.uniform() - 110));
  }
  return numbers;
}

template <class T>
void compare_functions(const std::string& folder, const std::vector<T>& x) {
  const std::string bytes = file_bytes(folder + "/out");
  ASSERT_EQ(bytes.size(), 3 * x.size() * sizeof(T));
  std::size_t at = 0;
  std::vector<T> below, expected(1 << 16), found(1 << 16);
  for (std::size_t begin = 0; begin < x.size(); begin += 1 << 16) {
    const auto n = std::min(x.size() - begin, std::size_t{1} << 16);
    for (int function = 0; function < 3; ++function, at += n * sizeof(T)) {
      below.assign(x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(begin + n));
      if (function == 0) vector_sigmoid(below.data(), expected.data(), static_cast<Index>(n));
      if (function == 1) vector_tanh(below.data(), expected.data(), static_cast<Index>(n));
      if (function == 2) {
        for (T& v : below) v = -std::fabs(v);
        vector_exp(below.data(), expected.data(), static_cast<Index>(n));
      }
      std::memcpy(found.data(), bytes.data() + at, n * sizeof(T));
      for (std::size_t i = 0; i < n; ++i) {
        if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
        ASSERT_EQ(std::memcmp(&expected[i], &found[i], sizeof(T)), 0) << function << " of " << below[i];
      }
    }
  }
}

/// A name is followed by `_` and more: keywords, types, macros and functions of libraries make valid names.
TEST_F(ExportC, NamesThatAreKeywordsOrLibraryNamesCompileStrictly) {
  LanguageModel<double> model("lstm:5", Alphabet::chars_of(kLetters));
  randomize(model.parameters());
  model.save(folder_.path("model"));
  for (const std::string& name : std::vector<std::string>{
           "int",   "double", "static", "struct", "class", "template", "operator", "new",    "and",
           "const", "size",   "uint32", "main",   "exp",   "tanh",     "log",      "memset", "printf",
           "NULL",  "M",      "m",      "FLT",    "INT",   "FP",       "std",      "x_1",    std::string(200, 'a')}) {
    std::string text;
    export_c({.model = folder_.path("model"), .name = name}, [&](std::string_view piece) { text += piece; });
    folder_.write("named.c", text);
    if (runs("command -v gcc")) expect_compiles("gcc", "", "named.c", "named " + name, false);
    if (std::getenv("UNFOLD_THOROUGH") == nullptr) continue;
    if (runs("command -v clang")) expect_compiles("clang", "", "named.c", "named " + name, false);
    if (runs("command -v gcc")) expect_compiles("gcc", "-D_GNU_SOURCE -mavx2 -mfma", "named.c", "named " + name, false);
  }
}

/// Declarations in C++ for a file that was compiled as C.
TEST_F(ExportC, DeclarationsLinkFromCxxToTheFileInC) {
  if (!runs("command -v gcc") || !runs("command -v g++")) GTEST_SKIP() << "gcc is not here";
  add_random<float>("lstm:5");
  folder_.write("use.cpp",
                "#define M0_DECLARATIONS\n#include \"m0.c\"\n"
                "int main() {\n  m0_state state;\n  m0_real p[M0_SYMBOLS];\n  m0_init(&state);\n"
                "  return m0_step(&state, M0_NO_SYMBOL, p) != 0 || m0_text_sizes[0] == 0 || m0_find(m0_texts[1], "
                "m0_text_sizes[1]) != 1;\n}\n");
  EXPECT_TRUE(runs("cd " + folder_.path(".") + " && gcc -std=c99 -c m0.c -o m0.o && g++ -std=c++11 -pedantic -Wall " +
                   "-Werror use.cpp m0.o -o use -lm && ./use"));
}

TEST_F(ExportC, functions_have_the_bits_of_the_library_for_numbers_of_all_sizes) {
  if (!runs("command -v gcc")) GTEST_SKIP() << "gcc is not here";
  const auto check = [&]<class T>(T) {
    models_.clear();
    add_random<T>("lstm:5");
    const std::vector<T> x = numbers_of_all_sizes<T>();
    folder_.write("in", std::string(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T)));
    folder_.write("driver.c", functions_driver<T>());
    for (const std::string flags : {"-O1 -mfma", "-O2 -mavx2 -mfma", "-O3 -march=native"}) {
      if (!runs("echo | gcc " + flags + " -x c -c - -o /dev/null")) continue;  // for other processors
      if (contains(flags, "avx2") && !has_vectors_of_32_bytes()) continue;
      SCOPED_TRACE(flags);
      ASSERT_TRUE(runs("cd " + folder_.path(".") + " && gcc -w " + flags + " driver.c -o driver -lm")) << flags;
      ASSERT_TRUE(runs("cd " + folder_.path(".") + " && ./driver"));
      compare_functions(folder_.path("."), x);
      ++compared_;
    }
  };
  check(float{});
  check(double{});
  EXPECT_GE(compared_, 2);
}

TEST_F(ExportC, every_registered_cell_is_exported_or_named_in_the_error) {
  for (const std::string& cell : cells().names()) {
    std::optional<LanguageModel<float>> model;
    try {
      model.emplace(cell + ":8", Alphabet::chars_of(kLetters));
    } catch (const UsageError&) {
      continue;  // its structure is not linear text
    }
    model->save(folder_.path("cell"));
    try {
      export_c({.model = folder_.path("cell")}, [](std::string_view) {});
    } catch (const UsageError& error) {
      EXPECT_TRUE(contains(error.what(), "cannot be written as C: ") && contains(error.what(), cell)) << error.what();
    }
  }
}

TEST_F(ExportC, the_file_can_be_included_for_its_declarations_alone) {
  add_random<float>("gru:5");
  folder_.write("user.c",
                "#define M0_DECLARATIONS\n#include \"m0.c\"\n"
                "int main(void) { m0_state s; m0_real p[M0_SYMBOLS]; m0_init(&s); return m0_step(&s, 0, p); }\n");
  if (!runs("command -v gcc")) GTEST_SKIP() << "gcc is not here";
  EXPECT_TRUE(runs("cd " + folder_.path(".") +
                   " && gcc -std=c99 -Wall -Wextra -pedantic -Werror user.c m0.c -o user -lm && ./user"));
}

TEST_F(ExportC, unsupported_exports_are_named_in_the_error) {
  LanguageModel<float> model("gru:5", Alphabet::chars_of(kLetters));
  model.save(folder_.path("gru"));
  const auto message = [&](const std::string& file, const std::string& name) {
    return message_of<UsageError>([&] { export_c({.model = file, .name = name}, [](std::string_view) {}); });
  };
  EXPECT_TRUE(
      contains(message(folder_.path("gru"), "my-model"), "--name \"my-model\" is not a valid prefix of names in C"));
  for (const auto& [name, fault] :
       std::vector<std::pair<std::string, std::string>>{{"1st", "must begin with a letter"},
                                                        {"_private", "must begin with a letter"},
                                                        {"__builtin", "must begin with a letter"},
                                                        {"a__b", "are reserved"},
                                                        {"model_", "are reserved"},
                                                        {"", "it is empty"},
                                                        {"mod\xC3\xA8le", "only the letters"},
                                                        {"a\xFF", "only the letters"},
                                                        {"a\n", "only the letters"},
                                                        {"a b", "only the letters"},
                                                        {std::string("a\0b", 3), "only the letters"},
                                                        {std::string(201, 'a'), "longer than 200"},
                                                        {std::string(1 << 20, 'a'), "longer than 200"}}) {
    const std::string found = message(folder_.path("gru"), name);
    EXPECT_TRUE(contains(found, fault)) << name.substr(0, 20) << ": " << found;
    EXPECT_LT(found.size(), 500U);
  }
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {folder_.write("text", testing_support::blocks(40))};
  request.settings.model = "ngram:3";
  request.given = {"model"};
  train(request);
  EXPECT_TRUE(contains(message(folder_.path("run"), "model"), "cannot be written as C: only networks are supported"));
}

}  // namespace
}  // namespace unfold
