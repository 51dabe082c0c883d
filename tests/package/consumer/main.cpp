// Uses the first module and links the last one, so that every archive has to be found and linked.
#include <cstdio>

#include <unfold/unfold.h>

#include <unfold/numerics/random.h>

int main() {
  unfold::Random random(1, "consumer");
  const double u = random.uniform();
  if (!(u >= 0 && u < 1)) return 1;
  try {
    throw unfold::DataError("an error of the library");
  } catch (const unfold::Error& error) {
    if (error.code() != unfold::ExitCode::bad_data) return 1;
  }
  std::puts("the consumer works");
}
