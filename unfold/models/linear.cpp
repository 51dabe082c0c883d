#include "unfold/models/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unfold/base/error.h"

namespace unfold {
namespace {

Signal nothing(Circuit&, Signal x, Index, const LinearOptions&) { return x; }

std::string fault_of(const StackOptions& stack, const LinearOptions&) {
  const StackOptions plain;
  const bool layers = stack.layers != plain.layers || stack.dropout > 0 || stack.embedding > 0 ||
                      stack.both_directions || stack.trained_initial || stack.direct > 0 || stack.variational ||
                      stack.dropouti > 0 || stack.dropouth > 0 || stack.dropoute > 0 || stack.wdrop > 0 || stack.tied;
  if (layers || stack.pool != plain.pool || stack.attention != plain.attention || stack.condition != plain.condition)
    return "it has no layers: only cut and all have a meaning for it";
  return {};
}

/// A field that is read, position by position.
struct ReadColumn {
  const std::vector<Symbol>& symbols;
  Index back;
  Symbol unknown;
};

/// Seen pairs as rows of flags [symbols x labels], packed: alphabets are large, and few pairs are seen.
class PairFlags {
 public:
  PairFlags(Index symbols, Index labels) : labels_(labels), words_((labels + 63) / 64) {
    flags_.assign(at(symbols * words_), 0);
  }
  void set(Index symbol, Symbol label) { flags_[at(symbol * words_ + label / 64)] |= std::uint64_t{1} << (label % 64); }
  bool has(Index symbol, Symbol label) const {
    return ((flags_[at(symbol * words_ + label / 64)] >> (label % 64)) & 1U) != 0;
  }
  Index labels() const { return labels_; }

 private:
  Index labels_, words_;
  std::vector<std::uint64_t> flags_;
};

/// Pairs that a column and the labels have together.
void flag_pairs(const ExampleSet& examples, const ReadColumn& column, const std::vector<Symbol>& labels, Index first,
                PairFlags& flags) {
  for (Index e = 0; e < examples.count(); ++e)
    for (Index t = column.back; t < examples.length(e); ++t) {
      const Index position = examples.begin(e) + t;
      const Symbol read = column.symbols[at(position - column.back)], label = labels[at(position)];
      if (read != kNoSymbol && read != column.unknown && label != kNoSymbol) flags.set(first + read, label);
    }
}

void take_pairs(const PairFlags& flags, bool all, Listing& listing) {
  for (Index symbol = 0; symbol < listing.symbols(); ++symbol) {
    bool any = false;
    for (Symbol label = 0; label < flags.labels(); ++label) any = any || flags.has(symbol, label);
    for (Symbol label = 0; label < flags.labels() && any; ++label)
      if (all || flags.has(symbol, label)) listing.outputs_of.push_back(label);
    if (listing.pairs() > std::numeric_limits<std::int32_t>::max())
      throw DataError("there are too many pairs of texts and labels; raise cut, or read fewer templates");
    listing.begin.push_back(static_cast<std::int32_t>(listing.pairs()));
  }
}

}  // namespace

const CellEntry& linear_model() {
  static const CellEntry entry = CellOf<LinearOptions>{
      .name = "crf", .help = "no layers: labels by weights of what is read", .add = nothing, .fault = fault_of};
  return entry;
}

std::vector<std::string> listed_reads(const DataSpecification& data, const std::vector<std::string>& reads) {
  std::vector<std::string> result;
  std::ranges::copy_if(reads, std::back_inserter(result), [&](const std::string& read) {
    return data.field(parse_read(read).field).type == FieldSpecification::Type::symbols;
  });
  return result;
}

std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                          const std::string& labels, bool all) {
  const DataSpecification& data = examples.data();
  Listing listing{.alphabets = {}, .outputs = data.field(labels).size, .begin = {0}, .outputs_of = {}};
  for (const std::string& read : reads) listing.alphabets.push_back(data.field(parse_read(read).field).size);
  PairFlags flags(listing.symbols(), listing.outputs);
  Index first = 0;
  for (const std::string& read : reads) {
    const FieldRead from = parse_read(read);
    const FieldSpecification& field = data.field(from.field);
    const Symbol unknown = field.alphabet ? field.alphabet->unknown() : kNoSymbol;
    flag_pairs(examples, {examples.column(from.field).symbols, from.back, unknown}, examples.column(labels).symbols,
               first, flags);
    first += field.size;
  }
  take_pairs(flags, all, listing);
  if (listing.pairs() == 0)
    throw DataError(fmt::format("{}: nothing that is read stands beside a label of {}", examples.source(), labels));
  return std::make_shared<const Listing>(std::move(listing));
}

std::vector<std::string> listing_tensors(const std::string& output) {
  return {output + "/listing/begin", output + "/listing/outputs"};
}

void add_listing(SafetensorsWriter& writer, const std::string& output, const Listing& listing) {
  const std::vector<std::string> names = listing_tensors(output);
  writer.add<std::int32_t>(names[0], {static_cast<Index>(listing.begin.size())}, listing.begin);
  writer.add<std::int32_t>(names[1], {listing.pairs()}, listing.outputs_of);
}

std::shared_ptr<const Listing> read_listing(const ModelFile& file, const std::string& output,
                                            const std::vector<std::string>& reads, const std::string& labels) {
  const std::vector<std::string> names = listing_tensors(output);
  const auto has = [&](const std::string& name) {
    return std::ranges::find(file.tensors().tensors(), name, &Tensor::name) != file.tensors().tensors().end();
  };
  if (!has(names[0])) return nullptr;
  const DataSpecification data = file.data();
  Listing listing{.alphabets = {}, .outputs = data.field(labels).size, .begin = {}, .outputs_of = {}};
  for (const std::string& read : listed_reads(data, reads))
    listing.alphabets.push_back(data.field(parse_read(read).field).size);
  listing.begin.resize(at(file.tensors().tensor(names[0]).elements()));
  listing.outputs_of.resize(at(file.tensors().tensor(names[1]).elements()));
  file.tensors().read<std::int32_t>(names[0], {static_cast<Index>(listing.begin.size())}, listing.begin);
  file.tensors().read<std::int32_t>(names[1], {listing.pairs()}, listing.outputs_of);
  try {
    listing.validate();
  } catch (const UsageError& error) {
    file.fail(fmt::format("{}: {}", names[0], error.what()));
  }
  return std::make_shared<const Listing>(std::move(listing));
}

}  // namespace unfold
