// llama2.c's legacy v0 checkpoint: seven numbers and f32 weights in a fixed order, without magic. It is told by its
// exact size.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/checked.h"
#include "base/folder.h"
#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/llama2c_vocabulary.h"

namespace motley::ingest::containers {
namespace {

constexpr uint64_t kHeaderBytes = 7 * sizeof(int32_t);
constexpr int32_t kMostOfAnything = 1 << 24;  // keeps every product of two and the sum of all below 2^63

struct Header {
  int32_t dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len;

  bool shared_classifier() const { return vocab_size > 0; }
  uint64_t vocabulary() const { return static_cast<uint64_t>(std::abs(static_cast<int64_t>(vocab_size))); }
  uint64_t head_dim() const { return static_cast<uint64_t>(dim / n_heads); }
  uint64_t kv_dim() const { return head_dim() * static_cast<uint64_t>(n_kv_heads); }
};

// Every field in a range that a network can have. Other files rarely begin like this.
bool plausible(const Header& h) {
  for (const int32_t value : {h.dim, h.hidden_dim, h.n_layers, h.n_heads, h.n_kv_heads, h.seq_len})
    if (value < 1 || value > kMostOfAnything) return false;
  return h.vocabulary() >= 1 && h.vocabulary() <= kMostOfAnything && h.n_layers <= 4096 && h.dim % h.n_heads == 0 &&
         h.n_heads % h.n_kv_heads == 0 && h.head_dim() % 2 == 0;
}

// Tensors in the order of the file. One row for each array of the format; those of all layers lie together.
struct Array {
  std::string_view name;
  bool per_layer;
  std::vector<uint64_t> shape;
};

std::vector<Array> arrays_of(const Header& h) {
  const auto dim = static_cast<uint64_t>(h.dim), hidden = static_cast<uint64_t>(h.hidden_dim);
  const uint64_t frequencies = static_cast<uint64_t>(h.seq_len) * (h.head_dim() / 2);
  std::vector<Array> arrays = {{"tok_emb.weight", false, {h.vocabulary(), dim}},
                               {"rms_att.{}.weight", true, {dim}},
                               {"wq.{}.weight", true, {dim, dim}},
                               {"wk.{}.weight", true, {h.kv_dim(), dim}},
                               {"wv.{}.weight", true, {h.kv_dim(), dim}},
                               {"wo.{}.weight", true, {dim, dim}},
                               {"rms_ffn.{}.weight", true, {dim}},
                               {"w1.{}.weight", true, {hidden, dim}},
                               {"w2.{}.weight", true, {dim, hidden}},
                               {"w3.{}.weight", true, {hidden, dim}},
                               {"rms_final.weight", false, {dim}},
                               {"freq_cis_real", false, {frequencies}},
                               {"freq_cis_imag", false, {frequencies}}};
  if (!h.shared_classifier()) arrays.push_back({"wcls.weight", false, {h.vocabulary(), dim}});
  return arrays;
}

uint64_t size_bytes(const Array& array) { return checked_product(array.shape).value_or(0) * sizeof(float); }

// Exact size of the file that a plausible header promises.
uint64_t promised_bytes(const Header& h) {
  uint64_t total = kHeaderBytes;
  for (const Array& array : arrays_of(h)) {
    const auto all = checked_multiply(size_bytes(array), array.per_layer ? static_cast<uint64_t>(h.n_layers) : 1);
    total = checked_add(total, all.value_or(kMaxSize)).value_or(kMaxSize);
  }
  return total;
}

std::optional<Header> read_header(const ByteSource& source) {
  Header header;
  if (!source.read(0, std::as_writable_bytes(std::span(&header, 1))).ok() || !plausible(header)) return std::nullopt;
  return header;
}

Claim claim(const ByteSource& source) {
  const auto header = read_header(source);
  if (!header) return Claim::kNo;
  return promised_bytes(*header) == source.size_bytes() ? Claim::kYes : Claim::kMaybe;
}

std::string layer_name(std::string_view pattern, int32_t layer) {
  const size_t hole = pattern.find("{}");
  return fmt::format("{}{}{}", pattern.substr(0, hole), layer, pattern.substr(hole + 2));
}

std::vector<Tensor> tensors_of(const Header& header, const std::shared_ptr<const ByteSource>& source) {
  std::vector<Tensor> tensors;
  uint64_t offset = kHeaderBytes;
  for (const Array& array : arrays_of(header)) {
    for (int32_t layer = 0; layer < (array.per_layer ? header.n_layers : 1); ++layer) {
      const ByteRange range{offset, size_bytes(array)};
      tensors.push_back({.name = array.per_layer ? layer_name(array.name, layer) : std::string(array.name),
                         .type = tensor::DType::kF32,
                         .shape = array.shape,
                         .source = source,
                         .range = range});
      offset = range.end();
    }
  }
  return tensors;
}

Json tree_of(const Header& h) {
  Json tree;
  tree.set("dim", h.dim);
  tree.set("hidden_dim", h.hidden_dim);
  tree.set("n_layers", h.n_layers);
  tree.set("n_heads", h.n_heads);
  tree.set("n_kv_heads", h.n_kv_heads);
  tree.set("vocab_size", h.vocabulary());
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
  const auto header = read_header(*source);
  if (!header) return absl::InternalError(fmt::format("{}: claimed without a header", source->name()));
  REJECT_IF(source->size_bytes() != promised_bytes(*header), "llama2c.file_size", source->name(),
            fmt::format("{} bytes, as its llama2.c v0 header says", promised_bytes(*header)), source->size_bytes());
  Container container;
  container.kind = "llama2.c v0";
  container.files = {source->name()};
  container.tensors = tensors_of(*header, source);
  container.metadata = {.dialect = arch::Dialect::kLlama2c, .tree = tree_of(*header), .file = source->name()};
  TRY(read_text(*found.files, name, header->vocabulary(), container));
  return container;
}

}  // namespace

ContainerKind llama2c() { return {.name = "llama2.c v0", .claim = claim, .open = open}; }

}  // namespace motley::ingest::containers
