#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

constexpr uint64_t kHuge = uint64_t{1} << 63;

// A row that bends the good draft.
BrokenInput bent(std::string what, std::string site, std::function<void(GgufDraft&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            GgufDraft draft = GgufDraft::good();
            bend(draft);
            return Files{{"model.gguf", draft.text()}};
          },
          "",
          {}};
}

// A row that bends the bytes of the good file.
BrokenInput bytes(std::string what, std::string site, std::function<std::string(std::string)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            return Files{{"model.gguf", bend(GgufDraft::good().text())}};
          },
          "",
          {}};
}

size_t offset_of(const std::string& text, std::string_view part) { return text.find(part); }

Files three_parts(const std::function<void(std::vector<GgufDraft>&)>& bend) {
  std::vector<GgufDraft> parts(2);
  parts[0] = GgufDraft::good();
  const GgufDraft whole = GgufDraft::good();
  parts[0].tensors.clear();
  parts[0].data.clear();
  parts[1].tensors = whole.tensors;
  parts[1].data = whole.data;
  for (uint32_t i = 0; i < parts.size(); ++i) {
    parts[i].set_number("split.no", i);
    parts[i].set_number("split.count", 2);
    parts[i].set_number("split.tensors.count", static_cast<uint32_t>(whole.tensors.size()));
  }
  bend(parts);
  Files files;
  for (size_t i = 0; i < parts.size(); ++i)
    files["model-0000" + std::to_string(i + 1) + "-of-00002.gguf"] = parts[i].text();
  return files;
}

BrokenInput split(std::string what, std::string site, std::function<void(std::vector<GgufDraft>&)> bend) {
  return {std::move(what), std::move(site), [bend = std::move(bend)] { return three_parts(bend); }, "", {}};
}

std::vector<BrokenInput> cuts() {
  return {bytes("cut in the preamble", "gguf.cut_preamble", [](const std::string& text) { return text.substr(0, 12); }),
          bytes("cut in a key", "gguf.cut_keys",
                [](const std::string& text) { return text.substr(0, offset_of(text, "tokenizer.ggml.merges") + 4); }),
          bytes("cut in a value", "gguf.cut_values",
                [](const std::string& text) {
                  return text.substr(0, offset_of(text, "tokenizer.ggml.eos_token_id") + 30);
                }),
          bytes("cut in the tensors", "gguf.cut_tensors",
                [](const std::string& text) { return text.substr(0, offset_of(text, "blk.0.ffn_down.weight")); }),
          bytes("cut in the data", "gguf.tensor_range",
                [](const std::string& text) { return text.substr(0, text.size() - 64); })};
}

std::vector<BrokenInput> preambles() {
  return {
      bent("the letters are others", "gguf.magic", [](GgufDraft& draft) { draft.magic = 0x46554748; }),
      bent("version 1", "gguf.version", [](GgufDraft& draft) { draft.version = 1; }),
      bent("a big-endian file", "gguf.endian", [](GgufDraft& draft) { draft.version = 3u << 24; }),
      bent("2^63 tensors", "gguf.tensor_count", [](GgufDraft& draft) { draft.tensor_count = kHuge; }),
      bent("2^63 keys", "gguf.key_count", [](GgufDraft& draft) { draft.key_count = kHuge; }),
  };
}

std::vector<BrokenInput> keys() {
  return {
      bent("a key of no bytes", "gguf.key_length", [](GgufDraft& draft) { draft.keys[3].name = ""; }),
      bent("a key with a line break", "gguf.key_text", [](GgufDraft& draft) { draft.keys[3].name = "a\nb"; }),
      bent("a key twice", "gguf.key_twice", [](GgufDraft& draft) { draft.keys.push_back(draft.keys[2]); }),
      bent("a value of type 13", "gguf.value_type",
           [](GgufDraft& draft) { draft.key("tokenizer.ggml.model").type = 13; }),
      bent("a bool of 2", "gguf.bool",
           [](GgufDraft& draft) {
             draft.keys.push_back({"general.x", 7, "\x02"});
           }),
      bent("an array of arrays", "gguf.element_type",
           [](GgufDraft& draft) {
             draft.keys.push_back({"general.x", 9, raw(uint32_t{9}) + raw(uint64_t{1})});
           }),
      bent("an array of 2^63 elements", "gguf.array_count",
           [](GgufDraft& draft) {
             draft.keys.push_back({"general.x", 9, raw(uint32_t{10}) + raw(kHuge)});
           }),
      bent("an alignment of 24", "gguf.alignment", [](GgufDraft& draft) { draft.set_number("general.alignment", 24); }),
  };
}

std::vector<BrokenInput> tensors() {
  return {
      bent("a tensor of five dimensions", "gguf.dimensions",
           [](GgufDraft& draft) {
             draft.tensor("token_embd.weight").sizes = {32, 2, 2, 2, 1};
           }),
      bent("a dimension of zero", "gguf.zero_dimension",
           [](GgufDraft& draft) {
             draft.tensor("token_embd.weight").sizes = {32, 0};
           }),
      bent("ggml type 4, which was withdrawn", "gguf.tensor_type",
           [](GgufDraft& draft) { draft.tensor("token_embd.weight").type = 4; }),
      bent("rows of half a block", "gguf.row_blocks",
           [](GgufDraft& draft) {
             draft.tensor("blk.0.attn_q.weight").sizes = {16, 64};
           }),
      bent("dimensions whose product is 2^63", "gguf.tensor_size",
           [](GgufDraft& draft) {
             draft.tensor("token_embd.weight").sizes = {uint64_t{1} << 32, uint64_t{1} << 31};
           }),
      bent("an offset between two multiples of the alignment", "gguf.tensor_alignment",
           [](GgufDraft& draft) { draft.tensor("output_norm.weight").offset += 4; }),
      bent("two tensors in one place", "gguf.tensor_overlap",
           [](GgufDraft& draft) {
             draft.tensor("blk.0.ffn_up.weight").offset = draft.tensor("blk.0.ffn_gate.weight").offset;
           }),
      bent("a hole between two tensors", "gguf.tensor_gap",
           [](GgufDraft& draft) {
             draft.data.append(64, '\0');
             draft.add_tensor("blk.0.attn_q.bias", {32}, 0, 128);
           }),
      bytes("a second file behind the first", "gguf.trailing_bytes",
            [](const std::string& text) { return text + GgufDraft::good().text(); }),
      bent("one name for two tensors", "container.tensor_twice",
           [](GgufDraft& draft) { draft.add_tensor("output_norm.weight", {32}, 0, 128); }),
      bent("a name with an escape", "container.tensor_name",
           [](GgufDraft& draft) { draft.add_tensor("blk.0.\x1b[2J", {32}, 0, 128); }),
      bent("a weight in Q8_1, a type of activations", "gguf_blocks.type",
           [](GgufDraft& draft) {
             draft.tensor("token_embd.weight").name = "v.was_embedding";
             draft.add_tensor("token_embd.weight", {32, 8}, 9, 8 * 36);
           }),
      bent("a norm in Q8_0", "gguf_blocks.vector",
           [](GgufDraft& draft) {
             draft.tensor("output_norm.weight").name = "v.was_norm";
             draft.add_tensor("output_norm.weight", {32}, 8, 34);
           }),
      bent("a weight of integers", "packing.type",
           [](GgufDraft& draft) { draft.tensor("blk.0.ffn_up.weight").type = 26; }),
      bent("a matrix on its side", "packing.shape",
           [](GgufDraft& draft) {
             draft.tensor("blk.0.attn_k.weight").sizes = {16, 32};
           }),
      bent("no embedding for what the keys describe", "load.missing_tensor",
           [](GgufDraft& draft) { draft.tensor("blk.0.ffn_up.weight").name = "v.was_up"; }),
      bent("a tensor of another architecture", "load.unused_tensor",
           [](GgufDraft& draft) { draft.add_tensor("blk.0.attn_q_norm.weight", {16}, 0, 64); }),
      bent("RoPE divisors in f16", "load.small_floats",
           [](GgufDraft& draft) { draft.add_tensor("rope_freqs.weight", {8}, 1, 16); }),
  };
}

std::vector<BrokenInput> splits() {
  return {
      {"a part is missing",
       "gguf.split_missing",
       [] {
         Files files = three_parts([](auto&) {});
         files.erase("model-00002-of-00002.gguf");
         return files;
       },
       "",
       {}},
      split("a part of another set", "gguf.split_count", [](auto& parts) { parts[1].set_number("split.count", 3); }),
      split("two parts swapped", "gguf.split_number", [](auto& parts) { parts[1].set_number("split.no", 0); }),
      split("fewer tensors than promised", "gguf.split_tensors",
            [](auto& parts) { parts[0].set_number("split.tensors.count", 99); }),
      {"a part under another name",
       "gguf.split_name",
       [] {
         Files files = three_parts([](auto&) {});
         return Files{{"model.gguf", files["model-00001-of-00002.gguf"]}};
       },
       "",
       {}},
      {"two models in a folder",
       "gguf.several",
       [] {
         return Files{{"a.gguf", GgufDraft::good().text()}, {"b.gguf", GgufDraft::good().text()}};
       },
       "",
       {}},
      {"a split model and another in a folder",
       "gguf.several_sets",
       [] {
         Files files = three_parts([](auto&) {});
         files["other.gguf"] = GgufDraft::good().text();
         return files;
       },
       "",
       {}},
  };
}

}  // namespace

std::vector<BrokenInput> broken_gguf() {
  std::vector<BrokenInput> all;
  for (auto* part : {cuts, preambles, keys, tensors, splits})
    for (BrokenInput& row : part()) all.push_back(std::move(row));
  return all;
}

std::vector<BrokenInput> broken_gguf_text() {
  const auto strings = [](std::string key, std::vector<std::string> items) {
    return [key = std::move(key), items = std::move(items)](GgufDraft& draft) {
      draft.key(key).value = gguf_strings(items);
    };
  };
  return {
      bent("a vocabulary of a kind nobody has", "gguf_text.kind",
           [](GgufDraft& draft) { draft.set_string("tokenizer.ggml.model", "bert"); }),
      bent("no tokens", "gguf_text.tokens", [](GgufDraft& draft) { draft.remove_key("tokenizer.ggml.tokens"); }),
      bent("tokens that are numbers", "gguf.string_array",
           [](GgufDraft& draft) {
             draft.key("tokenizer.ggml.tokens").value = draft.key("tokenizer.ggml.token_type").value;
           }),
      bent("a million empty tokens and one", "gguf.array_budget",
           [](GgufDraft& draft) {
             constexpr uint64_t kCount = (1 << 20) + 1;
             draft.key("tokenizer.ggml.tokens").value = raw(uint32_t{8}) + raw(kCount) + std::string(8 * kCount, '\0');
           }),
      bent("types that are strings", "gguf.number_array", strings("tokenizer.ggml.token_type", {"a"})),
      bent("fewer types than tokens", "gguf_text.type_count", strings("tokenizer.ggml.tokens", {"<s>", "</s>", "a"})),
      bent("a token of type 7", "gguf_text.type",
           [](GgufDraft& draft) {
             std::string& value = draft.key("tokenizer.ggml.token_type").value;
             value.replace(value.size() - 4, 4, raw(int32_t{7}));
           }),
      bent("a byte-level BPE without merges", "gguf_text.merges",
           [](GgufDraft& draft) { draft.remove_key("tokenizer.ggml.merges"); }),
      bent("a SentencePiece without scores", "gguf_text.scores",
           [](GgufDraft& draft) { draft.set_string("tokenizer.ggml.model", "llama"); }),
      bent("an end token beyond the vocabulary", "gguf_text.id",
           [](GgufDraft& draft) { draft.set_number("tokenizer.ggml.eos_token_id", 8); }),
      bent("a chat template that is a number", "gguf_text.string",
           [](GgufDraft& draft) { draft.set_number("tokenizer.chat_template", 1); }),
      bent("a flag that is a string", "gguf_text.flag",
           [](GgufDraft& draft) { draft.set_string("tokenizer.ggml.add_bos_token", "yes"); }),
      bent("a temperature that is a string", "gguf_text.sampling",
           [](GgufDraft& draft) { draft.set_string("general.sampling.temp", "warm"); }),
      bent("a vocabulary longer than the embedding", "text.vocabulary",
           [](GgufDraft& draft) {
             draft.key("tokenizer.ggml.tokens").value = gguf_strings(std::vector<std::string>(9, "x"));
             draft.remove_key("tokenizer.ggml.token_type");
           }),
  };
}

}  // namespace motley::ingest::testing
