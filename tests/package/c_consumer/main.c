/* Calls the C interface, which is linked as a shared library. */
#include <stdio.h>
#include <unfold/c.h>

int main(void) {
  unfold_model* model;
  if (unfold_load("/no/such/run", &model) == UNFOLD_OK || model != NULL || unfold_message() == NULL) return 1;
  printf("the C consumer works, version %s\n", unfold_version());
  return 0;
}
