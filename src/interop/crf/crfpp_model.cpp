#include <algorithm>
#include <set>
#include <span>

#include "data/examples/templates.h"
#include "interop/crf/crf_formats.h"
#include "interop/crf/line_parser.h"

namespace unfold {
namespace {

constexpr const char *kFirstLabel = "Ufirst", *kLastLabel = "Ulast";

/// Parses a CRF++ text model. Its sections, separated by empty lines, are numbers, labels, templates, feature strings
/// with the offset of their first weight, and weights.
class CrfppReader {
 public:
  CrfppReader(const Input& input, const std::vector<std::string>& columns)
      : lines_(input), name_(input.name()), columns_(columns) {}

  CrfWeights read() {
    (void)value_of("version");
    const double factor = lines_.number(value_of("cost-factor"));
    const Index weights = lines_.whole_number(value_of("maxid"));
    const Index width = lines_.whole_number(value_of("xsize"));
    expect_empty();
    std::vector<std::string> labels;
    for (std::string_view line; !(line = lines_.need("an empty line after the labels")).empty();)
      labels.emplace_back(line);
    if (labels.empty()) lines_.fail("there are no labels");
    CrfWeights crf(std::move(labels));
    crf.columns = width;
    for (std::string_view line; !(line = lines_.need("an empty line after the templates")).empty();)
      take_template(line);
    take_texts(weights, crf);
    take_weights(weights, factor, crf);
    return crf;
  }

 private:
  struct FeatureString {
    std::string_view text;
    Index place;
  };

  std::string_view value_of(std::string_view key) {
    const std::string_view line = lines_.need(key);
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ":")
      lines_.fail(fmt::format("expected \"{}: NUMBER\", as written by `crf_learn -t`", key));
    return line.substr(key.size() + 1);
  }
  void expect_empty() {
    if (!lines_.need("an empty line").empty()) lines_.fail("expected an empty line");
  }

  void take_template(std::string_view line) {
    if (line.front() == 'B' && line.find('%') == std::string_view::npos) {
      bigram_ = std::string(line);
      return;
    }
    const TemplateFile one = read_templates(Input::from_bytes(name_, std::string(line)), columns_);
    reads_[std::string(line.substr(0, line.find(':')))] = line.front() == 'B' ? one.steps.front() : one.reads.front();
  }

  void take_texts(Index weights, CrfWeights& crf) {
    const auto n = static_cast<Index>(crf.labels.size());
    for (std::string_view line; !(line = lines_.need("an empty line after the features")).empty();) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string_view::npos) lines_.fail("expected a number and a feature string");
      const FeatureString found{line.substr(blank + 1), lines_.whole_number(line.substr(0, blank))};
      const Index needed = found.text.starts_with('B') ? n * n : n;
      if (found.place > weights - needed)
        lines_.fail(fmt::format("there are only {} weights, too few for {}", weights, line));
      texts_.push_back(found);
    }
  }

  void take_weights(Index count, double factor, CrfWeights& crf) {
    std::vector<double> weights;  // grows with the data: the declared count is not trusted
    for (Index i = 0; i < count; ++i) weights.push_back(factor * lines_.number(lines_.need("a weight")));
    for (std::string_view line; lines_.next(line);)
      if (!line.empty()) lines_.fail(fmt::format("unexpected content after the {} weights", count));
    const std::size_t n = crf.labels.size();
    for (const FeatureString& found : texts_) {
      const auto from = weights.begin() + found.place;
      if (found.text == bigram_) {
        std::copy(from, from + static_cast<Index>(n * n), crf.transitions.begin());
        continue;
      }
      // Outputs of transitions follow the outputs of labels.
      const bool steps = found.text.starts_with('B');
      const auto outputs = static_cast<Index>(steps ? n * n : n), first = static_cast<Index>(steps ? n : 0);
      put(found.text, first, {from, from + outputs}, crf);
    }
  }

  /// Adds the weights of the outputs from `first` on.
  void put(std::string_view text, Index first, std::span<const double> weights, CrfWeights& crf) {
    const std::string key(text.substr(0, text.find(':')));
    const auto found = reads_.find(key);
    if (found == reads_.end() || key.size() == text.size())
      throw DataError(fmt::format("{}: the feature \"{}\" does not belong to any template", name_, text));
    const auto parts = static_cast<std::size_t>(std::ranges::count(found->second, '|')) + 1;
    const auto all = cuts(text.substr(key.size() + 1), '/', parts);
    if (all.empty())
      throw DataError(fmt::format("{}: the feature \"{}\" has fewer parts than its template", name_, text));
    for (const std::vector<std::string>& cut : all) {
      std::string ours = cut.front();
      for (std::size_t i = 1; i < cut.size(); ++i) ours += '|' + cut[i];
      // If the parts themselves contain '|', several CRF++ strings map to one feature value; it is added only once.
      const auto separators = static_cast<std::size_t>(std::ranges::count(ours, '|'));
      if (separators >= parts && !taken_.insert(key + ':' + ours).second) continue;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (key == kFirstLabel && ours == "_B-1")
          crf.start[i] += weights[i];
        else if (key == kLastLabel && ours == "_B+1")
          crf.stop[i] += weights[i];
        else
          crf.add(found->second, ours, first + static_cast<Index>(i), weights[i]);
      }
    }
  }

  CrfLines lines_;
  std::string name_, bigram_ = "B";
  const std::vector<std::string>& columns_;
  std::map<std::string, std::string, std::less<>> reads_;
  std::vector<FeatureString> texts_;
  std::set<std::string> taken_;  ///< feature values with several CRF++ strings that have been added
};

/// Converts a feature name to the template syntax of CRF++.
std::string crfpp_template(const std::string& name, const std::vector<std::string>& columns, Index& width) {
  std::vector<TemplatePart> parts = parse_template(name);
  if (parts.empty()) parts = {{name, 0}};
  std::string text;
  for (const TemplatePart& part : parts) {
    const auto found = std::ranges::find(columns, part.field);
    if (found == columns.end())
      throw UsageError(
          fmt::format("CRF++ identifies columns by number, and {} of {} is not in the list: name the columns of the "
                      "data in order (--columns word,pos)",
                      part.field, name));
    const Index column = found - columns.begin();
    width = std::max(width, column + 1);
    text += fmt::format("{}%x[{},{}]", text.empty() ? "" : "/", part.offset, column);
  }
  return text;
}

}  // namespace

CrfWeights read_crfpp(const Input& input, const std::vector<std::string>& columns) {
  CrfWeights crf = CrfppReader(input, columns).read();
  input.require_whole();
  return crf;
}

void write_crfpp(const CrfWeights& crf, const std::vector<std::string>& names,
                 const std::function<void(std::string_view)>& write) {
  constexpr Index kMost = 100;
  const std::vector<std::string> columns = names.empty() ? numbered_columns(kMost) : names;
  const std::size_t n = crf.labels.size();
  Index width = 1;
  std::string templates, texts;
  std::vector<double> weights;
  const auto add_text = [&](const std::string& text, std::size_t count) {
    texts += fmt::format("{} {}\n", weights.size(), text);
    weights.resize(weights.size() + count);
    return weights.end() - static_cast<Index>(count);
  };
  /// Adds the weights of labels or of transitions, outputs [first, end), of one feature, with its values split as CRF++
  /// splits them.
  const auto add_read = [&](const CrfWeights::Read& read, const std::string& key, Index first, Index end) {
    const auto parts = static_cast<std::size_t>(std::ranges::count(read.name, '|')) + 1;
    for (const std::string& text : read.texts) {
      const CrfWeights::Weights& all = read.weights.find(text)->second;
      if (all.lower_bound(first) == all.lower_bound(end)) continue;
      for (const std::vector<std::string>& cut : cuts(text, '|', parts)) {
        std::string theirs = key + ":" + cut.front();
        for (std::size_t i = 1; i < cut.size(); ++i) theirs += '/' + cut[i];
        const auto to = add_text(theirs, static_cast<std::size_t>(end - first));
        for (auto each = all.lower_bound(first); each != all.lower_bound(end); ++each)
          to[each->first - first] = each->second;
      }
    }
  };
  const auto labels = static_cast<Index>(n), all_outputs = static_cast<Index>(n + n * n);
  std::string step_templates;
  for (std::size_t r = 0; r < crf.reads.size(); ++r) {
    const CrfWeights::Read& read = crf.reads[r];
    const std::string theirs = crfpp_template(read.name, columns, width);
    const auto has = [&](bool steps) {
      return std::ranges::any_of(read.weights, [&](const auto& text) {
        return std::ranges::any_of(text.second, [&](const auto& each) { return (each.first >= labels) == steps; });
      });
    };
    if (has(false)) {
      templates += fmt::format("U{:02}:{}\n", r, theirs);
      add_read(read, fmt::format("U{:02}", r), 0, labels);
    }
    if (!has(true)) continue;
    step_templates += fmt::format("B{:02}:{}\n", r, theirs);
    add_read(read, fmt::format("B{:02}", r), labels, all_outputs);
  }
  std::ranges::copy(crf.start, add_text(fmt::format("{}:_B-1", kFirstLabel), n));
  std::ranges::copy(crf.stop, add_text(fmt::format("{}:_B+1", kLastLabel), n));
  templates += fmt::format("{}:%x[-1,0]\n{}:%x[1,0]\nB\n{}", kFirstLabel, kLastLabel, step_templates);
  texts += fmt::format("{} B\n", weights.size());
  weights.insert(weights.end(), crf.transitions.begin(), crf.transitions.end());
  write(fmt::format("version: 100\ncost-factor: 1\nmaxid: {}\nxsize: {}\n\n", weights.size(), width));
  for (const std::string& label : crf.labels) write(label + "\n");
  write("\n" + templates + "\n");
  write(texts);
  write("\n");
  for (const double weight : weights) write(fmt::format("{:.16f}\n", weight));
}

}  // namespace unfold
