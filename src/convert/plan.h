// What a target will hold, decided before a byte of it is written: its files, where every weight lies in them and how
// it is stored. Targets make plans (target.h), execute.h carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/row_order.h"
#include "model/model.h"
#include "tensor/storage_format.h"

namespace motley::convert {

// How the rows of a weight become those of the target.
enum class Method : uint8_t {
  kRound,          // decoded, then rounded into the target's format by its published rule
  kCarryRows,      // the same format: the bytes of whole rows
  kCarryIntegers,  // the source's integers, with its scales and offsets written as the target writes them
};

// Where the first byte of a part lies.
struct Place {
  uint32_t file = 0;  // index into Plan::files
  uint64_t offset = 0;
};

struct PlannedWeight {
  model::Role role = {};
  std::string name;  // in the target
  const model::Weight* source = nullptr;
  RowOrder rows = {};
  tensor::StorageFormat format = {};
  Method method = Method::kRound;
  Place codes = {}, scales = {}, offsets = {};
};

// Norms and biases: one row.
inline bool is_vector(const PlannedWeight& weight) { return weight.source->rows == 1; }

// Stores a weight in `format`: by the bytes of its rows where it lies in that format already, rounded otherwise.
void store_as(PlannedWeight& weight, const tensor::StorageFormat& format);

// Bytes that are known without reading a weight: headers, small tensors, text.
struct FixedBytes {
  uint64_t offset = 0;
  std::string bytes;
};

struct PlannedFile {
  std::string name;  // inside the target's folder; ignored where the target is one file
  std::vector<FixedBytes> fixed = {};
  uint64_t size_bytes = 0;
};

enum class TargetShape : uint8_t { kFile, kFolder };

struct Plan {
  TargetShape shape = TargetShape::kFolder;
  std::vector<PlannedFile> files = {};
  std::vector<PlannedWeight> weights = {};  // in the order of the files
  std::vector<std::string> notes = {};      // what a person should know
};

inline PlannedFile text_file(std::string name, std::string bytes) {
  const uint64_t size_bytes = bytes.size();
  return {.name = std::move(name), .fixed = {{.offset = 0, .bytes = std::move(bytes)}}, .size_bytes = size_bytes};
}

}  // namespace motley::convert
