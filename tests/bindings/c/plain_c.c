/* Usage: plain_c FOLDER. Loads the models in the folder, reads a text symbol by symbol and compares the sum with the
   score. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unfold/c.h"

static int fails(const char *what) {
  fprintf(stderr, "%s: %s\n", what, unfold_message());
  return 1;
}

static int follow(const char *folder, const char *name, const char *text) {
  char path[1024];
  unfold_model *model;
  unfold_stream *stream;
  int32_t symbols[256];
  size_t count, predicted, i;
  double nats, sum = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (unfold_load(path, &model) != UNFOLD_OK) return fails(path);
  if (unfold_encode(model, text, strlen(text), symbols, 256, &count) != UNFOLD_OK) return fails("encode");
  if (unfold_open(model, &stream) != UNFOLD_OK) return fails("open");
  for (i = 0; i < count; ++i) {
    const float *p = unfold_log_probabilities(stream);
    if (p == NULL) return fails("log_probabilities");
    sum -= p[symbols[i]];
    if (unfold_push(stream, symbols[i]) != UNFOLD_OK) return fails("push");
  }
  if (unfold_score(model, text, strlen(text), &nats, &predicted) != UNFOLD_OK) return fails("score");
  printf("%s: %s, %.6f nats by score, %.6f by stream\n", name, unfold_spec(model), nats, sum);
  unfold_close(stream);
  unfold_free(model);
  return predicted != count || fabs(nats - sum) > 1e-9 * count;
}

int main(int argc, char **argv) {
  unfold_model *model;
  if (argc < 2) return 2;
  if (unfold_load("/no/such/model", &model) != UNFOLD_BAD_MODEL || strlen(unfold_message()) == 0) return 1;
  printf("unfold %s\n", unfold_version());
  return follow(argv[1], "lstm.safetensors", "the bell is lost\n") || follow(argv[1], "ppm.safetensors", "the bell is lost\n");
}
