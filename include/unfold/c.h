#ifndef UNFOLD_C_H
#define UNFOLD_C_H
/* Models of sequences from C, or from any language that calls C (docs/c.md).
 *
 *   unfold_model *model;
 *   if (unfold_load("run", &model) != UNFOLD_OK) { puts(unfold_message()); return 1; }
 *   unfold_stream *stream;
 *   unfold_open(model, &stream);
 *   unfold_push(stream, unfold_find(model, "a", 1));                     UNFOLD_USAGE where the model has no "a"
 *   const float *log_probabilities = unfold_log_probabilities(stream);   of the symbol that comes next
 *
 * Numbers have the bits of the command. Functions that can fail return a status, 0 being success, and leave a message
 * for the thread that called them. A model may be used by several threads at once, a stream by one at a time; streams
 * keep the model alive. Arguments are checked: UNFOLD_USAGE stands for a NULL that is not allowed, a number out of
 * range and a symbol outside the alphabet. A function that fails sets the pointer that it would have returned a model,
 * a stream or a text through to NULL. Texts are bytes with their size: UTF-8, unless the model's symbols are bytes. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct unfold_model unfold_model;
typedef struct unfold_stream unfold_stream;

/* The exit codes of the command. */
typedef enum {
  UNFOLD_OK = 0,
  UNFOLD_FAILURE = 1,      /* input, output, memory */
  UNFOLD_USAGE = 2,        /* an argument that means nothing here */
  UNFOLD_BAD_DATA = 3,     /* a text that is not what it should be */
  UNFOLD_BAD_MODEL = 4,    /* a file that holds no model, or not one of this kind */
  UNFOLD_DIVERGED = 5,     /* training diverged: of the command */
  UNFOLD_VERIFICATION = 6, /* a checksum is wrong */
  UNFOLD_INTERRUPTED = 130
} unfold_status;

enum { UNFOLD_NO_SYMBOL = -1 };

/* "0.1.0". */
const char* unfold_version(void);
/* What went wrong in the last call of this thread that failed, and what to do; valid until its next call that fails. */
const char* unfold_message(void);

/* `path`: a run folder or model file. A model of symbols is needed. */
int unfold_load(const char* path, unfold_model** model);
/* The bytes of a model file, which are copied. */
int unfold_load_bytes(const void* bytes, size_t size, unfold_model** model);
void unfold_free(unfold_model* model); /* NULL is allowed */

/* "lstm:64"; valid as long as the model. Of no model (NULL) this and the next three say nothing: NULL, 0, NULL,
 * UNFOLD_NO_SYMBOL. */
const char* unfold_spec(const unfold_model* model);
/* How many symbols there are: they are numbered from 0. */
int unfold_symbols(const unfold_model* model);
/* The text of a symbol, NULL if it is none; valid as long as the model. */
const char* unfold_text(const unfold_model* model, int symbol, size_t* size);
/* The symbol with this text, or UNFOLD_NO_SYMBOL, which is no index: check it first. */
int unfold_find(const unfold_model* model, const char* text, size_t size);
/* A text as symbols, at most `room` of them; `count` is how many it has. NULL with a room of 0 counts. */
int unfold_encode(const unfold_model* model, const char* text, size_t size, int32_t* symbols, size_t room,
                  size_t* count);

/* A stream before its first symbol. */
int unfold_open(const unfold_model* model, unfold_stream** stream);
/* Another stream in the same state. A stream and its clones may be used in different threads, where those of a
 * network take turns; for speed open a stream in each thread. */
int unfold_clone(const unfold_stream* stream, unfold_stream** clone);
void unfold_close(unfold_stream* stream); /* NULL is allowed */
/* This was the next symbol. After the line end of a model of lines (`train --lines`, logs) the next line begins. */
int unfold_push(unfold_stream* stream, int symbol);
/* Natural logarithms of the probabilities of the next symbol, unfold_symbols() of them; valid until the stream's next
 * call. NULL after a failure. */
const float* unfold_log_probabilities(unfold_stream* stream);
/* Forgets all symbols: the numbers that follow are those of a stream that was just opened. */
int unfold_reset(unfold_stream* stream);

/* Surprisal of a whole text in nats, and how many symbols were predicted; either may be NULL. Each nat is that of
 * `unfold score`. */
int unfold_score(const unfold_model* model, const char* text, size_t size, double* nats, size_t* predicted);
/* The same for every symbol, NaN where nothing is predicted. `count` is how many there are, more than unfold_encode
 * counts where the model ends a text with a separate symbol; `nats` has room for all of them. NULL with a room of 0
 * only counts. */
int unfold_score_symbols(const unfold_model* model, const char* text, size_t size, float* nats, size_t room,
                         size_t* count);

typedef struct {
  size_t length;      /* symbols at most */
  double temperature; /* 0: always the most probable symbol */
  int top_k;          /* 0: all */
  double top_p;       /* 1: all */
  double min_p;
  const char* prime; /* read first; NULL: nothing */
  size_t prime_size;
  uint64_t seed;
} unfold_sampling;
/* The defaults of the command. */
unfold_sampling unfold_default_sampling(void);
/* A sample of `unfold sample` as a text that ends with a zero byte, and its size; to be freed with
 * unfold_free_text. `options` NULL: the defaults. */
int unfold_sample(const unfold_model* model, const unfold_sampling* options, char** text, size_t* size);
void unfold_free_text(char* text);

#ifdef __cplusplus
}
#endif
#endif
