// One tensor out of equal parts that lie elsewhere, without a copy: its bytes are gathered when they are read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace motley::ingest {

struct JoinedPart {
  std::shared_ptr<const ByteSource> source;
  ByteRange range;
};

// The parts row by row, side by side: `rows` rows, each of which has `segment_bytes` of every part in turn. Every part
// has rows * segment_bytes bytes, which is not zero. With one row they lie behind each other.
std::shared_ptr<const ByteSource> join_sources(std::string name, std::vector<JoinedPart> parts, uint64_t rows,
                                               uint64_t segment_bytes);

}  // namespace motley::ingest
