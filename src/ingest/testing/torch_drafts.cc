// Archives and pickles for tests: the writers know nothing of the readers.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {
namespace {

std::string local_header(const ZipDraftEntry& entry) {
  const std::string& name = entry.local_name.empty() ? entry.name : entry.local_name;
  const auto size_bytes = static_cast<uint32_t>(entry.data.size());
  return raw(entry.local_magic) + raw(uint16_t{20}) + raw(entry.flags) + raw(entry.method) + std::string(8, '\0') +
         raw(size_bytes) + raw(size_bytes) + raw(static_cast<uint16_t>(name.size())) + raw(uint16_t{0}) + name;
}

std::string listed(const ZipDraftEntry& entry, uint32_t offset) {
  const auto size_bytes = static_cast<uint32_t>(entry.data.size());
  return raw(entry.magic) + std::string(4, '\0') + raw(entry.flags) + raw(entry.method) + std::string(8, '\0') +
         raw(entry.packed_bytes.value_or(size_bytes)) + raw(entry.size_bytes.value_or(size_bytes)) +
         raw(static_cast<uint16_t>(entry.name.size())) + raw(static_cast<uint16_t>(entry.extra.size())) +
         std::string(10, '\0') + raw(entry.local_offset.value_or(offset)) + entry.name + entry.extra;
}

std::string tuple(const std::string& opcodes) { return absl::StrCat("(", opcodes, "t"); }

uint32_t size_of(std::string_view type) {
  return type == "FloatStorage" || type == "IntStorage" ? 4 : type == "ByteStorage" || type == "CharStorage" ? 1 : 2;
}

std::string zeros_of(const TorchDraftTensor& tensor) {
  return std::string(static_cast<size_t>(std::max(tensor.elements, 0)) * size_of(tensor.type), '\0');
}

}  // namespace

ZipDraftEntry stored(std::string name, std::string data) {
  ZipDraftEntry entry;
  entry.name = std::move(name);
  entry.data = std::move(data);
  return entry;
}

ZipDraftEntry& ZipDraft::entry(std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const ZipDraftEntry& e) { return e.name == name; });
  if (found == entries.end()) {
    std::cerr << "a test's draft is wrong: no entry " << name << std::endl;
    std::abort();
  }
  return *found;
}

std::string ZipDraft::text() const {
  std::string out, directory;
  for (const ZipDraftEntry& entry : entries) {
    directory += listed(entry, static_cast<uint32_t>(out.size()));
    out += local_header(entry) + entry.data;
  }
  const auto offset = static_cast<uint32_t>(out.size()), size_bytes = static_cast<uint32_t>(directory.size());
  const auto entry_count = count.value_or(static_cast<uint16_t>(entries.size()));
  return out + directory + before_end + raw(uint32_t{0x06054b50}) + raw(disk) + raw(uint16_t{0}) + raw(entry_count) +
         raw(entry_count) + raw(directory_bytes.value_or(size_bytes)) + raw(directory_offset.value_or(offset)) +
         raw(uint16_t{0});
}

std::string pickle_text(std::string_view text) {
  return absl::StrCat("X", raw(static_cast<uint32_t>(text.size())), std::string(text));
}
std::string pickle_int(int32_t value) { return absl::StrCat("J", raw(value)); }
std::string pickle_ints(const std::vector<int32_t>& values) {
  std::string items;
  for (const int32_t value : values) items += pickle_int(value);
  return tuple(items);
}
std::string pickle_global(std::string_view module, std::string_view name) {
  return absl::StrCat("c", std::string(module), "\n", std::string(name), "\n");
}
std::string pickle_call(const std::string& function, const std::string& arguments) {
  return function + tuple(arguments) + "R";
}
std::string pickle_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string opcodes = "}(";
  for (const auto& [key, value] : items) opcodes += pickle_text(key) + value;
  return opcodes + "u";
}
std::string pickle_of(const std::string& opcodes) { return absl::StrCat("\x80\x02", opcodes, "."); }

std::string TorchDraftTensor::opcodes() const {
  const std::string id = tuple(pickle_text("storage") + pickle_global("torch", type) + pickle_text(key) +
                               pickle_text("cpu") + pickle_int(elements) + storage_view) +
                         "Q";
  const std::string hooks = pickle_call(pickle_global("collections", "OrderedDict"), "");
  return pickle_call(pickle_global("torch._utils", "_rebuild_tensor_v2"),
                     id + pickle_int(offset) + pickle_ints(shape) + pickle_ints(strides) + "\x89" + hooks);
}

TorchDraft TorchDraft::of(std::string_view model) {
  TorchDraft draft;
  for (const auto& [name, entry] : SafetensorsDraft::parse(read_model(model)["model.safetensors"]).header) {
    if (entry.find("shape") == nullptr) continue;
    std::vector<int32_t> shape;
    for (const Json& size : *entry.find("shape")->as_array()) shape.push_back(static_cast<int32_t>(*size.as_int()));
    draft.add(name, shape).type = "HalfStorage";
  }
  return draft;
}

TorchDraft TorchDraft::small() {
  TorchDraft draft;
  draft.add("a", {2, 3});
  return draft;
}

TorchDraftTensor& TorchDraft::add(std::string name, std::vector<int32_t> shape) {
  TorchDraftTensor tensor;
  tensor.name = std::move(name);
  tensor.key = std::to_string(tensors.size());
  tensor.elements = 1;
  tensor.strides.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0; tensor.elements *= shape[i]) tensor.strides[i] = tensor.elements;
  tensor.shape = std::move(shape);
  tensors.push_back(std::move(tensor));
  return tensors.back();
}

std::string TorchDraft::pickle() const {
  std::vector<std::pair<std::string, std::string>> items;
  for (const TorchDraftTensor& tensor : tensors) items.emplace_back(tensor.name, tensor.opcodes());
  items.insert(items.end(), others.begin(), others.end());
  return pickle_of(pickle_dict(items));
}

ZipDraft TorchDraft::zip() const {
  ZipDraft zip;
  zip.entries.push_back(stored("model/data.pkl", pickle()));
  zip.entries.push_back(stored("model/byteorder", "little"));
  for (const TorchDraftTensor& tensor : tensors)
    zip.entries.push_back(stored(absl::StrCat("model/data/", tensor.key), zeros_of(tensor)));
  return zip;
}

std::string TorchDraft::legacy_text() const {
  const std::string magic = std::string("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
  const std::string machine = pickle_dict({{"protocol_version", pickle_int(1001)}, {"little_endian", "\x88"}});
  std::string out = pickle_of(magic) + pickle_of(pickle_int(1001)) + pickle_of(machine) + pickle();
  std::string keys = "](", data;
  for (const TorchDraftTensor& tensor : tensors) {
    keys += pickle_text(tensor.key);
    data += raw(static_cast<int64_t>(tensor.elements)) + zeros_of(tensor);
  }
  return out + pickle_of(keys + "e") + data;
}

MetaDraft MetaDraft::good(int32_t count) {
  constexpr int32_t kDim = 32, kKv = 32, kHidden = 48, kVocabulary = 8;
  MetaDraft draft;
  draft.ranks.resize(static_cast<size_t>(count));
  for (TorchDraft& rank : draft.ranks) {
    rank.add("tok_embeddings.weight", {kVocabulary, kDim / count});
    for (const char* name : {"wq", "wk", "wv"})
      rank.add(std::string("layers.0.attention.") + name + ".weight", {kKv / count, kDim});
    rank.add("layers.0.attention.wo.weight", {kDim, kDim / count});
    rank.add("layers.0.feed_forward.w1.weight", {kHidden / count, kDim});
    rank.add("layers.0.feed_forward.w2.weight", {kDim, kHidden / count});
    rank.add("layers.0.feed_forward.w3.weight", {kHidden / count, kDim});
    rank.add("layers.0.attention_norm.weight", {kDim});
    rank.add("layers.0.ffn_norm.weight", {kDim});
    rank.add("norm.weight", {kDim});
    rank.add("output.weight", {kVocabulary / count, kDim});
    rank.add("rope.freqs", {8});
  }
  draft.params = *parse_json(R"({"dim": 32, "n_layers": 1, "n_heads": 2, "n_kv_heads": 2, "vocab_size": -1,
                                 "multiple_of": 16, "norm_eps": 1e-5})",
                             "test");
  return draft;
}

Files MetaDraft::files() const {
  Files files = {{"params.json", params.dump()}};
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    files[absl::StrCat("consolidated.0", rank, ".pth")] = ranks[rank].text();
  return files;
}

std::string npy(std::string_view descr, std::string_view order, std::string_view shape, const std::string& data) {
  std::string header = absl::StrCat("{'descr': '", std::string(descr), "', 'fortran_order': ", std::string(order),
                                    ", 'shape': ", std::string(shape), ", }");
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  return absl::StrCat("\x93NUMPY", raw(uint8_t{1}), raw(uint8_t{0}), raw(static_cast<uint16_t>(header.size())), header,
                      data);
}

}  // namespace motley::ingest::testing
