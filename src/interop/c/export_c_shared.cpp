#include "interop/c/export_c_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr const char* kGuards = R"(
#if defined(__FAST_MATH__)
#error "-ffast-math changes bits; compile this file without it"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "floating-point expressions are evaluated with excess precision; compile with -msse2 -mfpmath=sse"
#endif
#if defined(__GNUC__)
#define @@_ALIGNED __attribute__((aligned(64)))
#else
#define @@_ALIGNED
#endif

typedef uint%_t @bits;
)";

constexpr const char* kFind = R"(
int @find(const char *text, size_t size) {
  int i;
  for (i = 0; i < @@_SYMBOLS; ++i)
    if (@text_sizes[i] == size && memcmp(@texts[i], text, size) == 0) return i;
  return @@_NO_SYMBOL;
}
)";

constexpr const char* kFindRead = R"(
int @find_read(int field, const char *text, size_t size) {
  int low = 0, high;
  if (field < 0 || field >= @@_TEXTS) return @@_NO_SYMBOL;
  for (high = @read_fields[field].count; low < high;) {
    const int i = low + (high - low) / 2;
    const size_t length = @read_fields[field].sizes[i];
    const int order = memcmp(@read_fields[field].texts[i], text, length < size ? length : size);
    if (order == 0 && length == size) return @read_fields[field].symbols[i];
    if (order < 0 || (order == 0 && length < size))
      low = i + 1;
    else
      high = i;
  }
  return @read_fields[field].unknown;
}
)";

/// Returns a C string literal. Octal escapes have three digits, so a following digit is not read as part of an escape.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\' || c == '?')
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + "\"";
}

void require_short(std::string_view symbol) {
  if (symbol.size() > 255) throw UsageError("a symbol has more than 255 bytes");
}

template <class Write>
std::string list_of_numbers(std::size_t count, Write write) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += fmt::format("{}{},", i % 24 == 0 ? "\n  " : " ", write(i));
  return list;
}

}  // namespace

std::string comment_text(std::string text) {
  for (std::size_t i; (i = text.find("*/")) != std::string::npos;) text[i + 1] = '.';
  for (std::size_t i; (i = text.find("/*")) != std::string::npos;) text[i + 1] = '.';
  return text;
}

std::string c_guards(const CText& text) {
  std::string guards = kGuards;
  guards.replace(guards.find('%'), 1, text.wide() ? "64" : "32");
  return text(guards);
}

std::string c_alphabet(const Alphabet& alphabet, const CText& text) {
  std::string texts, sizes;
  for (Symbol x = 0; x < alphabet.size(); ++x) {
    const std::string_view symbol = alphabet.text(x);
    require_short(symbol);
    texts += "  " + quoted(symbol) + ",\n";
    sizes += fmt::format("{}{},", x % 24 == 0 ? "\n  " : " ", symbol.size());
  }
  return text("\nconst char *const @texts[@@_SYMBOLS] = {\n") + texts +
         text("};\nconst unsigned char @text_sizes[@@_SYMBOLS] = {") + sizes + "};\n" + text(kFind);
}

std::string c_find_read(const std::vector<const Alphabet*>& alphabets, const CText& text) {
  std::string tables, fields;
  for (std::size_t k = 0; k < alphabets.size(); ++k) {
    if (alphabets[k] == nullptr) {
      fields += "  {NULL, NULL, NULL, 0, -1},\n";
      continue;
    }
    const Alphabet& alphabet = *alphabets[k];
    std::vector<Symbol> order(static_cast<std::size_t>(alphabet.size()));
    std::iota(order.begin(), order.end(), Symbol{0});
    std::ranges::sort(order, {}, [&](Symbol x) { return alphabet.text(x); });
    std::string texts;
    for (const Symbol x : order) {
      require_short(alphabet.text(x));
      texts += "  " + quoted(alphabet.text(x)) + ",\n";
    }
    const auto size = [&](std::size_t i) { return alphabet.text(order[i]).size(); };
    const auto symbol = [&](std::size_t i) { return order[i]; };
    tables += text(fmt::format("\nstatic const char *const @read_texts{}[] = {{\n", k)) + texts +
              text(fmt::format("}};\nstatic const unsigned char @read_sizes{}[] = {{", k)) +
              list_of_numbers(order.size(), size) +
              text(fmt::format("}};\nstatic const int @read_symbols{}[] = {{", k)) +
              list_of_numbers(order.size(), symbol) + "};\n";
    fields += text(fmt::format("  {{@read_texts{0}, @read_sizes{0}, @read_symbols{0}, {1}, {2}}},\n", k, order.size(),
                               alphabet.unknown()));
  }
  return tables +
         text(
             "static const struct {\n  const char *const *texts; /* sorted by their bytes */\n"
             "  const unsigned char *sizes;\n  const int *symbols;\n  int count, unknown;\n"
             "} @read_fields[@@_TEXTS] = {\n") +
         fields + "};\n" + text(kFindRead);
}

}  // namespace unfold
