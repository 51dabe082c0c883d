#include "data/schema/column_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace unfold {
namespace {

using NameList = std::initializer_list<std::string_view>;

bool is_listed_name(std::string_view name, NameList names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool name_ends_in(std::string_view name, NameList endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
  });
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

/// Lower case, with '_' instead of blanks, points and dashes, and before a capital letter that follows a lower-case
/// letter: userId and "User ID" become user_id.
std::string lower_name(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (is_upper(c)) {
      if (i > 0 && is_lower(name[i - 1])) result += '_';
      result += static_cast<char>(c + 32);
    } else {
      result += c == ' ' || c == '-' || c == '.' || c == ':' ? '_' : c;
    }
  }
  return result;
}

bool is_identifier_name(std::string_view name) {
  const std::string lower = lower_name(name);
  // smoking_yes_cancer_no and smoking_no_cancer_no are answers, whereas order_no is a number.
  const bool is_answer = lower.find("_yes") != std::string::npos || lower.find("_no_") != std::string::npos;
  return is_listed_name(lower, {"id",       "ids",      "uuid",        "guid",       "uid",   "key",
                                "hash",     "isbn",     "ean",         "sku",        "zip",   "zipcode",
                                "zip_code", "postcode", "postal_code", "plz",        "phone", "unnamed__0",
                                "rowid",    "row_id",   "rownum",      "row_number", "row",   "identifier"}) ||
         name_ends_in(lower, {"_id", "_uuid", "_guid", "_uid", "_key", "_hash", "_zip", "_nr"}) ||
         (name_ends_in(lower, {"_no"}) && !is_answer);
}

bool is_class_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return is_listed_name(lower, {"label",    "labels",  "class",     "classes",   "target",   "y",     "species",
                                "category", "outcome", "diagnosis", "sentiment", "survived", "tag",   "tags",
                                "upos",     "notes",   "polarity",  "churn",     "default",  "fraud", "spam",
                                "intent",   "digit",   "kategorie", "klasse"}) ||
         name_ends_in(lower, {"_label", "_class", "_target", "_category", "_kategorie", "_klasse"});
}

bool is_year_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return is_listed_name(lower, {"year", "yr", "jahr"}) || name_ends_in(lower, {"_year"});
}

bool is_date_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return is_year_name(name) ||
         is_listed_name(
             lower, {"date",  "day",     "datum",     "time",       "timestamp", "ts",       "ds",        "datetime",
                     "when",  "created", "updated",   "epoch",      "unix",      "unixtime", "unix_time", "event_time",
                     "month", "ym",      "yearmonth", "year_month", "yyyymm",    "period",   "monat"}) ||
         name_ends_in(lower, {"_date", "_at", "_time", "_ts", "_timestamp", "_datetime", "_epoch", "_unix", "_month"});
}

bool is_duration_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return is_listed_name(lower, {"duration", "elapsed", "runtime", "length", "laptime", "dauer"}) ||
         name_ends_in(lower, {"_duration", "_elapsed", "_runtime", "_length"});
}

bool is_position_name(std::string_view name) {
  return is_listed_name(lower_name(name),
                        {"t", "time", "step", "tick", "frame", "seq", "sequence", "order", "position", "seconds",
                         "timestamp", "ts", "cycle", "hour", "day", "week", "month", "year"});
}

bool is_event_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return is_listed_name(lower, {"event", "action", "page", "item", "activity", "state", "status", "command", "click",
                                "type", "event_type", "event_name", "url", "product", "song", "symptom", "code"}) ||
         name_ends_in(lower, {"_event", "_action", "_type"});
}

bool is_quantity_name(std::string_view name) {
  const std::string lower = lower_name(name);
  for (std::size_t begin = 0; begin <= lower.size();) {
    const std::size_t end = std::min(lower.find('_', begin), lower.size());
    if (is_listed_name(
            std::string_view(lower).substr(begin, end - begin),
            {"sales",      "sold",      "units",    "quantity",    "qty",    "demand",   "load",      "revenue",
             "turnover",   "count",     "counts",   "cnt",         "visits", "visitors", "bookings",  "orders",
             "passengers", "arrivals",  "traffic",  "consumption", "usage",  "close",    "umsatz",    "umsätze",
             "menge",      "verkauf",   "verkäufe", "absatz",      "anzahl", "stück",    "stückzahl", "einnahmen",
             "nachfrage",  "verbrauch", "besucher", "bestellungen"}))
      return true;
    begin = end + 1;
  }
  return false;
}

bool is_group_name(std::string_view name) {
  const std::string lower = lower_name(name);
  for (const std::string_view kind :
       {"class", "category", "klasse", "kategorie", "label", "type", "status", "gender", "zip"}) {
    if (lower.find(kind) != std::string::npos) return false;
  }
  return name_ends_in(lower, {"_id", "_uuid", "_uid", "_key"}) ||
         is_listed_name(
             lower, {"id",     "uuid",   "uid",     "user",     "session", "customer", "patient", "station", "store",
                     "device", "sensor", "machine", "unit",     "series",  "account",  "subject", "player",  "case",
                     "ticker", "host",   "group",   "sequence", "country", "city",     "region",  "site",    "sku"});
}

}  // namespace unfold
