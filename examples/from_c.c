/* Reads lines from standard input and prints the surprisal of each in bits, from plain C.
 *
 *   cc from_c.c -lunfold -lm -o from_c;  ./from_c run < today.log
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unfold/c.h>

int main(int argc, char** argv) {
  unfold_model* model;
  char line[4096];
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    return UNFOLD_USAGE;
  }
  if (unfold_load(argv[1], &model) != UNFOLD_OK) {
    fprintf(stderr, "%s\n", unfold_message());
    return UNFOLD_BAD_MODEL;
  }
  while (fgets(line, sizeof line, stdin) != NULL) {
    double nats;
    const int status = unfold_score(model, line, strlen(line), &nats, NULL);
    if (status == UNFOLD_OK)
      printf("%.2f\t%s", nats / log(2), line);
    else
      printf("?\t%s\n", unfold_message());
  }
  unfold_free(model);
  return 0;
}
