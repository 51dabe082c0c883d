#include "data/cells/date_names.h"

#include <algorithm>

namespace unfold {
namespace {

constexpr DateNames kMonthNames[] = {
    {{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
      "December"}},
    {{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}, true},
    {{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
      "Dezember"}},
    {{"Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"}, true},
    {{"Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"}, true},
    {{"Jänner", "Feber", "Maerz", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
      "Dezember"}},
    {{"Jän", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sept", "Okt", "Nov", "Dez"}, true},
    {{"Janvier", "Février", "Mars", "Avril", "Mai", "Juin", "Juillet", "Août", "Septembre", "Octobre", "Novembre",
      "Décembre"}},
    {{"Janv", "Févr", "Mars", "Avr", "Mai", "Juin", "Juil", "Août", "Sept", "Oct", "Nov", "Déc"}, true},
    {{"Janvier", "Fevrier", "Mars", "Avril", "Mai", "Juin", "Juillet", "Aout", "Septembre", "Octobre", "Novembre",
      "Decembre"}},
    {{"Enero", "Febrero", "Marzo", "Abril", "Mayo", "Junio", "Julio", "Agosto", "Septiembre", "Octubre", "Noviembre",
      "Diciembre"}},
    {{"Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"}, true},
    {{"Gennaio", "Febbraio", "Marzo", "Aprile", "Maggio", "Giugno", "Luglio", "Agosto", "Settembre", "Ottobre",
      "Novembre", "Dicembre"}},
    {{"Gen", "Feb", "Mar", "Apr", "Mag", "Giu", "Lug", "Ago", "Set", "Ott", "Nov", "Dic"}, true},
};

constexpr DateNames kWeekdayNames[] = {
    {{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}},
    {{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, true},
    {{"Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"}},
    {{"Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"}, true},
    {{"Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Sonnabend", "Sonntag"}},
    {{"Lundi", "Mardi", "Mercredi", "Jeudi", "Vendredi", "Samedi", "Dimanche"}},
    {{"Lun", "Mar", "Mer", "Jeu", "Ven", "Sam", "Dim"}, true},
    {{"Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado", "Domingo"}},
    {{"Lun", "Mar", "Mié", "Jue", "Vie", "Sáb", "Dom"}, true},
    {{"Lunedì", "Martedì", "Mercoledì", "Giovedì", "Venerdì", "Sabato", "Domenica"}},
    {{"Lun", "Mar", "Mer", "Gio", "Ven", "Sab", "Dom"}, true},
};

constexpr std::size_t kLetters = 26, kOtherLetter = 26;

constexpr std::size_t letter_index(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<std::size_t>(c - 'A');
  return c >= 'a' && c <= 'z' ? static_cast<std::size_t>(c - 'a') : kOtherLetter;
}

/// Which pairs of first letters occur.
constexpr auto kBeginnings = [] {
  std::array<std::array<bool, kLetters + 1>, kLetters + 1> pairs = {};
  const auto mark = [&](const auto& lists, std::size_t count) {
    for (const DateNames& list : lists)
      for (std::size_t i = 0; i < count; ++i)
        pairs[letter_index(list.names[i][0])][letter_index(list.names[i][1])] = true;
  };
  mark(kMonthNames, 12);
  mark(kWeekdayNames, 7);
  return pairs;
}();

/// Returns whether a name in title case is the given word in lower case.
bool is_name(std::string_view name, std::string_view word) {
  return name.size() == word.size() && !name.empty() && static_cast<char>(name[0] + 32) == word[0] &&
         name.substr(1) == word.substr(1);
}

}  // namespace

std::span<const DateNames> month_names() { return kMonthNames; }
std::span<const DateNames> weekday_names() { return kWeekdayNames; }

Index month_of_name(std::string_view word) {
  for (const DateNames& list : kMonthNames)
    for (std::size_t i = 0; i < list.names.size(); ++i)
      if (is_name(list.names[i], word)) return static_cast<Index>(i) + 1;
  return word == "sept" ? 9 : 0;
}

bool is_weekday_name(std::string_view word) {
  constexpr std::size_t kShortestPrefix = 3;  // of an English name
  const auto& english = kWeekdayNames[0].names;
  const bool prefix = word.size() >= kShortestPrefix && std::ranges::any_of(english, [&](std::string_view name) {
                        return is_name(name.substr(0, word.size()), word);
                      });
  return prefix || std::ranges::any_of(kWeekdayNames, [&](const DateNames& list) {
           return std::ranges::any_of(list.names, [&](std::string_view name) { return is_name(name, word); });
         });
}

bool may_begin_date_name(char first, char second) { return kBeginnings[letter_index(first)][letter_index(second)]; }

std::string lower_date_word(std::string_view word) {
  std::string lower(word);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const auto byte = static_cast<unsigned char>(lower[i]);
    const bool accented = byte >= 0x80 && byte <= 0x9E && i > 0 && lower[i - 1] == '\xC3';
    if ((byte >= 'A' && byte <= 'Z') || accented) lower[i] = static_cast<char>(byte + 32);
  }
  return lower;
}

}  // namespace unfold
