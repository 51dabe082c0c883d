#include "unfold/compression/compress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/bench/peak_performance.h"
#include "app/compress/compress_pieces.h"
#include "app/settings/train_settings.h"
#include "app/train/setup/train_processes.h"
#include "cli/compression_level.h"
#include "cli/in_processes.h"
#include "cli/own_inputs.h"
#include "cli/terminal/metrics_text.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"
#include "model/adaptive/learning.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/text/split.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

/// Reads the raw bytes of a file or of standard input in pieces.
class RawInput {
 public:
  explicit RawInput(std::string path) : path_(std::move(path)) {
    if (path_ == "-") {
      descriptor_ = STDIN_FILENO;
      return;
    }
    open();
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) fail(errno);
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    if (S_ISREG(status.st_mode)) size_ = status.st_size;
  }
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;
  ~RawInput() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }

  std::string name() const { return path_ == "-" ? "standard input" : path_; }
  Index size() const { return size_; }  ///< -1: unknown
  ByteSource source() {
    return [this](char* out, std::size_t size) { return read_some(descriptor_, name(), out, size); };
  }

 private:
  void open() {
    const BlockingSection waiting;  // opening a pipe blocks until the other end is opened
    do descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    while (descriptor_ < 0 && errno == EINTR);
  }
  [[noreturn]] void fail(int error) const {
    throw DataError(fmt::format("cannot read {}: {}; check the name", name(), std::generic_category().message(error)));
  }
  std::string path_;
  int descriptor_ = -1;
  Index size_ = -1;
};

/// Returns a callback that updates a progress line.
std::function<void(Index)> count_bytes(Console& console, Index total, const std::string& what) {
  const double start = seconds_now();
  return [&console, total, what, start](Index done) {
    if (!console.due()) return;
    const double speed = static_cast<double>(done) / std::max(seconds_now() - start, 1e-9);
    console.progress(total > 0
                         ? fmt::format("{}  {}/{} bytes  {} bytes/s  {} left", what, done, total, count_text(speed),
                                       duration_text(static_cast<double>(total - done) / speed))
                         : fmt::format("{}  {} bytes  {} bytes/s", what, done, count_text(speed)));
  };
}

/// Returns the byte values that occur in a file, in ascending order; empty if all 256 occur.
std::string bytes_in(const std::string& path) {
  std::array<bool, 256> seen{};
  RawInput input(path);
  const ByteSource source = input.source();
  std::array<char, 65536> buffer;
  for (std::size_t n = source(buffer.data(), buffer.size()); n > 0; n = source(buffer.data(), buffer.size()))
    for (std::size_t i = 0; i < n; ++i) seen[static_cast<std::uint8_t>(buffer[i])] = true;
  std::string bytes;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) bytes += static_cast<char>(i);
  return bytes.size() == seen.size() ? std::string() : bytes;
}

/// Adds the default memory limit to `ppm` if the SPEC has no memory option. In training, the memory is unlimited.
std::string with_memory_limit(const std::string& spec) {
  const bool unlimited = spec.starts_with("ppm:") && spec.find("memory=") == std::string::npos;
  return unlimited ? spec + ",memory=64" : spec;
}

/// Returns whether SPEC names a model that is fitted in one pass and cannot learn while compressing.
bool is_fitted_only(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  return is_fitted_model(spec) && !is_learner(name);
}

/// Whether a model was trained or fitted before compression. An untrained model always learns while compressing.
enum class Knowledge { none, trained };

/// Parses a block size, which may have a unit.
Index block_size(const std::optional<std::string>& text) {
  if (!text || *text == "0") return 0;
  const std::size_t bytes = parse_bytes(*text, "--block");
  if (bytes > static_cast<std::size_t>(kMostBlock))
    throw UsageError(fmt::format("--block {}: a block can have at most {} bytes", *text, kMostBlock));
  return static_cast<Index>(bytes);
}

/// Returns the block size, in bytes, for a single chain. A file that would fit into one block is split into about four
/// blocks, so that finished blocks are verified while the next one is compressed. A small file is one block.
Index chain_block(Index size) {
  constexpr Index kWhole = 1 << 20, kLeastCut = 1 << 18;
  if (size < kLeastCut || size > kWhole) return kWhole;
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(size))) / 4;
}

/// Throws UsageError if the output is a terminal.
void check_not_terminal(const std::string& output) {
  if (output == "-" && ::isatty(STDOUT_FILENO) == 1)
    throw UsageError("refusing to write compressed data to a terminal; use -o FILE or a pipe");
}

class Compress final : public Verb {
 public:
  Compress();
  ExitCode run(Console& console) override;

 private:
  LevelChoice level_choice(RawInput& input, Index level) const;
  void choose_model(CompressOptions& options, RawInput& input) const;
  void check_learning(const std::string& spec, Knowledge knows) const;
  void fit_model(CompressOptions& options, const RawInput& input) const;
  void read_back(const std::string& path) const;
  void require_divided(const RawInput& input) const;
  void tell(Console& console, const RawInput& input, const CompressOptions& options, const CompressResult& result,
            double seconds) const;

  std::vector<std::string> inputs_;
  std::string output_ = "-";
  std::optional<std::string> model_, optimizer_;
  std::optional<Index> window_, level_;
  bool fast_ = false, best_ = false, online_ = false, embed_ = false, no_verify_ = false;
  std::optional<std::string> block_text_;
  Index block_ = 0;
};

Compress::Compress()
    : Verb(CommandOptions("compress", "compresses a file losslessly, with any symbol model",
                          {"unfold compress book.txt -o book.unf && unfold decompress book.unf -o book.txt",
                           "unfold compress today.log --model run --online -o today.unf",
                           "mpirun -n 4 unfold compress corpus.txt --block 1M -o corpus.unf"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "FILE",
                       .help = "a file, read as raw bytes; - is standard input",
                       .file = FileUse::data});
  options_.add({.name = "output",
                .target = &output_,
                .placeholder = "OUT",
                .help = "the compressed file; - is standard output",
                .letter = "o",
                .file = FileUse::printed,
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "model",
                .target = &model_,
                .placeholder = "MODEL",
                .help = "a run folder, a model file, or the SPEC of a model that learns while compressing, or that is "
                        "fitted to the file and stored in OUT (ngram, hmm)",
                .default_text = "the model that the level selects",
                .file = FileUse::model,
                .group = OptionGroup::model,
                .common = true});
  options_.add({.name = "level",
                .target = &level_,
                .placeholder = "N",
                .help = "1 is the fastest, 9 usually the smallest",
                .least = 1,
                .most = 9,
                .default_text = std::to_string(kDefaultLevel),
                .letter = std::string(kDigits),
                .group = OptionGroup::training,
                .common = true});
  options_.add({.name = "fast",
                .target = &fast_,
                .help = fmt::format("as -{}", kFastLevel),
                .group = OptionGroup::training,
                .common = true});
  options_.add({.name = "best",
                .target = &best_,
                .help = fmt::format("as -{}", kBestLevel),
                .group = OptionGroup::search,
                .common = true});
  options_.add({.name = "online",
                .target = &online_,
                .help = "the trained model continues learning while compressing",
                .group = OptionGroup::training,
                .common = true});
  options_.add({.name = "optimizer",
                .target = &optimizer_,
                .placeholder = "SPEC",
                .help = "optimizer of a recurrent network that learns while compressing",
                .group = OptionGroup::training});
  options_.add({.name = "window",
                .target = &window_,
                .placeholder = "N",
                .help = "symbols per step of a recurrent network that learns while compressing",
                .least = 1,
                .most = 4096,
                .group = OptionGroup::training});
  options_.add({.name = "embed",
                .target = &embed_,
                .help = "store the model file in the compressed file",
                .group = OptionGroup::model,
                .common = true});
  options_.add({.name = "block",
                .target = &block_text_,
                .placeholder = "BYTES",
                .help = "size of independent blocks, which several threads can process: 1M; 0: a single chain, which "
                        "gives smaller files",
                .group = OptionGroup::execution});
  options_.add({.name = "no-verify",
                .target = &no_verify_,
                .help = "do not verify the result by decompressing it",
                .group = OptionGroup::execution});
  add_threads();
  add_key();
  add_common();
}

/// Chooses the model from the first bytes of a file. The contents of a pipe are unknown in advance.
LevelChoice Compress::level_choice(RawInput& input, Index level) const {
  std::string beginning;
  if (input.size() > 0) {
    constexpr std::size_t kLooked = 1 << 20;
    RawInput again(inputs_.front());
    beginning = read_up_to(again.source(), kLooked);
  }
  const Index size = block_ > 0 ? (input.size() < 0 ? block_ : std::min(input.size(), block_)) : input.size();
  return choose_level(level, beginning, size);
}

/// Throws UsageError for --online, --optimizer and --window if they would have no effect.
void Compress::check_learning(const std::string& spec, Knowledge knows) const {
  const bool trained = knows == Knowledge::trained;
  if (online_ && !trained)
    throw UsageError(fmt::format(
        "--online applies only to trained models (--model RUN); {} is untrained and always learns; omit --online",
        spec));
  if (online_ && is_fitted_only(spec))
    throw UsageError(fmt::format(
        "--online applies only to models that learn incrementally; {} is fitted in one pass; omit --online", spec));
  if (!optimizer_ && !window_) return;
  const bool network = trained ? !is_fitted_model(spec) : has_network(spec);
  if (!network)
    throw UsageError(
        fmt::format("--optimizer and --window apply only to recurrent networks that learn while compressing; {} does "
                    "not use them; leave them out",
                    spec));
  if (trained && !online_) throw UsageError("--optimizer and --window require --online for a trained network");
}

void Compress::choose_model(CompressOptions& options, RawInput& input) const {
  if (!model_) {
    if (embed_) throw UsageError("--embed needs a model file; name it with --model");
    const Index level = fast_ ? kFastLevel : best_ ? kBestLevel : level_.value_or(kDefaultLevel);
    LevelChoice choice = level_choice(input, level);
    options.model = canonical_learner(choice.model);
    check_learning(options.model, Knowledge::none);
    options.bytes = std::move(choice.bytes);
    options.learns = true;
    return;
  }
  const std::string& text = *model_;
  std::error_code too_long_for_a_name;
  if (std::filesystem::exists(*model_, too_long_for_a_name)) {
    options.file = read_file(model_file(*model_));
    options.trained = symbol_model_from_bytes(options.file, *model_);
    check_learning(options.trained->spec_text(), Knowledge::trained);
    options.model = *model_;
    options.embed = embed_;
    options.learns = online_;
    return;
  }
  if (is_fitted_only(text)) {
    check_learning(text, Knowledge::trained);
    return fit_model(options, input);
  }
  if (embed_) throw UsageError(fmt::format("--embed needs a model file; {} is not one", text));
  if (!is_learner(spec_name(text))) (void)canonical_model(text);  // the error for an unknown name lists all models
  // `ppm` without an order uses the order that the fast level would choose for the file.
  const bool without_order = text == "ppm";
  options.model = canonical_learner(without_order ? level_choice(input, kFastLevel).model : with_memory_limit(text));
  check_learning(options.model, Knowledge::none);
  options.learns = true;
  if (has_network(options.model) && input.size() > 0) options.bytes = bytes_in(inputs_.front());
}

/// Fits a model to the file before compressing it. Decompression requires the same model.
void Compress::fit_model(CompressOptions& options, const RawInput& input) const {
  if (input.size() < 1)
    throw UsageError(fmt::format(
        "{} is fitted to the whole file before compressing it; name a non-empty file instead of a pipe", *model_));
  std::vector<Input> data = {Input::from_bytes(input.name(), read_file(inputs_.front()))};
  Alphabet alphabet = build_alphabet(data, {.kind = SymbolKind::bytes});
  const Corpus corpus = Corpus::load(std::move(data), alphabet);
  const Split whole = whole_corpus(corpus, "all");
  const auto model = make_fitted_model(*model_, std::move(alphabet));
  Team team(threads());
  model->fit({.corpus = corpus, .training = whole}, {}, team);
  options.file = model->bytes();
  options.trained = symbol_model_from_bytes(options.file, *model_);
  options.model = model->spec_text();
  options.embed = true;
  options.learns = online_;
}

void Compress::read_back(const std::string& path) const {
  RawInput written(path);
  ContainerReader reader(written.source(), path, authentication_key());
  ContainerBlock block;
  while (reader.next(block)) {
  }
}

/// Throws UsageError unless the input can be compressed by several processes.
void Compress::require_divided(const RawInput& input) const {
  if (block_ == 0)
    throw UsageError("several processes cannot share a single chain; add --block, for example --block 1M");
  if (output_ == "-" || input.size() < 0)
    throw UsageError(
        "several processes need an input file and an output file; pipes and standard output are not supported");
}

void Compress::tell(Console& console, const RawInput& input, const CompressOptions& options,
                    const CompressResult& result, double seconds) const {
  if (options.embed && static_cast<Index>(options.file.size()) * 2 > result.bytes_out)
    console.remark(fmt::format(
        "{} of the {} bytes store the model {} itself, which is not worthwhile for a small file; a model that learns "
        "while compressing, such as cm (the default), stores no model",
        std::min<Index>(static_cast<Index>(options.file.size()), result.bytes_out), result.bytes_out, options.model));
  const double bits_per_byte =
      result.bytes_in > 0 ? 8 * static_cast<double>(result.bytes_out) / static_cast<double>(result.bytes_in) : 0;
  if (json_)
    print_result(one_line({{"bytes_in", result.bytes_in},
                           {"bytes_out", result.bytes_out},
                           {"bits_per_byte", bits_per_byte},
                           {"model", options.model},
                           {"seconds", seconds}}));
  else
    console.remark(fmt::format("{}: {} -> {} bytes, {:.4f} bits per byte, {}", input.name(), result.bytes_in,
                               result.bytes_out, bits_per_byte, duration_text(seconds)));
}

ExitCode Compress::run(Console& console) {
  if (fast_ + best_ + (level_ ? 1 : 0) + (model_ ? 1 : 0) > 1)
    throw UsageError("--fast, --best, a level (-1 .. -9) and --model cannot be combined; use only one of them");
  if (json_ && output_ == "-")
    throw UsageError("--json and the compressed data both use standard output; name a file with -o");
  block_ = block_size(block_text_);
  Processes& processes = launched_processes();
  RawInput input(inputs_.front());
  if (!processes.alone()) require_divided(input);
  check_not_terminal(output_);
  CompressOptions options{.optimizer = optimizer_.value_or(""),
                          .window = window_.value_or(0),
                          .independent = block_ > 0,
                          .threads = threads_of_process(threads_, processes),
                          .verify = !no_verify_,
                          .key = authentication_key(),
                          .progress = count_bytes(console, input.size(), "compress")};
  options.block = block_ > 0 ? block_ : chain_block(input.size());
  choose_model(options, input);
  const double start = seconds_now();
  std::optional<ResultFile> output;
  if (processes.first()) output.emplace(output_);
  const ByteSink sink = [&](std::string_view bytes) { output->write(bytes); };
  const CompressResult result =
      processes.alone()
          ? compress(input.source(), sink, options)
          : run_in_processes(processes, console, [&](Reporter& reporter) {
              return compress_in_processes({inputs_.front(), output_ + ".pieces", options}, sink, processes, reporter);
            });
  if (!processes.first()) return ExitCode::success;
  output->commit();
  // Output that was written to a pipe cannot be read back.
  if (std::error_code none; !no_verify_ && std::filesystem::is_regular_file(output_, none)) read_back(output_);
  tell(console, input, options, result, seconds_now() - start);
  return ExitCode::success;
}

class Decompress final : public Verb {
 public:
  Decompress();
  ExitCode run(Console& console) override;

 private:
  DecompressLimits limits() const;
  std::string external_model(const std::string& archive, const std::string& name);
  void check_model() const;

  std::vector<std::string> inputs_;
  std::string output_ = "-";
  std::optional<std::string> model_, memory_limit_, max_output_;
  std::string used_model_;  ///< the external model file or run folder that the archive requires; empty: none
};

Decompress::Decompress()
    : Verb(CommandOptions("decompress", "restores a compressed file exactly and verifies it",
                          {"unfold decompress book.unf -o book.txt"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "FILE",
                       .help = "a compressed file; - is standard input",
                       .file = FileUse::data});
  options_.add({.name = "output",
                .target = &output_,
                .placeholder = "OUT",
                .help = "the restored file; - is standard output",
                .letter = "o",
                .file = FileUse::printed,
                .group = OptionGroup::output,
                .common = true});
  options_.add({.name = "model",
                .target = &model_,
                .placeholder = "MODEL",
                .help = "the model that FILE was compressed with, if the model has been moved",
                .file = FileUse::model,
                .group = OptionGroup::model,
                .common = true});
  options_.add({.name = "memory-limit",
                .target = &memory_limit_,
                .placeholder = "BYTES",
                .help = "approximate memory limit for the models that FILE requires, for example 500M or 2G",
                .default_text = "1G plus 1024 times the size of FILE",
                .group = OptionGroup::execution});
  options_.add({.name = "max-output",
                .target = &max_output_,
                .placeholder = "BYTES",
                .help = "maximum size of the restored data",
                .default_text = "1M plus 65,536 times the size of FILE",
                .group = OptionGroup::execution});
  add_threads();
  add_key();
  add_common();
}

DecompressLimits Decompress::limits() const {
  DecompressLimits limits;
  if (memory_limit_) limits.memory = static_cast<Index>(parse_bytes(*memory_limit_));
  if (max_output_) limits.output = static_cast<Index>(parse_bytes(*max_output_, "--max-output"));
  return limits;
}

/// Reads a model file that is not part of the archive.
std::string Decompress::external_model(const std::string& archive, const std::string& name) {
  const std::string& path = model_.value_or(name);
  if (!std::filesystem::exists(path))
    throw ModelError(fmt::format(
        "{} was compressed with the model {}, which does not exist; name its location with --model", archive, path));
  used_model_ = path;
  return read_file(model_file(path));
}

/// Checks the model options. An archive either requires an external model before the first byte is decompressed or does
/// not use one; the model file does not have to be given as an option.
void Decompress::check_model() const {
  if (!used_model_.empty()) check_output_differs_from_input("--output", output_, used_model_);
  if (model_ && used_model_.empty())
    throw UsageError(
        fmt::format("--model applies only to archives with an external model file; {} does not need one; omit --model",
                    inputs_.front()));
}

ExitCode Decompress::run(Console& console) {
  if (json_ && output_ == "-")
    throw UsageError("--json and the restored data both use standard output; name a file with -o");
  RawInput input(inputs_.front());
  ResultFile output(output_);
  const ByteSink sink = [&](std::string_view bytes) {
    check_model();
    output.write(bytes);
  };
  DecompressOptions options{
      .name = input.name(),
      .size = input.size(),
      .limits = limits(),
      .find_model = [&](const std::string& name, std::uint64_t) { return external_model(input.name(), name); },
      .threads = threads(),
      .key = authentication_key(),
      .progress = count_bytes(console, -1, "decompress")};
  const CompressResult result = decompress(input.source(), sink, options);
  check_model();  // the sink is not called for an empty result
  output.commit();
  if (json_)
    print_result(one_line({{"bytes_in", result.bytes_in}, {"bytes_out", result.bytes_out}}));
  else
    console.remark(fmt::format("{}: {} -> {} bytes, checked", input.name(), result.bytes_in, result.bytes_out));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_compress() { return std::make_unique<Compress>(); }
std::unique_ptr<Verb> make_decompress() { return std::make_unique<Decompress>(); }

}  // namespace unfold
