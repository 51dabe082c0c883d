#include <algorithm>

#include "interop/crf/crf_formats.h"
#include "interop/crf/line_parser.h"

namespace unfold {
namespace {

constexpr std::string_view kBegins = "__BOS__", kEnds = "__EOS__", kArrow = " --> ", kFileHeader = "FILEHEADER = {";

/// A line "  (0) FROM --> TO: WEIGHT". Both names may contain any character except a newline.
struct DumpedWeight {
  std::string_view from, to;
  double weight = 0;
};

/// Parses the sections of a dump in order.
class CrfsuiteReader {
 public:
  CrfsuiteReader(const Input& input, const std::map<std::string, std::string, std::less<>>& templates)
      : lines_(input), templates_(templates) {}

  CrfWeights read() {
    section(kFileHeader, [&](std::string_view line) {
      if (line.find("type:") != std::string_view::npos && line.find("FOMC") == std::string_view::npos)
        lines_.fail("the model is not a first-order CRF (FOMC); other types are not supported");
    });
    std::vector<std::string> names;
    section("LABELS = {", [&](std::string_view line) { names.emplace_back(listed(line)); });
    if (names.empty()) lines_.fail("there are no labels");
    CrfWeights crf(std::move(names));
    for (std::size_t y = 0; y < crf.labels.size(); ++y) labels_[crf.labels[y]] = static_cast<Index>(y);
    section("ATTRIBUTES = {", [](std::string_view) {});
    section("TRANSITIONS = {", [&](std::string_view line) {
      const DumpedWeight found = weight_in(line);
      crf.transitions[at(label(found.from)) * crf.labels.size() + at(label(found.to))] += found.weight;
    });
    section("STATE_FEATURES = {", [&](std::string_view line) { take_feature(weight_in(line), crf); });
    if (crf.reads.empty()) lines_.fail("no attribute has a weight");
    return crf;
  }

 private:
  template <class Use>
  void section(std::string_view head, const Use& use) {
    std::string_view line = lines_.need(head);
    while (line.empty()) line = lines_.need(head);
    if (line != head) lines_.fail(fmt::format("expected \"{}\", as printed by `crfsuite dump`", head));
    while ((line = lines_.need("}")) != "}") use(line);
  }
  /// Parses "      3: NAME".
  std::string_view listed(std::string_view line) const {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) lines_.fail("expected a number, a colon and a name");
    return line.substr(colon + 2);
  }
  /// Parses a weight from right to left, because only the label is known: the name before it may contain arrows and
  /// colons.
  DumpedWeight weight_in(std::string_view line) const {
    const std::size_t open = line.find(") "), colon = line.rfind(": "), arrow = line.substr(0, colon).rfind(kArrow);
    if (open == std::string_view::npos || colon == std::string_view::npos || arrow == std::string_view::npos ||
        arrow < open + 2)
      lines_.fail("expected a line \"(0) ATTRIBUTE --> LABEL: WEIGHT\"");
    const std::size_t to = arrow + kArrow.size();
    return {line.substr(open + 2, arrow - open - 2), line.substr(to, colon - to),
            lines_.number(line.substr(colon + 2))};
  }
  Index label(std::string_view name) const {
    const auto found = labels_.find(name);
    if (found == labels_.end()) lines_.fail(fmt::format("there is no label {}", name));
    return found->second;
  }

  void take_feature(const DumpedWeight& found, CrfWeights& crf) const {
    const Index y = label(found.to);
    if (found.from == kBegins) {
      crf.start[at(y)] += found.weight;
    } else if (found.from == kEnds) {
      crf.stop[at(y)] += found.weight;
    } else if (const std::size_t colon = found.from.find(':');
               colon != std::string_view::npos && templates_.contains(found.from.substr(0, colon))) {
      const std::string& name = templates_.find(found.from.substr(0, colon))->second;
      const auto parts = static_cast<std::size_t>(std::ranges::count(name, '|')) + 1;
      const auto all = cuts(found.from.substr(colon + 1), '/', parts);
      if (all.empty())
        lines_.fail(fmt::format("the attribute {} has fewer parts than its template {}", found.from, name));
      for (const std::vector<std::string>& cut : all) crf.add(name, joined(cut), y, found.weight);
    } else {
      const std::size_t equals = found.from.find('=');
      if (equals == std::string_view::npos || equals == 0)
        lines_.fail(
            fmt::format("the attribute \"{}\" is neither of the form NAME=TEXT, where NAME is a column or a template "
                        "(\"word[-1]\"), nor of a CRF++ template (--template FILE)",
                        found.from));
      crf.add(std::string(found.from.substr(0, equals)), std::string(found.from.substr(equals + 1)), y, found.weight);
    }
  }
  static std::string joined(const std::vector<std::string>& parts) {
    std::string text = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) text += '|' + parts[i];
    return text;
  }

  CrfLines lines_;
  const std::map<std::string, std::string, std::less<>>& templates_;
  std::map<std::string, Index, std::less<>> labels_;
};

}  // namespace

CrfWeights read_crfsuite(const Input& input, const std::map<std::string, std::string, std::less<>>& templates) {
  CrfWeights crf = CrfsuiteReader(input, templates).read();
  input.require_whole();
  return crf;
}

void write_crfsuite(const CrfWeights& crf, const std::function<void(std::string_view)>& write) {
  std::size_t attributes = 2, features = 2 * crf.labels.size() + crf.transitions.size();
  for (const CrfWeights::Read& read : crf.reads) {
    attributes += read.texts.size();
    for (const auto& [text, weights] : read.weights) features += weights.size();
  }
  write(
      fmt::format("{}\n  magic: lCRF\n  size: 0\n  type: FOMC\n  version: 100\n  num_features: {}\n"
                  "  num_labels: {}\n  num_attrs: {}\n}}\n\nLABELS = {{\n",
                  kFileHeader, features, crf.labels.size(), attributes));
  for (std::size_t y = 0; y < crf.labels.size(); ++y) write(fmt::format("  {:5}: {}\n", y, crf.labels[y]));
  write("}\n\nATTRIBUTES = {\n");
  std::size_t number = 0;
  for (const std::string_view name : {kBegins, kEnds}) write(fmt::format("  {:5}: {}\n", number++, name));
  for (const CrfWeights::Read& read : crf.reads)
    for (const std::string& text : read.texts) write(fmt::format("  {:5}: {}={}\n", number++, read.name, text));
  write("}\n\nTRANSITIONS = {\n");
  for (std::size_t i = 0; i < crf.labels.size(); ++i)
    for (std::size_t j = 0; j < crf.labels.size(); ++j)
      write(fmt::format("  (1) {}{}{}: {:.9g}\n", crf.labels[i], kArrow, crf.labels[j],
                        crf.transitions[i * crf.labels.size() + j]));
  write("}\n\nSTATE_FEATURES = {\n");
  for (std::size_t y = 0; y < crf.labels.size(); ++y) {
    write(fmt::format("  (0) {}{}{}: {:.9g}\n", kBegins, kArrow, crf.labels[y], crf.start[y]));
    write(fmt::format("  (0) {}{}{}: {:.9g}\n", kEnds, kArrow, crf.labels[y], crf.stop[y]));
  }
  for (const CrfWeights::Read& read : crf.reads)
    for (const std::string& text : read.texts)
      for (const auto& [label, weight] : read.weights.find(text)->second)
        write(fmt::format("  (0) {}={}{}{}: {:.9g}\n", read.name, text, kArrow, crf.labels[at(label)], weight));
  write("}\n");
}

}  // namespace unfold
