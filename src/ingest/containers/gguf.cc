// GGUF, in one file or split into parts that name each other.
#include <algorithm>
#include <cstring>

#include "ingest/container.h"
#include "ingest/gguf_file.h"
#include "ingest/gguf_text.h"
#include "ingest/part_name.h"

namespace motley::ingest::containers {
namespace {

constexpr std::string_view kExtension = ".gguf";

Claim claim(const ByteSource& source) {
  uint32_t magic = 0;
  if (source.read(0, std::as_writable_bytes(std::span(&magic, 1))).ok() && magic == kGgufMagic) return Claim::kYes;
  return source.name().ends_with(kExtension) ? Claim::kMaybe : Claim::kNo;
}

uint64_t key_number(const GgufFile& file, std::string_view key, uint64_t otherwise) {
  const Json* value = file.keys.find(key);
  return value == nullptr ? otherwise : value->as_uint().value_or(otherwise);
}

StatusOr<GgufFile> open_part(const Found& found, const std::string& name) {
  TRY(auto source, found.files->open(name));
  return read_gguf(std::move(source));
}

// Part `number` (from 1) of the set that `first` belongs to.
StatusOr<GgufFile> open_sibling(const Found& found, const PartName& named, uint32_t number, uint64_t count) {
  const std::string name = PartName{named.prefix, number, named.count}.text(kExtension);
  auto part = open_part(found, name);
  REJECT_IF(absl::IsNotFound(part.status()), "gguf.split_missing", found.files->name(),
            fmt::format("all {} parts of a split file", count), fmt::format("no {}", name));
  TRY(part.status());
  REJECT_IF(key_number(*part, "split.count", 1) != count, "gguf.split_count", part->source->name(),
            fmt::format("split.count {}", count), key_number(*part, "split.count", 1));
  REJECT_IF(key_number(*part, "split.no", 0) != number - 1, "gguf.split_number", part->source->name(),
            fmt::format("split.no {}", number - 1), key_number(*part, "split.no", 0));
  return std::move(*part);
}

// All parts, the one with the metadata first.
StatusOr<std::vector<GgufFile>> open_parts(const Found& found) {
  const std::string& name = found.names.front();
  TRY(GgufFile first, open_part(found, name));
  const uint64_t count = key_number(first, "split.count", 1);
  std::vector<GgufFile> parts;
  if (count <= 1) {
    REJECT_IF(found.names.size() > 1, "gguf.several", found.files->name(), "one GGUF file (name it to choose)",
              fmt::format("{}, {} and others", name, found.names[1]));
    parts.push_back(std::move(first));
    return parts;
  }
  const auto named = PartName::parse(name, kExtension);
  REJECT_IF(!named || named->count != count, "gguf.split_name", first.source->name(),
            fmt::format("a name that ends in -0000N-of-{:05}.gguf for part of a split file", count), name);
  for (const std::string& other : found.names) {
    const auto part = PartName::parse(other, kExtension);
    REJECT_IF(!part || !named || part->prefix != named->prefix || part->count != named->count, "gguf.several_sets",
              found.files->name(), fmt::format("only parts of {} (name a file to choose)", name), other);
  }
  for (uint32_t number = 1; number <= count; ++number) {
    TRY(GgufFile part, open_sibling(found, named.value_or(PartName{}), number, count));
    parts.push_back(std::move(part));
  }
  return parts;
}

StatusOr<Container> open(const Found& found) {
  TRY(std::vector<GgufFile> parts, open_parts(found));
  Container container;
  container.kind = fmt::format("GGUF v{}", parts.front().version);
  for (GgufFile& part : parts) {
    container.files.push_back(part.source->name());
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(container.tensors));
  }
  const GgufFile& main = parts.front();
  const uint64_t promised = key_number(main, "split.tensors.count", container.tensors.size());
  REJECT_IF(parts.size() > 1 && promised != container.tensors.size(), "gguf.split_tensors", main.source->name(),
            fmt::format("{} tensors in all parts", promised), container.tensors.size());
  TRY(read_gguf_text(main, container));
  container.metadata = {.dialect = arch::Dialect::kGguf, .tree = main.keys, .file = main.source->name()};
  return container;
}

}  // namespace

ContainerKind gguf() { return {.name = "GGUF", .claim = claim, .open = open}; }

}  // namespace motley::ingest::containers
