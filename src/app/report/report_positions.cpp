#include "app/report/report_positions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "app/common/perplexity.h"
#include "app/report/activations.h"
#include "app/sample/piano_roll.h"
#include "model/network/density_model.h"
#include "model/network/order_agnostic.h"
#include "model/network/transduce.h"
#include "unfold/data/examples/example_batches.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

constexpr Index kFarthest = 100, kWindows = 16;

/// Returns the reason why predictions cannot be shown position by position; empty if they can.
template <class T>
std::string reason_against(const NetworkModel<T>& model, const ExampleSet& set) {
  if (is_density(model.spec()) || is_orderless(model.spec())) return "The model has no inputs: it is a distribution.";
  if (reads_source(model.data())) return "Models of a source and a target are not supported.";
  if (set.has_trees() || set.has_grids())
    return "Trees and grids are not supported, because their positions have no order.";
  if (set.count() == 0) return "There are no examples.";
  return {};
}

PageSection empty_section(const std::string& id, const std::string& title, const std::string& why) {
  return {.id = id, .title = title, .missing = why};
}

/// Returns the first examples, up to `most` positions in total; if the first example is longer, its beginning.
ExampleSet first_positions(const ExampleSet& set, Index most) {
  if (set.length(0) > most) return set.part(0, 0, most, 0);
  std::vector<Index> chosen;
  for (Index e = 0, all = 0; e < set.count(); ++e) {
    all += set.length(e);
    if (all > most) break;
    chosen.push_back(e);
  }
  return set.subset(chosen);
}

/// A position whose state is analyzed: index of the example, position within it.
using Window = std::pair<Index, Index>;

/// Chooses positions spread over the examples: the last position of each, or the middle one for bidirectional models;
/// several per example if there are few examples.
std::set<Window> windows_of(const ExampleSet& set, bool both_directions) {
  const Index count = std::min(kWindows, set.count()), each = (kWindows + count - 1) / count;
  std::set<Window> windows;
  for (Index i = 0; i < count; ++i) {
    const Index example = i * set.count() / count, length = set.length(example);
    for (Index k = 1; k <= each; ++k) {
      const Index position = both_directions ? length * k / (each + 1) : length * k / each - 1;
      if (position >= 0) windows.emplace(example, position);
    }
  }
  return windows;
}

template <class T>
class PositionLook {
 public:
  PositionLook(const NetworkModel<T>& model, const ExampleSet& set, const PositionPredictions* said, std::string data,
               Team& team)
      : model_(model),
        set_(set),
        shown_(first_positions(set, kShownPositions)),
        said_(said),
        data_(std::move(data)),
        watched_(model.spec(), model.data(), model.layout(), model.parameters()),
        pass_(watched_, team),
        reads_(model.layout().reads) {
    // Values of the data itself are more informative than numbers that are derived from dates (Time.hour).
    std::stable_partition(reads_.begin(), reads_.end(), [](const std::string& read) {
      return parse_read(read).field.find('.') == std::string::npos;
    });
  }

  std::vector<PageSection> sections() {
    std::vector<PageSection> found = {text()};
    const Batch batch = batch_of(shown_);
    pass_.read(batch);
    const ShownPlaces places = places_of(batch);
    const Activity<T> activity(watched_, pass_, places);
    found.push_back(activity.neurons());
    found.push_back(activity.gates());
    found.push_back(lags());
    return found;
  }

 private:
  const FieldSpecification& field(const std::string& name) const { return model_.data().field(name); }

  /// Returns the notes of a piano roll, "60,64", or the first components of a vector.
  std::string vector_text(const FieldSpecification& of, std::span<const float> values) const {
    constexpr std::size_t kShownNumbers = 4;
    std::vector<std::string> shown;
    if (model_.data().source == "rolls") {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > 0.5F) shown.push_back(fmt::format("{}", at(kLowestNote) + i));
      return shown.empty() ? "-" : fmt::format("{}", fmt::join(shown, ","));
    }
    for (std::size_t i = 0; i < std::min(kShownNumbers, values.size()); ++i)
      shown.push_back(number_text(of, static_cast<Index>(i), values[i], 3));
    return fmt::format("{}{}", fmt::join(shown, ","), values.size() > kShownNumbers ? ",..." : "");
  }

  /// Returns the value of an entry of a field as text.
  std::string entry_of(const std::string& name, Index entry) const {
    const FieldSpecification& of = field(name);
    const FieldColumn& column = shown_.column(name);
    if (of.type == Type::values)
      return column.present[at(entry)] == 0
                 ? std::string()
                 : vector_text(of, std::span(column.values).subspan(at(entry * of.size), at(of.size)));
    const Symbol x = column.symbols[at(entry)];
    return x == kNoSymbol || !of.alphabet ? std::string() : std::string(of.alphabet->text(x));
  }

  /// Returns the input at position t of an example: the value of the first field that is not missing there.
  std::string read_at(Index example, Index t) const {
    for (const Type type : {Type::symbols, Type::values})
      for (const std::string& name : reads_) {
        const FieldRead read = parse_read(name);
        if (!shown_.has(read.field) || t < read.back) continue;
        const FieldSpecification& of = field(read.field);
        if (of.type != type || of.once || of.source || of.spelt) continue;
        if (std::string text = entry_of(read.field, shown_.begin(example) + t - read.back); !text.empty()) return text;
      }
    return "·";
  }

  bool is_read(const std::string& name) const {
    return std::ranges::any_of(reads_, [&](const std::string& read) { return parse_read(read).field == name; });
  }

  PageSection text() const {
    PageSection section{.id = "text", .title = "Text colored by surprisal"};
    section.missing = "The model makes one prediction per example: see the worst predictions.";
    if (said_ == nullptr) return section;
    const std::string& predicted = model_.network().heads[said_->head].field;
    if (field(predicted).type == Type::values) section.title = "Values by surprisal";
    const bool itself = is_read(predicted);  // the text is the predicted value itself; otherwise it is the input
    section.note =
        fmt::format("The beginning of {}. Redder positions have higher surprisal (bits) of the field {}{}.", data_,
                    predicted, said_->guesses.empty() ? "" : "; hover over a symbol to see the predicted alternatives");
    Dictionary dictionary;
    PageJson symbols = PageJson::array();
    for (Index e = 0; e < shown_.count(); ++e) {
      for (Index t = 0; t < shown_.length(e); ++t) {
        const Index entry = shown_.begin(e) + t;  // shown_ is the beginning of the whole set, so this is also an index
                                                  // into the whole set
        std::string there = entry_of(predicted, entry);
        if (there.empty()) there = "·";
        const std::string shown = itself ? there : read_at(e, t);
        PageJson guesses = PageJson::array();
        for (const auto& [label, p] : guesses_at(entry)) {
          const std::string name(field(predicted).alphabet->text(label));
          guesses.push_back(dictionary.add(name, name));
          guesses.push_back(static_cast<int>(std::lround(1000 * p)));
        }
        const double nats = said_->nats[at(entry)];
        PageJson place = {dictionary.add(shown, itself ? there : fmt::format("{}: {}", shown, there)),
                          std::isnan(nats) ? PageJson() : PageJson(rounded(bits(nats), 0.01)), std::move(guesses)};
        symbols.push_back(std::move(place));
      }
      PageJson end = {dictionary.add("\n", "the end of an example"), PageJson(), PageJson::array()};
      symbols.push_back(std::move(end));
    }
    section.blocks.push_back({{"kind", "surprise"},
                              {"words", true},
                              {"texts", std::move(dictionary.texts)},
                              {"names", std::move(dictionary.names)},
                              {"symbols", std::move(symbols)}});
    return section;
  }

  std::vector<LabelGuess> guesses_at(Index entry) const {
    return entry < static_cast<Index>(said_->guesses.size()) ? said_->guesses[at(entry)] : std::vector<LabelGuess>();
  }

  /// Pairs of a text and a description, without duplicates.
  struct Dictionary {
    PageJson texts = PageJson::array(), names = PageJson::array();
    std::map<std::pair<std::string, std::string>, Index> places = {};
    Index add(const std::string& text, const std::string& name) {
      const auto [place, added] = places.try_emplace({text, name}, static_cast<Index>(places.size()));
      if (added) {
        texts.push_back(text);
        names.push_back(name);
      }
      return place->second;
    }
  };

  /// Returns all examples of a set in one batch.
  Batch batch_of(const ExampleSet& set) const {
    ExampleBatchOptions options = batch_options(model_.layout());
    options.batch = set.count();
    options.window = 0;
    Batch batch;
    example_reader(set, options)->next(batch);
    return batch;
  }

  ShownPlaces places_of(const Batch& batch) const {
    std::vector<Index> chain(at(shown_.count()));
    for (Index c = 0; c < batch.structure.sequences(); ++c) chain[at(batch.passages[at(c)])] = c;
    ShownPlaces places{.words = true};
    for (Index e = 0; e < shown_.count(); ++e) {
      for (Index t = 0; t < shown_.length(e); ++t) {
        places.texts.push_back(read_at(e, t));
        places.rows.push_back(batch.structure.row(chain[at(e)], t));
      }
      places.texts.emplace_back("\n");
      places.rows.push_back(-1);
    }
    return places;
  }

  /// Adds the gradient norms of the state at a window's position, by distance before and after it.
  void follow(const Window& window, std::vector<std::vector<double>>& before,
              std::vector<std::vector<double>>& behind) {
    const auto [example, position] = window;
    const Index reach = 2 * kFarthest;  // extends beyond the largest lag, so the initial state has no effect
    const Index from = std::max<Index>(0, position - reach), length = set_.length(example);
    const Index to = both_directions() ? std::min(length, position + reach + 1) : position + 1;
    const ExampleSet part = set_.part(example, from, to, 0);
    const std::vector<std::vector<T>> seeds = state_seeds<T>(state_size(), 1);
    const std::vector<Index> copies(seeds.size(), 0);
    const ExampleSet copied = part.subset(copies);
    const Batch batch = batch_of(copied);
    pass_.read(batch);
    const Index own = position - from;
    for (std::size_t c = 0; c < seeds.size(); ++c) {
      const T* seed = seeds[c].data();
      for (const Signal hidden : state()) {
        std::copy_n(seed, hidden.size(), pass_.adjoint(hidden).row(batch.structure.row(static_cast<Index>(c), own)));
        seed += hidden.size();
      }
    }
    std::vector<double> sum(at(to - from));
    for (const std::vector<double>& chain : pass_.squares())
      for (std::size_t t = 0; t < chain.size(); ++t) sum[t] += chain[t];
    for (Index t = 0; t < static_cast<Index>(sum.size()); ++t) {
      const Index lag = std::abs(own - t);
      if (lag > 0 && lag <= kFarthest) (t < own ? before : behind)[at(lag - 1)].push_back(std::sqrt(sum[at(t)]));
    }
  }

  bool both_directions() const { return model_.spec().both_directions; }
  /// Returns the signals that the output reads: the last layer, in both directions for bidirectional models.
  std::span<const Signal> state() const {
    return std::span(watched_.hidden())
        .last(std::min<std::size_t>(watched_.hidden().size(), both_directions() ? 2 : 1));
  }
  Index state_size() const {
    Index size = 0;
    for (const Signal hidden : state()) size += hidden.size();
    return size;
  }

  PageSection lags() {
    PageSection section{.id = "lags",
                        .title = "Influence of earlier inputs",
                        .note =
                            "The mean norm of the gradient of the state with respect to the input at a given distance "
                            "before or after the position."};
    section.missing = "The model has no state, so there are no gradients.";
    if (watched_.hidden().empty() || watched_.readers().empty()) return section;
    const std::set<Window> windows = windows_of(set_, both_directions());
    std::vector<std::vector<double>> before(at(kFarthest)), behind(at(kFarthest));
    for (const Window& window : windows) follow(window, before, behind);
    std::vector<ChartSeries> series;
    for (const auto& [name, norms] : {std::pair{"before", &before}, std::pair{"behind", &behind}})
      if (Curve curve = mean_curve(name, *norms, windows.size()); !curve.points.empty())
        series.push_back({.curve = std::move(curve)});
    section.missing = "Its examples are one position long.";
    if (series.empty()) return section;
    add_lags(section, "positions away", series, fmt::format("{} positions of {}", windows.size(), data_),
             state_size() > kStateSeeds);
    return section;
  }

  /// Returns the mean over windows for each lag that at least half of the windows have.
  static Curve mean_curve(const char* name, const std::vector<std::vector<double>>& norms, std::size_t windows) {
    Curve curve{.label = name, .points = {}};
    for (std::size_t k = 0; k < norms.size(); ++k) {
      if (norms[k].empty() || 2 * norms[k].size() < windows) continue;
      const double mean = std::accumulate(norms[k].begin(), norms[k].end(), 0.0) / static_cast<double>(norms[k].size());
      curve.points.push_back({static_cast<double>(k + 1), {mean, mean, mean}});
    }
    return curve;
  }

  const NetworkModel<T>& model_;
  const ExampleSet& set_;
  ExampleSet shown_;
  const PositionPredictions* said_;
  std::string data_;
  Watched<T> watched_;
  Gradients<T> pass_;
  std::vector<std::string> reads_;
};

}  // namespace

std::string short_decimal(double x, int digits) {
  constexpr double kLargest = 1e9, kSmallest = 1e-4;
  const double size = std::fabs(x);
  if (!std::isfinite(x) || size >= kLargest || (size > 0 && size < kSmallest)) return fmt::format("{:.{}g}", x, digits);
  return size < std::pow(10, digits) - 0.5 ? fmt::format("{:.{}g}", x, digits) : fmt::format("{:.0f}", x);
}

std::string number_text(const FieldSpecification& field, Index component, float z, int digits) {
  const double x = restored(field, component, static_cast<double>(z));
  const double mean = field.mean.empty() ? 0 : field.mean[at(component)];
  const double rounding = std::numeric_limits<float>::epsilon() * (std::fabs(mean) + std::fabs(x - mean));
  return std::fabs(x) <= rounding ? "0" : short_decimal(x, digits);
}

template <class T>
std::vector<PageSection> position_sections(const NetworkModel<T>& model, const ExampleSet& set,
                                           const PositionPredictions* said, const std::string& data, Team& team) {
  std::string why = reason_against(model, set);
  if (why.empty()) return PositionLook<T>(model, set, said, data, team).sections();
  return {empty_section("text", "Text colored by surprisal", why), empty_section("neurons", "Neurons", why),
          empty_section("gates", "Gates", why), empty_section("lags", "Influence of earlier inputs", why)};
}

template std::vector<PageSection> position_sections(const NetworkModel<float>&, const ExampleSet&,
                                                    const PositionPredictions*, const std::string&, Team&);
template std::vector<PageSection> position_sections(const NetworkModel<double>&, const ExampleSet&,
                                                    const PositionPredictions*, const std::string&, Team&);

}  // namespace unfold
