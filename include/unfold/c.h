#ifndef UNFOLD_C_H
#define UNFOLD_C_H
/* The C interface: loads models of sequences, and predicts, scores and samples with them (docs/c.md).
 * For programs in C and in languages that can call C functions.
 *
 *   unfold_model *model;
 *   if (unfold_load("run", &model) != UNFOLD_OK) { puts(unfold_message()); return 1; }
 *   unfold_stream *stream;
 *   unfold_open(model, &stream);
 *   unfold_push(stream, unfold_find(model, "a", 1));                     UNFOLD_USAGE if the model has no "a"
 *   const float *log_probabilities = unfold_log_probabilities(stream);   of the next symbol
 *
 * Results are bit-identical to those of the command. Functions that can fail return a status (0 means success) and
 * store a message for the calling thread. A model may be used by several threads at once, a stream by only one at a
 * time; streams keep the model alive. Arguments are checked: UNFOLD_USAGE is returned for a NULL that is not allowed, a
 * number out of range, or a symbol outside the alphabet. If a function that returns a model, a stream or a text through
 * a pointer fails, it sets the pointer to NULL. Texts are passed as bytes with their size. They must be valid UTF-8,
 * unless the model's symbols are bytes. */

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
  UNFOLD_USAGE = 2,        /* an invalid argument */
  UNFOLD_BAD_DATA = 3,     /* invalid data, such as invalid UTF-8 */
  UNFOLD_BAD_MODEL = 4,    /* a file that is not a model, or not of this kind */
  UNFOLD_DIVERGED = 5,     /* training diverged (only the command) */
  UNFOLD_VERIFICATION = 6, /* a checksum is wrong */
  UNFOLD_INTERRUPTED = 130
} unfold_status;

enum { UNFOLD_NO_SYMBOL = -1 };

/* The version of the library, such as "1.0.0". */
const char* unfold_version(void);
/* The error message of the last failed call of this thread, with a remedy; valid until the next failed call of this
 * thread. */
const char* unfold_message(void);

/* `path`: a run folder or model file, which must hold a model of symbols. */
int unfold_load(const char* path, unfold_model** model);
/* Loads a model from the bytes of a model file, which are copied. */
int unfold_load_bytes(const void* bytes, size_t size, unfold_model** model);
void unfold_free(unfold_model* model); /* NULL is allowed */

/* The SPEC of the model, such as "lstm:64"; valid as long as the model. If the model is NULL, this and the next three
 * functions return NULL, 0, NULL and UNFOLD_NO_SYMBOL, respectively. */
const char* unfold_spec(const unfold_model* model);
/* The number of symbols, which are numbered from 0. */
int unfold_symbols(const unfold_model* model);
/* The text of a symbol; NULL for an invalid symbol. Valid as long as the model. */
const char* unfold_text(const unfold_model* model, int symbol, size_t* size);
/* The symbol with this text, or UNFOLD_NO_SYMBOL, which is not a valid index: check for it first. */
int unfold_find(const unfold_model* model, const char* text, size_t size);
/* Converts a text to symbols and stores at most `room` of them; `count` receives their number. If `symbols` is
 * NULL and `room` is 0, the symbols are only counted. */
int unfold_encode(const unfold_model* model, const char* text, size_t size, int32_t* symbols, size_t room,
                  size_t* count);

/* Opens a stream before its first symbol. */
int unfold_open(const unfold_model* model, unfold_stream** stream);
/* Creates a second stream in the same state. A stream and its clones may be used in different threads, but those of a
 * network run one at a time; for speed, open a stream in each thread. */
int unfold_clone(const unfold_stream* stream, unfold_stream** clone);
void unfold_close(unfold_stream* stream); /* NULL is allowed */
/* Advances by the symbol that occurred. After the line ending of a model of lines (`train --lines`, logs) the next line
 * begins. */
int unfold_push(unfold_stream* stream, int symbol);
/* Returns the natural logarithms of the probabilities of the next symbol, unfold_symbols() numbers, valid until the
 * next call for the stream. NULL after a failure. */
const float* unfold_log_probabilities(unfold_stream* stream);
/* Resets the stream to the state in which it was opened. */
int unfold_reset(unfold_stream* stream);

/* Computes the surprisal of a whole text in nats, equal to that of `unfold score`, and the number of predicted symbols;
 * either pointer may be NULL. */
int unfold_score(const unfold_model* model, const char* text, size_t size, double* nats, size_t* predicted);
/* Computes the surprisal of each symbol; NaN for symbols that are not predicted. `count` receives their number, which
 * exceeds that of unfold_encode if the model ends a text with a separate symbol; `nats` must hold them all.
 * If `nats` is NULL and `room` is 0, the symbols are only counted. */
int unfold_score_symbols(const unfold_model* model, const char* text, size_t size, float* nats, size_t room,
                         size_t* count);

typedef struct {
  size_t length;      /* maximum number of symbols */
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
/* Returns a sample, equal to that of `unfold sample`, as a zero-terminated text with its size; free it with
 * unfold_free_text. `options` NULL: the defaults. */
int unfold_sample(const unfold_model* model, const unfold_sampling* options, char** text, size_t* size);
void unfold_free_text(char* text);

#ifdef __cplusplus
}
#endif
#endif
