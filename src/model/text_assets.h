// What a checkpoint says about text: its vocabulary, its chat template and where generation ends. Filled by ingest from
// any container, read by text; nothing here interprets it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace motley::model {

// A tokenizer.json as published, byte for byte.
struct TokenizerJson {
  std::string json;
  std::string source;  // file it came from, for errors
};

// A vocabulary that is stored piece by piece (GGUF `tokenizer.ggml.*`, llama2.c tokenizer.bin). text turns it into the
// same description that a tokenizer.json gives.
struct Vocabulary {
  enum class Kind { kByteLevelBpe, kSentencePiece };
  // Values as in GGUF's tokenizer.ggml.token_type.
  enum class TokenType : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

  Kind kind = Kind::kByteLevelBpe;
  std::vector<std::string> tokens;  // by id; SentencePiece pieces use U+2581 for a space
  std::vector<float> scores;        // SentencePiece: one per token; empty for BPE
  std::vector<TokenType> types;     // one per token
  std::vector<std::string> merges;  // BPE: "left right", best first; empty for SentencePiece
  std::string pre_tokenizer;        // GGUF's tokenizer.ggml.pre ("smollm", "llama-bpe", …); BPE only
  bool add_space_prefix = true;     // SentencePiece: a space goes before the text
  std::string source;               // file it came from, for errors
};

// One id that ends generation, and which file and key said so.
struct EndToken {
  int32_t id = 0;
  std::string source;
  bool operator==(const EndToken&) const = default;
};

struct TextAssets {
  std::variant<std::monostate, TokenizerJson, Vocabulary> tokenizer;

  // Jinja sources; "default" is the one that chats use unless another is asked for ("tool_use", "rag").
  std::map<std::string, std::string> chat_templates;
  std::string chat_template_source;

  // Contents of the special tokens that templates name, and whether raw prompts get them. nullopt: the checkpoint does
  // not say.
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> pad_token;
  std::optional<std::string> unk_token;
  std::optional<int32_t> bos_id;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;

  // The union over every file of the checkpoint that names one.
  std::vector<EndToken> end_tokens;
};

}  // namespace motley::model
