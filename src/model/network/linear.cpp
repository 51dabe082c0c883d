#include "model/network/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

Signal nothing(Circuit&, Signal x, Index, const LinearOptions&) { return x; }

std::string fault_of(const StackOptions& stack, const LinearOptions& options) {
  if (options.hash > 0 && options.cut > 1) return "hashed strings are not counted; leave out cut= or hash=";
  if (stack.needs_layers())
    return "the linear model has no layers; it supports only the options cut, hash, all and steps";
  return {};
}

/// A field that is read, position by position.
struct ReadColumn {
  const std::vector<Symbol>& symbols;
  Index back;
  Symbol unknown;
};

/// The pairs seen, as packed rows of flags [symbols x outputs]; alphabets are large, and few pairs occur.
class PairFlags {
 public:
  PairFlags(Index symbols, Index outputs) : outputs_(outputs), words_((outputs + 63) / 64) {
    flags_.assign(at(symbols * words_), 0);
  }
  void set(Index symbol, Index output) {
    flags_[at(symbol * words_ + output / 64)] |= std::uint64_t{1} << (output % 64);
  }
  bool has(Index symbol, Index output) const {
    return ((flags_[at(symbol * words_ + output / 64)] >> (output % 64)) & 1U) != 0;
  }
  Index outputs() const { return outputs_; }

 private:
  Index outputs_, words_;
  std::vector<std::uint64_t> flags_;
};

/// The outputs for which an input has weights: labels, with `each` states, followed by the transitions between labels.
struct Weighed {
  Index labels, each;
  bool of_labels, of_steps;

  Range labels_range() const { return {0, of_labels ? labels * each : 0}; }
  Range steps_range() const { return {labels, of_steps ? labels + labels * labels : labels}; }
};

/// Sets the flags of the pairs of a column and the labels.
void flag_pairs(const ExampleSet& examples, const ReadColumn& column, const std::vector<Symbol>& labels, Index first,
                const Weighed& weighed, PairFlags& flags) {
  for (Index e = 0; e < examples.count(); ++e)
    for (Index t = column.back; t < examples.length(e); ++t) {
      const Index position = examples.begin(e) + t;
      const Symbol read = column.symbols[at(position - column.back)], label = labels[at(position)];
      if (read == kNoSymbol || read == column.unknown || label == kNoSymbol) continue;
      for (Index k = 0; weighed.of_labels && k < weighed.each; ++k) flags.set(first + read, label * weighed.each + k);
      const Symbol before = t > 0 ? labels[at(position - 1)] : kNoSymbol;
      if (weighed.of_steps && before != kNoSymbol)
        flags.set(first + read, weighed.labels + before * weighed.labels + label);
    }
}

/// Lists the pairs of the symbols [first, last).
void take_pairs(const PairFlags& flags, Range symbols, const Weighed& weighed, bool all, Listing& listing) {
  for (Index symbol = symbols.begin; symbol < symbols.end; ++symbol) {
    for (const Range outputs : {weighed.labels_range(), weighed.steps_range()}) {
      bool any = false;
      for (Index o = outputs.begin; o < outputs.end; ++o) any = any || flags.has(symbol, o);
      for (Index o = outputs.begin; o < outputs.end && any; ++o)
        if (all || flags.has(symbol, o)) listing.outputs_of.push_back(static_cast<std::int32_t>(o));
    }
    if (listing.pairs() > std::numeric_limits<std::int32_t>::max())
      throw DataError("there are too many pairs of strings and labels; increase cut, or read fewer templates");
    listing.begin.push_back(static_cast<std::int32_t>(listing.pairs()));
  }
}

}  // namespace

const CellEntry& linear_model() {
  static const CellEntry entry =
      CellOf<LinearOptions>{.name = "crf",
                            .help = "linear model without layers: label scores are linear in the inputs",
                            .add = nothing,
                            .fault = fault_of};
  return entry;
}

std::vector<std::string> listed_reads(const DataSpecification& data, const std::vector<std::string>& reads) {
  std::vector<std::string> result;
  std::ranges::copy_if(reads, std::back_inserter(result), [&](const std::string& read) {
    return data.field(parse_read(read).field).type == FieldSpecification::Type::symbols;
  });
  return result;
}

StepReads StepReads::parse(std::string_view option) {
  StepReads result;
  while (!option.empty()) {
    const std::size_t end = std::min(option.find(';'), option.size());
    std::string name(option.substr(0, end));
    option.remove_prefix(std::min(end + 1, option.size()));
    const bool alone = name.ends_with('!');
    if (alone) name.pop_back();
    if (name.empty()) throw UsageError("--model crf: steps contains an empty name");
    result.steps.push_back(name);
    if (alone) result.alone.push_back(std::move(name));
  }
  return result;
}

std::string StepReads::option() const {
  std::string text;
  for (const std::string& name : steps)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ";", name, std::ranges::find(alone, name) != alone.end() ? "!" : "");
  return text;
}

std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                          const std::string& labels, const LinearOptions& options,
                                          const std::string& loss) {
  const DataSpecification& data = examples.data();
  const Index n = data.field(labels).size;
  const StepReads steps = StepReads::parse(options.steps);
  const bool of_steps = !steps.steps.empty();
  const Index outputs = choose_loss(loss.empty() ? "softmax" : loss).signal_size(n);
  if (of_steps ? outputs != n + n * n : outputs % n != 0 || outputs == n + n * n)
    throw UsageError(
        fmt::format("--model crf: {} has the loss {}, {}", labels, loss.empty() ? "softmax" : loss,
                    of_steps ? "which has no transition scores; use crf:steps=read"
                             : "but no input has weights for transitions; name one (--model crf:steps=word[0])"));
  Listing listing{.alphabets = {}, .outputs = outputs, .begin = {0}, .outputs_of = {}};
  for (const std::string& read : reads) listing.alphabets.push_back(data.field(parse_read(read).field).size);
  PairFlags flags(listing.symbols(), listing.outputs);
  Index first = 0;
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const std::string& read : reads) {
    const FieldRead from = parse_read(read);
    const FieldSpecification& field = data.field(from.field);
    if (examples.column(from.field).symbols.size() != examples.column(labels).symbols.size())
      throw UsageError(fmt::format(
          "--model crf: {} and {} do not have the same positions, such as words and one label per example; use "
          "a network, for example --model bag:128",
          from.field, labels));
    const Symbol unknown = field.alphabet ? field.alphabet->unknown() : kNoSymbol;
    const Weighed weighed{n, of_steps ? 1 : outputs / n, !among(steps.alone, from.field),
                          among(steps.steps, from.field)};
    flag_pairs(examples, {examples.column(from.field).symbols, from.back, unknown}, examples.column(labels).symbols,
               first, weighed, flags);
    take_pairs(flags, {first, first + field.size}, weighed, options.all, listing);
    first += field.size;
  }
  if (listing.pairs() == 0)
    throw DataError(fmt::format("{}: no input occurs together with a label of {}", examples.source(), labels));
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
                                            const std::vector<std::string>& reads, Index outputs) {
  const std::vector<std::string> names = listing_tensors(output);
  const auto has = [&](const std::string& name) {
    return std::ranges::find(file.tensors().tensors(), name, &Tensor::name) != file.tensors().tensors().end();
  };
  if (!has(names[0])) return nullptr;
  const DataSpecification data = file.data();
  Listing listing{.alphabets = {}, .outputs = outputs, .begin = {}, .outputs_of = {}};
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
