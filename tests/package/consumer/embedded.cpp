#include "unfold/unfold.h"

extern "C" __attribute__((visibility("default"))) bool embedded_loads(const char* path) {
  try {
    return unfold::load_model_file(path) != nullptr;
  } catch (const unfold::Error&) {
    return false;
  }
}
