#include "unfold/data/examples/specification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/data/text/text_batches.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
using Type = FieldSpecification::Type;

constexpr Index kLargestField = Index{1} << 24;

Json field_to_json(const FieldSpecification& field) {
  Json json = {{"name", field.name}, {"type", field.type == Type::symbols ? "symbols" : "values"}};
  if (field.alphabet)
    json["alphabet"] = field.alphabet->to_json();
  else
    json["size"] = field.size;
  if (field.once) json["once"] = true;
  if (field.source) json["source"] = true;
  if (field.spelt) json["spelt"] = true;
  if (!field.mean.empty()) json["mean"] = field.mean;
  if (!field.deviation.empty()) json["deviation"] = field.deviation;
  return json;
}

[[noreturn]] void fail(const std::string& field, const std::string& what) {
  throw ModelError(fmt::format("the field \"{}\" in the card {}", field, what));
}

void check_standardization(const FieldSpecification& field) {
  const auto size = static_cast<std::size_t>(field.size);
  if (field.mean.size() != field.deviation.size() || (!field.mean.empty() && field.mean.size() != size))
    fail(field.name, "has a standardization of the wrong size");
  for (std::size_t i = 0; i < field.mean.size(); ++i)
    if (!std::isfinite(field.mean[i]) || !std::isfinite(field.deviation[i]) || !(field.deviation[i] > 0))
      fail(field.name, "has a standardization with a number that is not finite, or a deviation that is not above 0");
}

/// Checks the invariants that code using such fields relies on. `named`: symbols have names, except in generated tasks.
void check_kind(const FieldSpecification& field, bool named) {
  const bool symbols = field.type == Type::symbols;
  if (symbols ? named && !field.alphabet : field.alphabet != nullptr)
    fail(field.name, symbols ? "contains symbols but has no alphabet" : "contains numbers but has an alphabet");
  if (field.spelt && (!symbols || field.once || field.source || !field.name.ends_with(".chars")))
    fail(field.name, "is a character-level field, which requires text at every position");
}

FieldSpecification field_from_json(const Json& json, bool named) {
  FieldSpecification field{.name = json.at("name").get<std::string>()};
  const auto type = json.at("type").get<std::string>();
  if (type != "symbols" && type != "values") fail(field.name, "contains neither symbols nor values");
  field.type = type == "symbols" ? Type::symbols : Type::values;
  if (json.contains("alphabet")) {
    field.alphabet = std::make_shared<const Alphabet>(Alphabet::from_json(json["alphabet"]));
    field.size = field.alphabet->size();
  } else {
    field.size = whole_number<Index>(json.at("size")).value_or(0);
  }
  if (field.size < 1 || field.size > kLargestField)
    fail(field.name, fmt::format("has a size that is not from 1 to {}", kLargestField));
  field.once = json.value("once", false);
  field.source = json.value("source", false);
  field.spelt = json.value("spelt", false);
  field.mean = json.value("mean", std::vector<double>());
  field.deviation = json.value("deviation", std::vector<double>());
  check_standardization(field);
  check_kind(field, named);
  return field;
}

void check_field(const FieldSpecification& expected, const Field& rows) {
  if (const auto* symbols = std::get_if<SymbolRows>(&rows)) {
    if (expected.type != Type::symbols)
      throw DataError(fmt::format("field {} contains symbols, but the model expects numbers", expected.name));
    for (const Symbol x : symbols->symbols)
      if (x != kNoSymbol && (x < 0 || x >= expected.size))
        throw DataError(fmt::format("field {} contains symbol {}, which is not in the alphabet of size {}",
                                    expected.name, x, expected.size));
    return;
  }
  const Index cols = std::get<ValueRows>(rows).cols();
  if (expected.type != Type::values)
    throw DataError(fmt::format("field {} contains numbers, but the model expects symbols", expected.name));
  if (cols != expected.size)
    throw DataError(fmt::format("field {} contains {} numbers per position, but the model expects {}", expected.name,
                                cols, expected.size));
}

/// Returns the field with this name, or null. Specifications with thousands of fields are queried field by field, so
/// each thread caches the positions of fields. A cached position is verified before use, because it may belong to a
/// different specification.
const FieldSpecification* find_field(const std::vector<FieldSpecification>& fields, std::string_view name) {
  constexpr std::size_t kFew = 8;
  if (fields.size() <= kFew) {
    const auto found = std::ranges::find(fields, name, &FieldSpecification::name);
    return found == fields.end() ? nullptr : &*found;
  }
  thread_local std::map<std::string, std::size_t, std::less<>> places;
  const auto known = [&]() -> const FieldSpecification* {
    const auto found = places.find(name);
    const bool here = found != places.end() && found->second < fields.size() && fields[found->second].name == name;
    return here ? &fields[found->second] : nullptr;
  };
  if (const FieldSpecification* found = known()) return found;
  places.clear();
  for (std::size_t i = 0; i < fields.size(); ++i) places.try_emplace(fields[i].name, i);
  return known();
}

}  // namespace

bool FieldSpecification::operator==(const FieldSpecification& other) const {
  const bool same_names = alphabet && other.alphabet ? *alphabet == *other.alphabet : alphabet == other.alphabet;
  return same_names && name == other.name && type == other.type && size == other.size && once == other.once &&
         source == other.source && spelt == other.spelt && mean == other.mean && deviation == other.deviation;
}

DataSpecification DataSpecification::text(const Alphabet& alphabet) {
  return {.source = "text",
          .fields = {{.name = kSymbol,
                      .type = Type::symbols,
                      .size = alphabet.size(),
                      .alphabet = std::make_shared<const Alphabet>(alphabet)}}};
}

const FieldSpecification& DataSpecification::field(std::string_view name) const {
  if (const FieldSpecification* match = find_field(fields, name)) return *match;
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const FieldSpecification& field : fields) names.push_back(field.name);
  throw UsageError(fmt::format("the data has no field {}{}", in_quotes(name), did_you_mean(name, names)));
}

void DataSpecification::check(const Batch& batch) const {
  for (const FieldSpecification& field : fields)
    if (const auto there = batch.fields.find(field.name); there != batch.fields.end())
      check_field(field, there->second);
}

Json DataSpecification::to_json() const {
  Json list = Json::array();
  for (const FieldSpecification& field : fields) list.push_back(field_to_json(field));
  Json json = {{"source", source}, {"fields", std::move(list)}};
  if (trees) json["trees"] = true;
  if (found) json["found"] = true;
  if (grids) json["grids"] = true;
  return json;
}

DataSpecification DataSpecification::from_json(const Json& json) {
  DataSpecification result;
  try {
    result.source = json.at("source").get<std::string>();
    result.trees = json.value("trees", false);
    result.found = json.value("found", false);
    result.grids = json.value("grids", false);
    for (const Json& field : json.at("fields"))
      result.fields.push_back(field_from_json(field, !result.source.starts_with("task ")));
  } catch (const Json::exception&) {
    throw ModelError("\"data\" in the card is invalid");
  }
  if (result.fields.empty()) throw ModelError("\"data\" in the card contains no fields");
  return result;
}

}  // namespace unfold
