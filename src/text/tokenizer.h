// Text to ids and back, for one checkpoint. One implementation for every source of a vocabulary: a tokenizer.json is
// read as it is, the pieces of a GGUF or llama2.c file are first turned into one (vocabulary.h). Not for streams of ids
// (detokenizer.h) nor for chats (chat_template.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/text_assets.h"

namespace motley::text {

// What a special token's spelling inside a text means: the token, or just these characters. A prompt that a chat
// template wrote is parsed; what a stranger typed and nobody rendered is text.
enum class SpecialInText { kParse, kAsText };

// Whether the tokens that the checkpoint puts around a text (BOS, EOS) are added.
enum class Affixes { kNone, kCheckpoint };

// Whether special tokens appear in decoded text.
enum class SpecialTokens { kKeep, kSkip };

// Immutable; copies share one vocabulary. Threads: all members may be called at once.
class Tokenizer {
 public:
  // Errors: InvalidArgument naming the file; NotFound when the assets hold no tokenizer.
  static StatusOr<Tokenizer> load(const model::TextAssets& assets);

  // Errors: InvalidArgument with the byte offset when `text` is not UTF-8.
  // Affixes::kCheckpoint adds what the checkpoint's own description adds (a post-processor, or BOS by kind and
  // pre-tokenizer), corrected by the assets' add_bos and add_eos where they say something. A text that already begins
  // with BOS gets no second.
  StatusOr<std::vector<int32_t>> encode(std::string_view text, SpecialInText special, Affixes affixes) const;

  // All ids at once, as Hugging Face decodes them. Ids without a token (padding rows of an embedding) give nothing.
  // Errors: InvalidArgument for a negative id.
  StatusOr<std::string> decode(std::span<const int32_t> ids, SpecialTokens special) const;

  int64_t size() const;        // tokens
  int32_t highest_id() const;  // -1 when empty
  // InvalidArgument when an id has no row: the tokenizer is another model's. `rows` is the embedding's.
  Status check_rows(int64_t rows) const;

  std::optional<int32_t> id_of(std::string_view token) const;  // by the vocabulary's own spelling
  std::optional<std::string> token(int32_t id) const;          // the vocabulary's own spelling
  // What the token adds in the middle of a text: possibly a part of a character. nullopt for ids without a token.
  std::optional<std::string> token_bytes(int32_t id) const;
  bool is_special(int32_t id) const;

  // What encode puts around a text.
  const std::vector<int32_t>& prefix() const;
  const std::vector<int32_t>& suffix() const;

 private:
  friend class Detokenizer;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace motley::text
