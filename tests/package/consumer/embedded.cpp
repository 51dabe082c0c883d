#include "unfold/unfold.h"

extern "C" bool embedded_loads(const char* path) {
  try {
    return unfold::load_model_file(path) != nullptr;
  } catch (const unfold::Error&) {
    return false;
  }
}
