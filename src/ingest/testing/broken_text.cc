#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

BrokenInput stories(std::string what, std::string site, std::function<void(Files&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            Files files = read_model("stories260K");
            bend(files);
            return files;
          },
          "",
          {}};
}

BrokenInput hugging_face(std::string what, std::string site, std::string file, std::function<void(std::string&)> bend) {
  return {std::move(what),
          std::move(site),
          [file = std::move(file), bend = std::move(bend)] {
            Files files = read_model("hf-f16");
            bend(files[file]);
            return files;
          },
          "",
          {}};
}

// Replaces a file by other text.
std::function<void(std::string&)> becomes(std::string text) {
  return [text = std::move(text)](std::string& file) { file = text; };
}

}  // namespace

std::vector<BrokenInput> broken_llama2c() {
  const auto vocabulary = [](Files& files) -> std::string& { return files["tok512.bin"]; };
  return {
      stories("one float too few", "llama2c.file_size",
              [](Files& files) { files["stories260K.bin"].resize(files["stories260K.bin"].size() - 4); }),
      stories("a vocabulary cut in its first number", "llama2c.cut_vocabulary_header",
              [=](Files& files) { vocabulary(files).resize(3); }),
      stories("a vocabulary cut in a piece", "llama2c.cut_vocabulary",
              [=](Files& files) { vocabulary(files).resize(vocabulary(files).size() - 1); }),
      stories("a vocabulary of an older kind, without the longest length", "llama2c.longest_piece",
              [=](Files& files) { vocabulary(files).replace(0, 4, raw(int32_t{-1})); }),
      stories("a piece longer than the longest", "llama2c.piece_length",
              [=](Files& files) { vocabulary(files).replace(8, 4, raw(int32_t{1 << 30})); }),
      stories("a vocabulary of more pieces than the model has", "llama2c.vocabulary_size",
              [=](Files& files) { vocabulary(files) += raw(0.0f) + raw(int32_t{1}) + "x"; }),
      stories("two tokenizers to choose from", "llama2c.tokenizers",
              [](Files& files) {
                files["tokenizer.bin"] = files["tok512.bin"];
                files["tokenizer.json"] = "{}";
                files.erase("tok512.bin");
              }),
      stories("two models in a folder", "llama2c.several",
              [](Files& files) { files["again.bin"] = files["stories260K.bin"]; }),
  };
}

std::vector<BrokenInput> broken_text() {
  const std::string tokenizer_of_another =
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":49151},"merges":[]},"added_tokens":[]})";
  return {
      hugging_face("a tokenizer of another model", "text.tokenizer_ids", "tokenizer.json",
                   becomes(tokenizer_of_another)),
      hugging_face("a tokenizer that is no JSON", "tokenizer.syntax", "tokenizer.json",
                   becomes(R"({"model": {"vocab": {"a)")),
      hugging_face("an added token without an id", "tokenizer.added", "tokenizer.json",
                   becomes(R"({"added_tokens":[{"content":"<s>"}]})")),
      hugging_face("added tokens of 9 MB", "tokenizer.added_size", "tokenizer.json",
                   becomes(R"({"added_tokens":[)" + std::string(9 << 20, ' ') + "]}")),
      hugging_face("an end token beyond the vocabulary", "text.end_token", "generation_config.json",
                   becomes(R"({"eos_token_id":[2,512]})")),
      hugging_face("an end token that is a word", "hf_text.eos_id", "generation_config.json",
                   becomes(R"({"eos_token_id":"</s>"})")),
      hugging_face("a temperature that is a word", "hf_text.sampling", "generation_config.json",
                   becomes(R"({"temperature":"hot"})")),
      hugging_face("a flag that is a word", "hf_text.flag", "tokenizer_config.json",
                   becomes(R"({"add_bos_token":"yes"})")),
      hugging_face("a template that is a number", "hf_text.templates", "tokenizer_config.json",
                   becomes(R"({"chat_template":7})")),
      hugging_face("a template without a name", "hf_text.named_template", "tokenizer_config.json",
                   becomes(R"({"chat_template":[{"template":"x"}]})")),
      hugging_face("a generation configuration of 17 MB", "files.too_big", "generation_config.json",
                   [](std::string& file) { file.resize(17 << 20, ' '); }),
  };
}

}  // namespace motley::ingest::testing
