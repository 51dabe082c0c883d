#pragma once
/// All losses that a head can be given by a SPEC: `choose_loss("mixture:5").make<float>()`. Each entry stands beside
/// its loss; the list is registry.def.

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/registry.h"
#include "unfold/losses/loss.h"

namespace unfold {

/// Makes a loss: from nothing, or from the options of its entry.
template <class T>
class LossMaker {
 public:
  template <class Make>
  requires(!std::same_as<Make, LossMaker>)  //
      LossMaker(Make make) {                // NOLINT(google-explicit-constructor): it is that function
    if constexpr (std::invocable<Make&>)
      make_ = [make](const AnyOptions&) { return make(); };
    else
      make_ = make;
  }
  std::unique_ptr<Loss<T>> operator()(const AnyOptions& options) const { return make_(options); }

 private:
  std::function<std::unique_ptr<Loss<T>>(const AnyOptions&)> make_;
};

/// What a loss is a distribution of whole vectors of; of `sequences` it is one of vectors of numbers, one after
/// another.
enum class Density { none, bits, numbers, orderless_bits, orderless_numbers, sequences };

inline bool observes_bits(Density d) { return d == Density::bits || d == Density::orderless_bits; }
inline bool is_orderless(Density d) { return d == Density::orderless_bits || d == Density::orderless_numbers; }

struct LossEntry {
  std::string name, help;
  bool of_symbols;  ///< it observes symbols; otherwise vectors
  LossMaker<float> make_float;
  LossMaker<double> make_double;
  AnyOptions options = {};       ///< with their defaults
  std::string main_option = {};  ///< that the bare number of a SPEC sets; empty: none
  /// How large a signal is that predicts a field; none: as large as the field.
  std::function<Index(Index field_size, const AnyOptions&)> size_of_signal = {};
  Density density = Density::none;  ///< not none: it may be a model by itself (models/density_model.h)

  /// With the default options; `choose_loss` takes them from a SPEC.
  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    return make<T>(options);
  }
  template <class T>
  std::unique_ptr<Loss<T>> make(const AnyOptions& chosen) const {
    if constexpr (sizeof(T) == sizeof(float))
      return make_float(chosen);
    else
      return make_double(chosen);
  }
};

const Registry<LossEntry>& losses();

/// An entry with its options.
struct ChosenLoss {
  const LossEntry& entry;
  AnyOptions options;

  /// Of the signal that predicts a field of so many symbols, or numbers a row.
  Index signal_size(Index field_size) const {
    return entry.size_of_signal ? entry.size_of_signal(field_size, options) : field_size;
  }
  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    return entry.make<T>(options);
  }
};

/// Throws UsageError for a loss or an option that is not there, naming the nearest, and for a value out of range.
ChosenLoss choose_loss(std::string_view spec);

}  // namespace unfold
