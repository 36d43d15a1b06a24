#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {

// Arrays of zeros: the norms, the embedding, and the matrices of one layer.
std::string llama2c_text(uint32_t version, int32_t group_size) {
  constexpr int32_t kDim = 32, kHidden = 48, kLayers = 1, kHeads = 2, kKvHeads = 1, kVocabulary = 8, kContext = 64;
  std::string out = "24ka";
  out += raw(version);
  for (const int32_t field : {kDim, kHidden, kLayers, kHeads, kKvHeads, kVocabulary, kContext}) out += raw(field);
  out += raw(uint8_t{1});
  if (version == 2) out += raw(group_size);
  out.resize(256, '\0');
  out.append(size_t{3} * kDim * sizeof(float), '\0');
  for (const size_t weights : {kVocabulary * kDim, kDim * kDim, 16 * kDim, 16 * kDim, kDim * kDim, kHidden * kDim,
                               kDim * kHidden, kHidden * kDim})
    out.append(
        version == 2 ? weights + weights / static_cast<size_t>(group_size) * sizeof(float) : weights * sizeof(float),
        '\0');
  return out;
}

}  // namespace motley::ingest::testing
