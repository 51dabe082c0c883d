#include "app/embed/embed.h"

#include <fmt/format.h>

#include <memory>

#include "app/evaluate/reading.h"
#include "app/fields/field_model.h"
#include "model/registry/run_folder.h"
#include "model/states/layer_states.h"

namespace unfold {
namespace {

/// Returns the header of an array in format version 1.0, whose length is a multiple of 64.
std::string npy_header(std::size_t bytes, Index rows, Index cols) {
  std::string shape =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}, {}), }}", bytes, rows, cols);
  constexpr std::size_t kPrefix = 10, kAlign = 64;
  shape.resize((kPrefix + shape.size() + kAlign) / kAlign * kAlign - kPrefix, ' ');
  shape.back() = '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(shape.size() % 256);
  header += static_cast<char>(shape.size() / 256);
  return header + shape;
}

/// Formats the vectors.
class StateTable {
 public:
  StateTable(const EmbedRequest& request, Index rows, const std::function<void(std::string_view)>& write)
      : request_(request), rows_(rows), write_(write) {}

  template <class T>
  void add(const LayerState<T>& state) {
    if (!begun_) begin<T>(static_cast<Index>(state.values.size()));
    begun_ = true;
    line_.clear();
    if (request_.format == StateFormat::npy)
      return write_({reinterpret_cast<const char*>(state.values.data()), state.values.size_bytes()});
    auto out = std::back_inserter(line_);
    if (request_.format == StateFormat::jsonl) {
      fmt::format_to(out, "{{\"example\":{}", state.example + 1);
      if (request_.every_position) fmt::format_to(out, ",\"position\":{}", state.position + 1);
      fmt::format_to(out, ",\"state\":[{}]}}\n", fmt::join(state.values, ","));
    } else {
      fmt::format_to(out, "{}", state.example + 1);
      if (request_.every_position) fmt::format_to(out, "\t{}", state.position + 1);
      fmt::format_to(out, "\t{}\n", fmt::join(state.values, "\t"));
    }
    write_(line_);
  }

 private:
  template <class T>
  void begin(Index cols) const {
    if (request_.format == StateFormat::npy) return write_(npy_header(sizeof(T), rows_, cols));
    if (request_.format != StateFormat::tsv) return;
    std::string header = request_.every_position ? "example\tposition" : "example";
    for (Index i = 1; i <= cols; ++i) header += fmt::format("\ts{}", i);
    write_(header + "\n");
  }

  const EmbedRequest& request_;
  Index rows_;
  const std::function<void(std::string_view)>& write_;
  bool begun_ = false;
  std::string line_;
};

StateOptions options_of(const EmbedRequest& request) {
  return {.layer = request.layer, .every_position = request.every_position};
}

/// Divides sequences after each line ending.
Split lines_of(const Corpus& corpus) {
  Split lines{.name = "lines", .pieces = {}};
  for (Index s = 0; s < corpus.sequences(); ++s) {
    Index begin = 0, position = 0;
    for_each_symbol(corpus, {s, {0, corpus.length(s)}}, [&](Symbol symbol) {
      ++position;
      if (symbol != corpus.alphabet().line_end() && position < corpus.length(s)) return;
      lines.pieces.push_back({s, {begin, position}});
      begin = position;
    });
  }
  return lines;
}

template <class T>
void embed_text(const LanguageModel<T>& model, const EmbedRequest& request,
                const std::function<void(std::string_view)>& write) {
  const Corpus corpus = load_for(model, request.data, UnknownPolicy::error);
  const Split part = request.by_line ? lines_of(corpus) : whole_corpus(corpus, "text");
  StateTable table(request, request.every_position ? part.symbols() : static_cast<Index>(part.pieces.size()), write);
  Team team(thread_count(request.threads));
  text_states<T>(model, corpus, part, options_of(request), team, [&](const LayerState<T>& state) { table.add(state); });
}

template <class T>
void embed_examples(const NetworkModel<T>& model, const EmbedRequest& request,
                    const std::function<void(std::string_view)>& write) {
  if (request.by_line) throw UsageError("--by line applies only to text models; use --by example for data with fields");
  const Examples examples = read_for(model, request.data, request.reporter);
  const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {}, UnknownPolicy::skip);
  check_child_count(model.spec(), set);
  StateTable table(request, request.every_position ? set.positions() : set.count(), write);
  Team team(thread_count(request.threads));
  example_states<T>(model, set, options_of(request), team, [&](const LayerState<T>& state) { table.add(state); });
}

}  // namespace

void embed(const EmbedRequest& request, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> model = load_model_file(model_file(request.model));
  if (const auto* single = model->as<LanguageModel<float>>()) return embed_text(*single, request, write);
  if (const auto* exact = model->as<LanguageModel<double>>()) return embed_text(*exact, request, write);
  if (model->as<SymbolModel>() != nullptr)
    throw UsageError(
        fmt::format("{} has no layers with states; train a network, such as --model lstm:128", model->spec_text()));
  with_network_model(*model, request.model,
                     [&]<class T>(const NetworkModel<T>& network) { embed_examples(network, request, write); });
}

}  // namespace unfold
