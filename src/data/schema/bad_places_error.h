#pragma once
/// The error about data of which several places cannot be read.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "unfold/base/error.h"

namespace unfold {

/// what() contains the message and the places, each on a separate line. A program that escapes line breaks in
/// messages, because names of files may contain them, can print the lines separately.
class BadPlacesError : public DataError {
 public:
  BadPlacesError(std::string message, std::vector<std::string> places)
      : DataError(fmt::format("{}\n{}", message, fmt::join(places, "\n"))),
        message_(std::move(message)),
        places_(std::move(places)) {}
  const std::string& message() const { return message_; }
  const std::vector<std::string>& places() const { return places_; }

 private:
  std::string message_;
  std::vector<std::string> places_;
};

}  // namespace unfold
