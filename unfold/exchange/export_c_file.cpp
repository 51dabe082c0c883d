#include "unfold/exchange/export_c_file.h"

#include <fmt/format.h>

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
#error "numbers are computed wider than they are stored; compile with -msse2 -mfpmath=sse"
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

/// The bytes of a text as a C string; octal escapes have three digits, so that no digit after one is taken in.
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
    if (symbol.size() > 255) throw UsageError("a symbol has more than 255 bytes");
    texts += "  " + quoted(symbol) + ",\n";
    sizes += fmt::format("{}{},", x % 24 == 0 ? "\n  " : " ", symbol.size());
  }
  return text("\nconst char *const @texts[@@_SYMBOLS] = {\n") + texts +
         text("};\nconst unsigned char @text_sizes[@@_SYMBOLS] = {") + sizes + "};\n" + text(kFind);
}

}  // namespace unfold
