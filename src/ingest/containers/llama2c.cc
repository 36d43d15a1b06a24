// llama2.c checkpoints: a header and arrays in a fixed order, f32 (v0, v1) or int8 with scales (v2).
#include <algorithm>

#include "absl/strings/str_join.h"
#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/llama2c_header.h"
#include "ingest/llama2c_vocabulary.h"

namespace motley::ingest::containers {
namespace {

Claim claim(const ByteSource& source) {
  if (has_llama2c_magic(source)) return Claim::kYes;
  const auto header = read_llama2c_header(source);
  if (!header.ok() || !*header) return Claim::kNo;
  return promised_bytes(**header) == source.size_bytes() ? Claim::kYes : Claim::kMaybe;
}

std::string layer_name(std::string_view pattern, int32_t layer) {
  const size_t hole = pattern.find("{}");
  return fmt::format("{}{}{}", pattern.substr(0, hole), layer, pattern.substr(hole + 2));
}

// An array's values, and behind them its scales where it has any: one for each group of the whole array.
std::vector<Tensor> tensors_of(const Llama2cHeader& header, const std::shared_ptr<const ByteSource>& source) {
  std::vector<Tensor> tensors;
  uint64_t offset = header.header_bytes();
  const auto add = [&](std::string name, tensor::DType type, std::vector<uint64_t> shape, uint64_t size_bytes) {
    tensors.push_back({.name = std::move(name),
                       .type = type,
                       .shape = std::move(shape),
                       .source = source,
                       .range = {offset, size_bytes}});
    offset += size_bytes;
  };
  for (const Llama2cArray& array : llama2c_arrays(header)) {
    for (int32_t layer = 0; layer < (array.per_layer ? header.n_layers : 1); ++layer) {
      std::string name = array.per_layer ? layer_name(array.name, layer) : std::string(array.name);
      add(name, array.quantised ? tensor::DType::kI8 : tensor::DType::kF32, array.shape, value_bytes(array));
      if (!array.quantised) continue;
      const uint64_t scales = scale_count(header, array);
      name.replace(name.rfind('.'), std::string::npos, ".scales");
      add(std::move(name), tensor::DType::kF32, {scales}, scales * sizeof(float));
    }
  }
  return tensors;
}

Json tree_of(const Llama2cHeader& h) {
  Json tree;
  tree.set("version", h.version);
  if (h.version == 2) tree.set("group_size", h.group_size);
  tree.set("dim", h.dim);
  tree.set("hidden_dim", h.hidden_dim);
  tree.set("n_layers", h.n_layers);
  tree.set("n_heads", h.n_heads);
  tree.set("n_kv_heads", h.n_kv_heads);
  tree.set("vocab_size", h.vocab_size);
  tree.set("seq_len", h.seq_len);
  return tree;
}

bool is_vocabulary(const std::string& name) { return name.starts_with("tok") && name.ends_with(".bin"); }

// The tokenizer beside the model: the only candidate there is, or the one named after the vocabulary's size
// (tok512.bin).
StatusOr<std::string> choose_tokenizer(const FileSet& files, const std::string& model, uint64_t vocabulary) {
  const auto names = files.names();
  std::vector<std::string> candidates;
  if (names.ok())  // a folder that cannot be listed has no tokenizer for us
    std::copy_if(names->begin(), names->end(), std::back_inserter(candidates), [&](const std::string& name) {
      return name != model && (name == "tokenizer.json" || is_vocabulary(name));
    });
  const std::string by_size = fmt::format("tok{}.bin", vocabulary);
  if (std::find(candidates.begin(), candidates.end(), by_size) != candidates.end()) return by_size;
  REJECT_IF(candidates.size() > 1, "llama2c.tokenizers", files.name(),
            fmt::format("one tokenizer (tokenizer.json, tokenizer.bin or {})", by_size),
            absl::StrJoin(candidates, " and "));
  return candidates.empty() ? "" : candidates.front();
}

// run.c stops at BOS, which separates the texts that such models were trained on; a chat ends at EOS.
void add_fixed_tokens(model::TextAssets& text) {
  text.bos_token = "<s>";
  text.eos_token = "</s>";
  text.unk_token = "<unk>";
  text.bos_id = 1;
  text.add_bos = true;
  text.add_eos = false;
  text.end_tokens = {{.id = 1, .source = "llama2.c: BOS begins the next text"}, {.id = 2, .source = "llama2.c: EOS"}};
}

Status read_text(const FileSet& files, const std::string& model, uint64_t vocabulary, Container& out) {
  TRY(const std::string name, choose_tokenizer(files, model, vocabulary));
  if (name.empty()) {
    out.notes.emplace_back("no tokenizer beside the model (tokenizer.json or tok*.bin): ids only, no text");
    return absl::OkStatus();
  }
  if (!is_vocabulary(name)) return read_hugging_face_text(files, out);
  TRY(const auto source, files.open(name));
  TRY(out.text.tokenizer, read_llama2c_vocabulary(*source, static_cast<uint32_t>(vocabulary)));
  add_fixed_tokens(out.text);
  return absl::OkStatus();
}

StatusOr<Container> open(const Found& found) {
  REJECT_IF(found.names.size() > 1, "llama2c.several", found.files->name(), "one llama2.c model (name it to choose)",
            absl::StrJoin(found.names, " and "));
  const std::string& name = found.names.front();
  TRY(const auto source, found.files->open(name));
  TRY(const auto header, read_llama2c_header(*source));
  if (!header) return absl::InternalError(fmt::format("{}: claimed without a header", source->name()));
  REJECT_IF(source->size_bytes() != promised_bytes(*header), "llama2c.file_size", source->name(),
            fmt::format("{} bytes, as its llama2.c v{} header says", promised_bytes(*header), header->version),
            source->size_bytes());
  Container container;
  container.kind = fmt::format("llama2.c v{}", header->version);
  container.files = {source->name()};
  container.tensors = tensors_of(*header, source);
  container.metadata = {.dialect = arch::Dialect::kLlama2c, .tree = tree_of(*header), .file = source->name()};
  TRY(read_text(*found.files, name, static_cast<uint64_t>(header->vocab_size), container));
  return container;
}

}  // namespace

ContainerKind llama2c() { return {.name = "llama2.c", .claim = claim, .open = open}; }

}  // namespace motley::ingest::containers
