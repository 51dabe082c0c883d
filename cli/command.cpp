#include "unfold/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "app/settings/train_settings.h"
#include "base/formats/trusted_json.h"
#include "base/options/option_json.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "cli/own_inputs.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "data/schema/bad_places_error.h"
#include "distributed/launch.h"
#include "numerics/simd.h"
#include "unfold/base/formats/authentication_key.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/threads/team.h"

namespace unfold {
namespace {

struct VerbEntry {
  std::string name, summary;
  std::unique_ptr<Verb> (*make)();
  bool divided = false;  ///< whether several processes (mpirun) can share its work
};

const std::vector<VerbEntry>& verb_list() {
  constexpr bool one = false, several = true;
  static const std::vector<VerbEntry> verbs = {
#define UNFOLD_VERB(name, processes, summary) {#name, summary, make_##name, processes},
#include "cli/verbs.def"
#undef UNFOLD_VERB
  };
  return verbs;
}

std::string overview() {
  std::string text =
      "Example: unfold train book.txt --split 90/5/5 --out run && unfold sample run --length 500\n\n"
      "unfold COMMAND [options] INPUT...\n"
      "  learns the structure of sequences: trains recurrent models, then predicts, scores and samples\n\nCommands:\n";
  for (const VerbEntry& entry : verb_list()) text += fmt::format("  {:<10} {}\n", entry.name, entry.summary);
  text +=
      "\n  unfold COMMAND --help    the options of a command, with examples\n  unfold --version         the version\n\n"
      "Exit codes: 0 success, 1 run-time failure, 2 usage, 3 bad data, 4 bad model, 5 training diverged,\n"
      "            6 verification failed, 130 interrupted (training: a checkpoint was written)\n";
  return text;
}

/// Names that other programs use for a command, each with what to type instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 46> kOtherNames = {{
    {"fit", "train"},         {"learn", "train"},
    {"build", "train"},       {"finetune", "train"},
    {"evaluate", "eval"},     {"test", "eval"},
    {"validate", "eval"},     {"measure", "eval"},
    {"metrics", "eval"},      {"accuracy", "eval"},
    {"anomaly", "score"},     {"anomalies", "score"},
    {"detect", "score"},      {"outliers", "score"},
    {"perplexity", "score"},  {"surprisal", "score"},
    {"infer", "predict"},     {"apply", "predict"},
    {"run", "predict"},       {"impute", "predict"},
    {"label", "tag"},         {"annotate", "tag"},
    {"describe", "inspect"},  {"summary", "inspect"},
    {"profile", "inspect"},   {"schema", "inspect"},
    {"head", "inspect"},      {"peek", "inspect"},
    {"look", "inspect"},      {"view", "inspect"},
    {"show", "info"},         {"card", "info"},
    {"chat", "complete"},     {"autocomplete", "complete"},
    {"tune", "sweep"},        {"search", "sweep"},
    {"grid", "sweep"},        {"encode", "embed"},
    {"transform", "embed"},   {"zip", "compress"},
    {"unzip", "decompress"},  {"convert", "export"},
    {"interpret", "explain"}, {"benchmark", "bench"},
    {"simulate", "generate"}, {"plot", "info RUN --plot FILE.svg"},
}};

/// Returns "; did you mean `unfold eval` (...)?", or the remedy for a name that resembles a command; empty if there is
/// none.
std::string command_meant(const std::string& name, const std::vector<std::string>& names) {
  const auto other = std::ranges::find(kOtherNames, name, [](const auto& pair) { return pair.first; });
  if (other == kOtherNames.end()) return did_you_mean(name, names);
  const std::string verb(other->second.substr(0, other->second.find(' ')));
  const auto entry = std::ranges::find(verb_list(), verb, &VerbEntry::name);
  return fmt::format("; did you mean `unfold {}` ({})?", other->second, entry->summary);
}

const VerbEntry& find_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const VerbEntry& entry : verb_list()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError(
      fmt::format("unknown command {}; see `unfold --help`{}", in_quotes(name), command_meant(name, names)));
}

/// Connects to the other processes, if there are any, so that only one of them reports an error. Throws UsageError if
/// all of them would do the same work.
void require_use_for_processes(const VerbEntry& verb) {
  const Processes& all = launched_processes();
  if (all.alone() || verb.divided) return;
  std::string divided;
  for (const VerbEntry& entry : verb_list())
    if (entry.divided) divided += (divided.empty() ? "" : ", ") + entry.name;
  throw UsageError(
      fmt::format("{} processes were started, but {} runs in one process: start it without mpirun (several processes "
                  "are supported by {})",
                  all.count(), verb.name, divided));
}

std::vector<std::string> all_option_names() {
  std::vector<std::string> names;
  for (const VerbEntry& entry : verb_list())
    for (std::string& name : entry.make()->options().names()) names.push_back(std::move(name));
  return names;
}

nlohmann::ordered_json all_options_json() {
  nlohmann::ordered_json json;
  for (const VerbEntry& entry : verb_list()) {
    const std::unique_ptr<Verb> verb = entry.make();
    const CommandOptions& options = verb->options();
    json[entry.name] = {
        {"summary", options.summary()}, {"examples", options.examples()}, {"options", to_json(options.rows())}};
  }
  return json;
}

ExitCode dispatch(std::span<const std::string> arguments, Console& console) {
  if (arguments.empty()) throw UsageError("no command given; try `unfold --help`");
  const std::string& first = arguments.front();
  if (first == "help" && arguments.size() == 2) {
    print_result(find_verb(arguments[1]).make()->options().help());
    return ExitCode::success;
  }
  if (first == "-h" || first == "--help" || first == "help") {
    print_result(overview());
    return ExitCode::success;
  }
  if (first == "--version" || first == "version") {
    if (arguments.size() > 1)
      throw UsageError(fmt::format("--version takes no other arguments; leave out {}", escape_value(arguments[1])));
    print_result(fmt::format("unfold {}\n", UNFOLD_VERSION));
    return ExitCode::success;
  }
  if (first == "--options-json") {  // used by the tools that generate the reference page and the types of the Python
                                    // package
    print_result(one_line(all_options_json()));
    return ExitCode::success;
  }
  if (first.starts_with('-'))
    throw UsageError(fmt::format("the command must come first, before {}; see `unfold --help`", escape_value(first)));
  const VerbEntry& entry = find_verb(first);
  require_use_for_processes(entry);
  const std::unique_ptr<Verb> verb = entry.make();
  if (verb->options().read_arguments(arguments.subspan(1))) {
    print_result(verb->options().help());
    return ExitCode::success;
  }
  check_environment(all_option_names());
  simd_name();  // throws if UNFOLD_SIMD names an unavailable instruction set
  verb->options().resolve();
  console.set_quiet(verb->quiet());
  check_outputs_differ_from_inputs(verb->options());
  require_readable_models(verb->options());
  verb->apply_limits();
  return verb->run(console);
}

/// Reports an error and returns the exit code. If all processes fail, only the first one reports. A process that fails
/// alone reports its number and terminates the others, which would otherwise wait forever.
ExitCode tell_failure(Console& console, const std::string& message, ExitCode code,
                      std::span<const std::string> lines = {}) {
  if (!mpi_is_initialized()) {
    const bool said_by_first = code == ExitCode::usage && launch_info_from_environment().number > 0;
    if (!said_by_first) console.error(message, lines);
    return code;
  }
  const Processes& processes = launched_processes();
  if (wait_for_all_failures()) {
    if (!processes.first()) return ExitCode::success;
    console.error(message, lines);
    return code;
  }
  console.error(
      fmt::format("process {} of {}, on {}: {}", processes.number(), processes.count(), processes.machine(), message));
  end_all(static_cast<int>(code));
}

}  // namespace

void Verb::add_threads() { options_.add(threads_row(threads_)); }

void Verb::add_unpacking_limit() {
  options_.add({.name = "max-unpacked",
                .target = &max_unpacked_,
                .placeholder = "BYTES",
                .help = "maximum size of an uncompressed data file, for example 500M or 2G",
                .default_text = "256M plus 100 times the compressed size",
                .group = OptionGroup::execution});
}

void Verb::add_key() {
  options_.add({.name = "key",
                .target = &key_,
                .placeholder = "FILE",
                .help = "a file with a secret key: written models, checkpoints and archives are authenticated with it, "
                        "and only files that were written with the same key are read",
                .file = FileUse::data,
                .group = OptionGroup::execution});
}

void Verb::apply_limits() const {
  set_authentication_key(key_ ? std::optional<Key>(Key::of_file(*key_)) : std::nullopt);
  set_decompression_limit(max_unpacked_ ? static_cast<Index>(parse_bytes(*max_unpacked_, "--max-unpacked")) : 0);
}

int Verb::threads() const { return threads_ > 0 ? static_cast<int>(threads_) : available_threads(); }

int run_command(std::span<const std::string> arguments) {
  Console console;
  ExitCode code = ExitCode::failure;
  try {
    code = dispatch(arguments, console);
    flush_results();
  } catch (const ClosedOutput&) {
    return kClosedOutputCode;
  } catch (const BadPlacesError& error) {
    code = tell_failure(console, error.message(), error.code(), error.places());
  } catch (const Error& error) {
    code = tell_failure(console, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    code = tell_failure(console, "not enough memory; try a smaller --batch, --window or model, or less data", code);
  } catch (const nlohmann::json::exception& error) {
    code = tell_failure(
        console,
        fmt::format("a JSON file written by Unfold was changed: {}; restore it, or remove it", json_fault(error)),
        ExitCode::bad_model);
  } catch (const std::exception& error) {
    code = tell_failure(console, error.what(), code);
  }
  finalize();
  return static_cast<int>(code);
}

int run_main(int argc, char** argv) {
  handle_signals();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return run_command(arguments);
}

}  // namespace unfold
