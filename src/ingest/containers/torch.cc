// torch files in Hugging Face's layout: pytorch_model.bin, its shards, or any other state dict, with config.json and
// the tokenizer beside them.
#include <array>

#include "arch/architecture.h"
#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/meta_ranks.h"
#include "ingest/shards.h"
#include "ingest/torch_file.h"

namespace motley::ingest::containers {
namespace {

constexpr ShardNames kNames = {.extension = ".bin", .index = "pytorch_model.bin.index.json"};
constexpr std::array<std::string_view, 3> kExtensions = {".bin", ".pt", ".pth"};

// What a training run leaves beside the weights, in transformers' and accelerate's names.
constexpr std::array<std::string_view, 8> kLeftovers = {"optimizer*.pt",     "optimizer*.bin", "scheduler*.pt",
                                                        "scheduler*.bin",    "rng_state*.pth", "scaler*.pt",
                                                        "training_args.bin", "sampler*.bin"};

Claim claim(const ByteSource& source) {
  const std::string name = plain_name(source);
  for (const std::string_view pattern : kLeftovers)
    if (arch::glob_matches(pattern, name)) return Claim::kNo;
  if (rank_of(name)) return Claim::kNo;
  for (const std::string_view extension : kExtensions) {
    if (!name.ends_with(extension)) continue;
    if (begins_like_torch(source)) return Claim::kYes;
    if (extension != ".bin" || name.starts_with("pytorch_model")) return Claim::kMaybe;
  }
  return Claim::kNo;
}

StatusOr<Container> open(const Found& found) {
  Container container;
  container.kind = "torch";
  TRY(const std::vector<std::string> shards, choose_shards(found, kNames, container.notes));
  for (const std::string& name : shards) {
    TRY(const auto source, found.files->open(name));
    container.files.push_back(source->name());
    TRY(read_torch(source, container.tensors, container.attributes));
  }
  TRY(read_hugging_face_files(*found.files, container));
  return container;
}

}  // namespace

ContainerKind torch() { return {.name = "torch", .claim = claim, .open = open, .yields_to = "safetensors"}; }

}  // namespace motley::ingest::containers
