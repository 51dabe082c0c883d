#include "arguments.h"

#include <nanobind/ndarray.h>

#include <type_traits>

#include "unfold/base/error.h"

namespace unfold::python {
namespace {

bool is_path(nb::handle given) { return nb::isinstance<nb::str>(given) || nb::hasattr(given.type(), "__fspath__"); }

[[noreturn]] void wrong_type(const std::string& message) { throw nb::type_error(message.c_str()); }

[[noreturn]] void out_of_range(const Alphabet& alphabet, const std::string& number) {
  throw UsageError("symbol " + number + " is not in an alphabet of " + std::to_string(alphabet.size()));
}

/// Copies an array of integers of this width, which must be at least `least`. Returns false for other objects.
template <class Whole>
bool read_array(const Alphabet& alphabet, nb::handle given, std::vector<Symbol>& symbols, Symbol least = 0) {
  nb::ndarray<const Whole, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(given, array, false)) return false;
  symbols.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const Whole x = array.data()[i];
    if (x < least || x >= alphabet.size()) out_of_range(alphabet, std::to_string(x));
    symbols.push_back(static_cast<Symbol>(x));
  }
  return true;
}

}  // namespace

std::string name_of_type(nb::handle given) {
  if (given.is_none()) return "None";
  const nb::handle type = given.type();
  const std::string name = utf8_of(nb::str(type.attr("__name__"))), module = utf8_of(nb::str(type.attr("__module__")));
  return module == "builtins" ? name : module + "." + name;
}

std::string utf8_of(nb::handle str) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(str.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  return {text, static_cast<std::size_t>(size)};
}

std::string text_of(nb::handle given) {
  if (nb::isinstance<nb::bytes>(given)) {
    const auto bytes = nb::borrow<nb::bytes>(given);
    return {bytes.c_str(), bytes.size()};
  }
  if (!nb::isinstance<nb::str>(given)) wrong_type("expected a str or bytes, not " + name_of_type(given));
  return utf8_of(given);
}

std::string path_of(nb::handle given, const char* what) {
  if (!is_path(given))
    wrong_type(std::string(what) + " must be a path (str or os.PathLike), not " + name_of_type(given));
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(given.ptr(), static_cast<void*>(&bytes)) == 0) throw nb::python_error();
  const auto path = nb::steal<nb::bytes>(bytes);
  return {path.c_str(), path.size()};
}

std::vector<std::string> paths_of(nb::handle given, const char* what) {
  if (is_path(given)) return {path_of(given, what)};
  if (nb::isinstance<nb::bytes>(given) || !nb::hasattr(given, "__iter__"))
    wrong_type(std::string(what) + " must be a path or an iterable of paths (str or os.PathLike), not " +
               name_of_type(given));
  std::vector<std::string> paths;
  const nb::iterator all = nb::iter(given);
  for (nb::handle one : all) paths.push_back(path_of(one, what));
  return paths;
}

std::optional<bool> truth_of(nb::handle given) {
  if (given.is(Py_True)) return true;
  if (given.is(Py_False)) return false;
  const std::string type = name_of_type(given);
  if (type == "numpy.bool" || type == "numpy.bool_") return PyObject_IsTrue(given.ptr()) == 1;
  return std::nullopt;
}

bool flag_of(nb::handle given, const char* what) {
  const std::optional<bool> truth = truth_of(given);
  if (!truth) wrong_type(std::string(what) + " must be True or False, not " + name_of_type(given));
  return *truth;
}

Symbol symbol_number(const Alphabet& alphabet, nb::handle given) {
  const bool truth = given.is(Py_True) || given.is(Py_False);
  const nb::object number = truth ? nb::object() : nb::steal(PyNumber_Index(given.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    wrong_type("a symbol must be an integer, not " + name_of_type(given));
  }
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || x < 0 || x >= alphabet.size()) out_of_range(alphabet, utf8_of(nb::str(number)));
  return static_cast<Symbol>(x);
}

std::vector<Symbol> symbol_numbers(const Alphabet& alphabet, nb::handle given) {
  std::vector<Symbol> symbols;
  if (read_array<std::int32_t>(alphabet, given, symbols) || read_array<std::int64_t>(alphabet, given, symbols))
    return symbols;
  if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::bytes>(given) || !nb::hasattr(given, "__iter__"))
    wrong_type("symbols must be an array or a list of integers, not " + name_of_type(given));
  const nb::iterator all = nb::iter(given);
  for (nb::handle one : all) symbols.push_back(symbol_number(alphabet, one));
  return symbols;
}

std::optional<std::vector<Symbol>> array_of_symbols_or_none(const Alphabet& alphabet, nb::handle given) {
  std::vector<Symbol> symbols;
  if (read_array<std::int32_t>(alphabet, given, symbols, kNoSymbol) ||
      read_array<std::int64_t>(alphabet, given, symbols, kNoSymbol))
    return symbols;
  return std::nullopt;
}

}  // namespace unfold::python
