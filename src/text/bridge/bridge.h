// The C ABI of the Rust text bridge: Hugging Face `tokenizers` and `minijinja`. Bytes in; ids, text or an error out. It
// holds no policy, keeps no global state and never lets a panic or an exception across. Owner: src/text's .cc files,
// which wrap it; nobody else includes it.
//
// Memory: what a function hands out (MotleyBytes, MotleyIds, handles) belongs to the caller, who gives it back to the
// matching motley_*_free. An `error` is always filled when the result is not MOTLEY_OK: one line of UTF-8, no final
// newline. Threads: tokenizers and templates may be shared; a detokenizer belongs to one thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A C header: names and typedefs are C's.
// NOLINTBEGIN(readability-identifier-naming, modernize-use-using, modernize-deprecated-headers)
#ifdef __cplusplus
extern "C" {
#endif

enum MotleyResult {
  MOTLEY_OK = 0,
  MOTLEY_INVALID = 1,    // the input is wrong; the error says how
  MOTLEY_EXHAUSTED = 2,  // a limit ended it (fuel, output size)
  MOTLEY_REFUSED = 3,    // the template called raise_exception; the error is its own message
  MOTLEY_PANIC = 4,      // a bug in a crate was caught
};

typedef struct MotleyTokenizer MotleyTokenizer;
typedef struct MotleyDetokenizer MotleyDetokenizer;
typedef struct MotleyTemplate MotleyTemplate;

typedef struct MotleySlice {  // borrowed for the call
  const uint8_t* data;
  size_t size;
} MotleySlice;

typedef struct MotleyBytes {
  uint8_t* data;
  size_t size;
  size_t capacity;
} MotleyBytes;

typedef struct MotleyIds {
  uint32_t* data;
  size_t size;
  size_t capacity;
} MotleyIds;

void motley_bytes_free(MotleyBytes bytes);
void motley_ids_free(MotleyIds ids);

// --- Tokenizer ---

int32_t motley_tokenizer_load(MotleySlice json, MotleyTokenizer** out, MotleyBytes* error);
void motley_tokenizer_free(MotleyTokenizer* tokenizer);

enum MotleyEncodeFlags {
  MOTLEY_PARSE_SPECIAL = 1,  // special tokens that stand in the text become their ids
  MOTLEY_POST_PROCESS = 2,   // the post-processor's own tokens (BOS, EOS) are added
};
int32_t motley_tokenizer_encode(const MotleyTokenizer* tokenizer, MotleySlice text, uint32_t flags, MotleyIds* out,
                                MotleyBytes* error);
// Ids without a token give nothing.
int32_t motley_tokenizer_decode(const MotleyTokenizer* tokenizer, const uint32_t* ids, size_t count,
                                int32_t skip_special, MotleyBytes* out, MotleyBytes* error);

uint64_t motley_tokenizer_size(const MotleyTokenizer* tokenizer);                     // number of tokens
int64_t motley_tokenizer_highest_id(const MotleyTokenizer* tokenizer);                // -1 when there is none
int64_t motley_tokenizer_id_of(const MotleyTokenizer* tokenizer, MotleySlice token);  // -1 when there is none
int32_t motley_tokenizer_is_special(const MotleyTokenizer* tokenizer, uint32_t id);
// The token as the vocabulary spells it. Returns 0 when there is none.
int32_t motley_tokenizer_token(const MotleyTokenizer* tokenizer, uint32_t id, MotleyBytes* out);
// The bytes that the token adds in the middle of a text. Returns 0 when there is none.
int32_t motley_tokenizer_token_bytes(const MotleyTokenizer* tokenizer, uint32_t id, MotleyBytes* out);

// --- Streaming decode ---

// Keeps the tokenizer alive by itself.
MotleyDetokenizer* motley_detokenizer_new(const MotleyTokenizer* tokenizer, int32_t skip_special);
void motley_detokenizer_free(MotleyDetokenizer* detokenizer);
// Ids that stand before the text: read, and their text dropped.
int32_t motley_detokenizer_prime(MotleyDetokenizer* detokenizer, const uint32_t* ids, size_t count, MotleyBytes* error);
int32_t motley_detokenizer_feed(MotleyDetokenizer* detokenizer, uint32_t id, MotleyBytes* out, MotleyBytes* error);
int32_t motley_detokenizer_finish(MotleyDetokenizer* detokenizer, MotleyBytes* out, MotleyBytes* error);

// --- Chat template ---

int32_t motley_template_compile(MotleySlice source, MotleyTemplate** out, MotleyBytes* error);
void motley_template_free(MotleyTemplate* chat_template);

enum MotleyVariableKind {
  MOTLEY_TEXT = 0,    // value is a string
  MOTLEY_JSON = 1,    // value is JSON text
  MOTLEY_OBJECT = 2,  // value is a JSON object whose members all become variables; name is not used
};
typedef struct MotleyVariable {  // a later variable replaces an earlier one of its name
  int32_t kind;
  MotleySlice name;
  MotleySlice value;
} MotleyVariable;

typedef struct MotleyLocalTime {  // what strftime_now sees
  int32_t year, month, day;       // month and day from 1
  int32_t hour, minute, second;
  int32_t weekday, yearday;  // Sunday 0; January 1st 0
} MotleyLocalTime;

typedef struct MotleyRenderLimits {
  uint64_t fuel;  // an instruction costs 1, as do 64 bytes of data
  uint64_t output_bytes;
  uint64_t memory_bytes;  // held at once; the render that wants more is stopped and leaks what it held
} MotleyRenderLimits;

int32_t motley_template_render(const MotleyTemplate* chat_template, const MotleyVariable* variables, size_t count,
                               const MotleyLocalTime* now, const MotleyRenderLimits* limits, MotleyBytes* out,
                               MotleyBytes* error);

#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming, modernize-use-using, modernize-deprecated-headers)
