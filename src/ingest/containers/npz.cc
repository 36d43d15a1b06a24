// NumPy archives, as early MLX converters wrote them: one array an entry, with config.json beside.
#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/npy_header.h"
#include "ingest/zip_archive.h"

namespace motley::ingest::containers {
namespace {

constexpr std::string_view kExtension = ".npz", kArrayExtension = ".npy";

Claim claim(const ByteSource& source) {
  if (!source.name().ends_with(kExtension)) return Claim::kNo;
  return begins_like_zip(source) ? Claim::kYes : Claim::kMaybe;
}

Status read_npz(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& out) {
  TRY(const std::vector<ZipEntry> entries, read_zip(*source));
  for (const ZipEntry& entry : entries) {
    const std::string where = fmt::format("{} entry {}", source->name(), entry.name);
    REJECT_IF(!entry.name.ends_with(kArrayExtension), "npz.entry", where, "only arrays (.npy)", "something else");
    const std::string name =
        entry.name.substr(0, entry.name.size() - std::min(entry.name.size(), kArrayExtension.size()));
    TRY(NpyHeader header, read_npy_header(*source, entry.range, where));
    out.push_back(
        {.name = name, .type = header.dtype, .shape = std::move(header.shape), .source = source, .range = header.data});
  }
  return absl::OkStatus();
}

StatusOr<Container> open(const Found& found) {
  Container container;
  container.kind = "NumPy archive";
  for (const std::string& name : found.names) {
    TRY(const auto source, found.files->open(name));
    container.files.push_back(source->name());
    TRY(read_npz(source, container.tensors));
  }
  TRY(read_hugging_face_files(*found.files, container));
  return container;
}

}  // namespace

ContainerKind npz() { return {.name = "NumPy archive", .claim = claim, .open = open, .yields_to = "safetensors"}; }

}  // namespace motley::ingest::containers
