// The command with an additional cell: own_command train FILE --model plain:8 --steps 2 --out RUN
#include <unfold/command.h>
#include <unfold/unfold.h>

using namespace unfold;

int main(int argc, char** argv) {
  register_cell("plain", [](Circuit& c, Signal x, Index n) {
    const Signal h = c.link(n), next = tanh(c.affine("h", n, {{"W", x}, {"U", h}}));
    c.feed(h, next);
    return next;
  });
  return run_main(argc, argv);
}
