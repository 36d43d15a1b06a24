#include "ingest/torch_file.h"

#include <algorithm>
#include <cstring>

#include "base/bounded_reader.h"
#include "base/checked.h"
#include "ingest/pickle.h"
#include "ingest/torch_state.h"
#include "ingest/zip_archive.h"

namespace motley::ingest {
namespace {

constexpr uint64_t kPickleBudgetBytes = 16 << 20;  // 130 bytes a tensor: a hundred thousand
constexpr std::string_view kPickleName = "data.pkl";
constexpr uint64_t kLongestByteOrder = 16;

// A pickle of the number 0x1950a86a20f9469cfc6c, with which files of before 1.6 begin; one of 1001, the version of
// their layout, follows.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr int64_t kLegacyVersion = 1001;

std::string beginning(const ByteSource& source, size_t size_bytes) {
  std::string text(std::min<uint64_t>(source.size_bytes(), size_bytes), '\0');
  if (!source.read(0, std::as_writable_bytes(std::span(text))).ok()) text.clear();
  return text;
}

// --- The zip archive: ROOT/data.pkl, ROOT/data/KEY for each storage, ROOT/byteorder

// "ROOT/", from the only pickle there is.
StatusOr<std::string> find_root(const std::vector<ZipEntry>& entries, const std::string& file) {
  std::vector<std::string_view> roots;
  for (const ZipEntry& entry : entries) {
    const std::string_view name = entry.name;
    if (name == kPickleName || name.ends_with("/data.pkl"))
      roots.push_back(name.substr(0, name.size() - kPickleName.size()));
  }
  if (roots.size() != 1)
    return reject({.site = "torch.pickle_missing",
                   .where = file,
                   .expected = "one entry data.pkl, as torch.save writes it",
                   .got = fmt::format("{} of them", roots.size())});
  return std::string(roots.front());
}

Status check_byte_order(const ByteSource& source, const ZipEntry* entry) {
  if (entry == nullptr) return absl::OkStatus();  // files of before 2.1 have no such entry
  std::string text(std::min(entry->range.size_bytes, kLongestByteOrder), '\0');
  TRY(source.read(entry->range.offset, std::as_writable_bytes(std::span(text))));
  REJECT_IF(text != "little", "torch.byte_order", source.name(), "little-endian numbers", fmt::format("\"{}\"", text));
  return absl::OkStatus();
}

Status read_archive(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& tensors,
                    Attributes& attributes) {
  TRY(const std::vector<ZipEntry> entries, read_zip(*source));
  TRY(const std::string root, find_root(entries, source->name()));
  TRY(check_byte_order(*source, find_entry(entries, root + "byteorder")));
  const ByteRange range = find_entry(entries, fmt::format("{}{}", root, kPickleName))->range;
  REJECT_IF(range.size_bytes > kPickleBudgetBytes, "torch.pickle_size", source->name(),
            fmt::format("a data.pkl of at most {} bytes", kPickleBudgetBytes), range.size_bytes);
  TRY(auto bytes, read_range(*source, range, kPickleBudgetBytes));
  const auto pickled = memory_source(fmt::format("{} entry {}", source->name(), kPickleName), std::move(bytes));
  BoundedReader in(*pickled, kPickleBudgetBytes);
  in.enter("a pickle", "torch.cut_pickle");
  TRY(const Pickle pickle, read_pickle(in, torch_callables()));
  Storages storages;
  const std::string data = root + "data/";
  for (const ZipEntry& entry : entries)
    if (entry.name.starts_with(data)) storages.emplace(entry.name.substr(data.size()), entry.range);
  return flatten_state(pickle, storages, source, tensors, attributes);
}

// --- The sequence of pickles: magic, version, facts about the machine, state, keys of storages; then the storages

Status check_machine(const Pickle& facts, const std::string& file) {
  const auto* dict = facts.get<Pickle::Dict>(facts.root);
  for (const auto& [key, value] : dict == nullptr ? Pickle::Dict().items : dict->items) {
    const auto* name = facts.get<std::string>(key);
    const auto* flag = facts.get<bool>(value);
    REJECT_IF(name != nullptr && *name == "little_endian" && (flag == nullptr || !*flag), "torch.legacy_byte_order",
              file, "little-endian numbers", "others");
  }
  return absl::OkStatus();
}

// Bytes of each storage that the state speaks of.
StatusOr<std::map<std::string, uint64_t, std::less<>>> sizes_of_storages(const Pickle& state, const std::string& file) {
  std::map<std::string, uint64_t, std::less<>> sizes;
  for (Pickle::Ref ref = 0; ref < state.values.size(); ++ref) {
    if (state.get<Pickle::Persistent>(ref) == nullptr) continue;
    TRY(const StorageId id, read_storage_id(state, ref, file));
    TRY(sizes[id.key], storage_bytes(id, file));
  }
  return sizes;
}

// Each storage is its number of elements and then those.
StatusOr<Storages> find_storages(const ByteSource& source, uint64_t offset, const Pickle& keys,
                                 const std::map<std::string, uint64_t, std::less<>>& sizes) {
  Storages storages;
  const auto* list = keys.get<Pickle::Sequence>(keys.root);
  for (const Pickle::Ref ref : list == nullptr ? Pickle::Sequence().items : list->items) {
    const auto* key = keys.get<std::string>(ref);
    const auto size = key == nullptr ? sizes.end() : sizes.find(*key);
    if (size == sizes.end())
      return reject({.site = "torch.legacy_key",
                     .where = source.name(),
                     .expected = "keys of storages that tensors lie in",
                     .got = key == nullptr ? "something else" : *key});
    const uint64_t left = source.size_bytes() - offset;
    if (left < sizeof(uint64_t) || size->second > left - sizeof(uint64_t))
      return reject({.site = "torch.legacy_cut",
                     .where = source.name(),
                     .expected = fmt::format("{} bytes of storage {}", size->second, *key),
                     .got = fmt::format("{} bytes to the end of the file", left)});
    offset += sizeof(uint64_t);
    REJECT_IF(!storages.emplace(*key, ByteRange{offset, size->second}).second, "torch.legacy_key_twice", source.name(),
              "each storage once", fmt::format("{} again", *key));
    offset += size->second;
  }
  REJECT_IF(offset != source.size_bytes(), "torch.legacy_trailing", source.name(),
            fmt::format("an end at byte {}, after the last storage", offset), source.size_bytes());
  return storages;
}

Status read_legacy(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& tensors,
                   Attributes& attributes) {
  BoundedReader in(*source, kPickleBudgetBytes);
  in.enter("the pickles of a torch file", "torch.cut_legacy");
  TRY(in.skip(kLegacyMagic.size()));
  TRY(const Pickle version, read_pickle(in, {}));
  const auto* number = version.get<int64_t>(version.root);
  REJECT_IF(number == nullptr || *number != kLegacyVersion, "torch.legacy_version", source->name(),
            fmt::format("layout {}", kLegacyVersion), number == nullptr ? 0 : *number);
  TRY(const Pickle machine, read_pickle(in, {}));
  TRY(check_machine(machine, source->name()));
  TRY(const Pickle state, read_pickle(in, torch_callables()));
  TRY(const Pickle keys, read_pickle(in, {}));
  TRY(const auto sizes, sizes_of_storages(state, source->name()));
  TRY(const Storages storages, find_storages(*source, in.position(), keys, sizes));
  return flatten_state(state, storages, source, tensors, attributes);
}

// Whatever protocol the second byte names.
bool begins_like_legacy(const ByteSource& source) {
  const std::string text = beginning(source, kLegacyMagic.size());
  return text.size() == kLegacyMagic.size() && text[0] == kLegacyMagic[0] &&
         std::string_view(text).substr(2) == kLegacyMagic.substr(2);
}

}  // namespace

Status read_torch(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& tensors,
                  Attributes& attributes) {
  return begins_like_legacy(*source) ? read_legacy(source, tensors, attributes)
                                     : read_archive(source, tensors, attributes);
}

bool begins_like_torch(const ByteSource& source) { return begins_like_zip(source) || begins_like_legacy(source); }

}  // namespace motley::ingest
