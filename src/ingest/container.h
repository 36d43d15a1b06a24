// A container is a kind of file (or folder) that holds named tensors and metadata: this is what every one of them is
// read into, and the registry of kinds. Nothing here knows what a tensor is for or how packed numbers are decoded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/byte_source.h"
#include "base/json.h"
#include "base/status.h"
#include "ingest/file_set.h"
#include "ingest/stored_type.h"
#include "model/model.h"

namespace motley::ingest {

// One tensor, as its file describes it. Its range lies inside its source, and is as long as its type and shape ask for.
struct Tensor {
  std::string name;
  StoredType type;
  std::vector<uint64_t> shape;  // outermost dimension first, no zeros; empty for a scalar
  std::shared_ptr<const ByteSource> source;
  ByteRange range;
};

// What a file says beside its tensors, by dotted path: "model.layers.0.mlp.up_proj.nbits" is 4.
using Attributes = std::map<std::string, Json, std::less<>>;

struct Container {
  std::string kind;  // "GGUF v3"
  std::vector<std::string> files;
  std::vector<Tensor> tensors;  // names are unique
  Attributes attributes;        // of pickles; empty for other kinds
  arch::Metadata metadata;
  model::TextAssets text;
  model::GenerationDefaults generation;
  std::vector<std::string> notes;
};

// How sure a kind is about a file: by magic, exact size, or only by its extension (so that a damaged file is reported
// as what it was meant to be).
enum class Claim : uint8_t { kNo, kMaybe, kYes };

// What to open: all files of one kind that lie together, or one that the person named.
struct Found {
  const FileSet* files = nullptr;
  bool named = false;
  std::vector<std::string> names;  // sorted, at least one
};

struct ContainerKind {
  std::string_view name;
  Claim (*claim)(const ByteSource& source);
  StatusOr<Container> (*open)(const Found& found);
  // Another kind's name: where it has files in the same folder, they hold the same weights and are preferred.
  std::string_view yields_to = "";
};

std::span<const ContainerKind> container_kinds();

// Opens the checkpoint among `files`: the file `focus`, or the only one there is when `focus` is empty. Rejects several
// ("container.ambiguous"), none ("container.none"), and a file of no known kind by the name of its format
// ("container.unknown").
StatusOr<Container> open_container(const FileSet& files, const std::string& focus);

}  // namespace motley::ingest
