#pragma once
/// Base class of the subcommands.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal/console.h"
#include "cli/terminal/options.h"
#include "unfold/base/error.h"

namespace unfold {

class Verb {
 public:
  virtual ~Verb() = default;
  CommandOptions& options() { return options_; }
  bool quiet() const { return quiet_; }
  /// Applies the options that affect the whole process. REQUIRES that the options were resolved.
  void apply_limits() const;
  /// Runs the subcommand. REQUIRES that the options were resolved. Throws on errors.
  virtual ExitCode run(Console& console) = 0;

 protected:
  explicit Verb(CommandOptions table) : options_(std::move(table)) {}
  /// `prints_json`: false if another option selects JSON output; the error that run() throws then names that option.
  void add_common(bool prints_json = true) { options_.add_common(json_, quiet_, prints_json); }
  /// Adds --max-unpacked, for subcommands that read data, which may be compressed.
  void add_unpacking_limit();
  /// Adds --key, for subcommands that read or write models or archives.
  void add_key();
  /// Adds --threads; 0 stands for all available processors.
  void add_threads();
  int threads() const;

  CommandOptions options_;
  bool json_ = false, quiet_ = false;
  Index threads_ = 0;
  std::optional<std::string> max_unpacked_, key_;
};

#define UNFOLD_VERB(name, processes, summary) std::unique_ptr<Verb> make_##name();
#include "cli/verbs.def"
#undef UNFOLD_VERB

/// Runs the command: selects the subcommand, reports errors, and returns the exit code. `arguments` does not include
/// the program name.
int run_command(std::span<const std::string> arguments);

}  // namespace unfold
