// safetensors: one file, or the shards of a folder with or without an index, with Hugging Face's JSON files beside
// them; or Mistral's own layout, with Meta's names and params.json.
#include <span>

#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/meta_params.h"
#include "ingest/safetensors_file.h"
#include "ingest/shards.h"

namespace motley::ingest::containers {
namespace {

constexpr ShardNames kNames = {.extension = kSafetensorsExtension, .index = "model.safetensors.index.json"};

Claim claim(const ByteSource& source) {
  struct {
    uint64_t header_bytes = 0;
    char brace = 0;
  } begin;
  const bool readable = source.read(0, std::as_writable_bytes(std::span(&begin.header_bytes, 1))).ok() &&
                        source.read(8, std::as_writable_bytes(std::span(&begin.brace, 1))).ok();
  if (readable && begin.brace == '{' && begin.header_bytes <= source.size_bytes() - 8) return Claim::kYes;
  return source.name().ends_with(kSafetensorsExtension) ? Claim::kMaybe : Claim::kNo;
}

StatusOr<Container> open(const Found& found) {
  Container container;
  container.kind = "safetensors";
  TRY(const std::vector<std::string> shards, choose_shards(found, kNames, container.notes));
  for (const std::string& name : shards) {
    TRY(auto source, found.files->open(name));
    container.files.push_back(source->name());
    TRY(read_safetensors(source, container.tensors));
  }
  if (is_consolidated(shards.front()) && found.files->open(kParamsName).ok()) {
    TRY(read_meta_files(*found.files, container));
  } else {
    TRY(read_hugging_face_files(*found.files, container));
  }
  return container;
}

}  // namespace

ContainerKind safetensors() { return {.name = "safetensors", .claim = claim, .open = open}; }

}  // namespace motley::ingest::containers
