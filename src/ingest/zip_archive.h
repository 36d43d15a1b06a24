// The directory of a zip archive whose entries are stored as they are, so that they can be mapped: what torch and NumPy
// write. Nothing is ever inflated here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"

namespace motley::ingest {

struct ZipEntry {
  std::string name;  // unique in its archive
  ByteRange range;   // its bytes, inside the archive's source
};

// Entries in the order of the directory. Rejects ("zip.*") what is compressed, encrypted or split over disks, entries
// that share bytes or reach outside, and names that come twice.
StatusOr<std::vector<ZipEntry>> read_zip(const ByteSource& source);

const ZipEntry* find_entry(const std::vector<ZipEntry>& entries, std::string_view name);

// True when `source` begins like an archive with at least one entry.
bool begins_like_zip(const ByteSource& source);

}  // namespace motley::ingest
