#pragma once
/// Helpers for reader tests, which read small files that a test writes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/readers/example_reader.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold::testing_support {

inline Examples read_as(const std::string& format, std::string bytes, ReaderOptions options = {},
                        const std::string& name = "data") {
  options.format = format;
  return read_examples(Input::from_bytes(name, std::move(bytes)), options);
}
inline std::string refusal(const std::string& format, const std::string& bytes, const ReaderOptions& options = {}) {
  return message_of<DataError>([&] { read_as(format, bytes, options); });
}
inline std::string format_of(const std::string& name, std::string bytes) {
  return guess_format(Input::from_bytes(name, std::move(bytes))).format;
}
inline std::vector<std::string> names_of(const Examples& examples) {
  std::vector<std::string> names;
  names.reserve(examples.columns.size());
  for (const ExampleColumn& column : examples.columns) names.push_back(column.name);
  return names;
}
/// Returns the column; fails the test if it does not exist.
inline const ExampleColumn& column_of(const Examples& examples, const std::string& name) {
  static const ExampleColumn kNone;
  const ExampleColumn* column = examples.find(name);
  if (column == nullptr) ADD_FAILURE() << "no column " << name;
  return column == nullptr ? kNone : *column;
}
inline std::vector<std::string> entries_of(const Examples& examples, const std::string& name) {
  const TextList& texts = column_of(examples, name).texts;
  return {texts.begin(), texts.end()};
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;
using Indices = std::vector<Index>;
using Flags = std::vector<char>;

}  // namespace unfold::testing_support
