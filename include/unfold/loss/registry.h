#pragma once
/// The registry of losses that a SPEC can select for a head: `choose_loss("mixture:5").make<float>()`. Each entry of
/// the library is defined in the source file of its loss; the list is registry.def. Programs add their own losses:
///
///   register_loss({.name = "quantile", .help = "pinball loss of the 0.9 quantile", .of_symbols = false,
///                  .make_float = [] { return std::make_unique<QuantileLoss<float>>(); },
///                  .make_double = [] { return std::make_unique<QuantileLoss<double>>(); }});
///
/// A model file contains the name and no code: a program that loads the model must first register the same loss.

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/options/registry.h"
#include "unfold/loss/loss.h"

namespace unfold {

/// Creates a loss, either without arguments or from the options of its entry.
template <class T>
class LossMaker {
 public:
  LossMaker() = default;
  template <class Make>
  requires(!std::same_as<Make, LossMaker>)  //
      LossMaker(Make make) {                // NOLINT(google-explicit-constructor): it is that function
    if constexpr (std::invocable<Make&>)
      make_ = [make](const AnyOptions&) { return make(); };
    else
      make_ = make;
  }
  std::unique_ptr<Loss<T>> operator()(const AnyOptions& options) const { return make_(options); }
  explicit operator bool() const { return make_ != nullptr; }

 private:
  std::function<std::unique_ptr<Loss<T>>(const AnyOptions&)> make_;
};

/// The kind of values for which the loss is a density; `sequences` are sequences of numeric vectors.
enum class Density { none, bits, numbers, orderless_bits, orderless_numbers, sequences };

inline bool observes_bits(Density d) { return d == Density::bits || d == Density::orderless_bits; }
inline bool is_orderless(Density d) { return d == Density::orderless_bits || d == Density::orderless_numbers; }

struct LossEntry {
  std::string name, help;
  bool of_symbols;  ///< whether the loss observes symbols; otherwise it observes vectors
  LossMaker<float> make_float = {};
  LossMaker<double> make_double = {};
  AnyOptions options = {};       ///< the default options
  std::string main_option = {};  ///< the option that a bare number in a SPEC sets; empty: none
  /// Signal size for predicting a field; if empty, it equals the field size.
  std::function<Index(Index field_size, const AnyOptions&)> size_of_signal = {};
  Density density = Density::none;  ///< if not none, the loss can be a standalone model

  /// Uses the default options; `choose_loss` takes them from a SPEC.
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

/// Adds a loss to `losses()`. Call it before models are created or loaded. Throws UsageError if the name is taken, does
/// not begin with a letter, or contains anything but lowercase letters, digits and "-".
void register_loss(LossEntry entry);

/// An entry with its options.
struct ChosenLoss {
  const LossEntry& entry;
  AnyOptions options;

  /// Returns the signal size for predicting a field with the given number of symbols or of values per row.
  Index signal_size(Index field_size) const {
    return entry.size_of_signal ? entry.size_of_signal(field_size, options) : field_size;
  }
  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    return entry.make<T>(options);
  }
};

/// Throws UsageError for an unknown loss or option (suggesting the nearest name) and for a value out of range.
ChosenLoss choose_loss(std::string_view spec);

}  // namespace unfold
