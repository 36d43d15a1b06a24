#include "ingest/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/bounded_reader.h"
#include "base/checked.h"

namespace motley::ingest {
namespace {

// APPNOTE.TXT 6.3.10, sections 4.3 and 4.5. All numbers are little-endian.
constexpr uint32_t kLocalMagic = 0x04034b50, kEntryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kLocator64Bytes = 20, kEnd64Bytes = 56;
constexpr uint64_t kLongestComment = 0xffff;
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kSeeZip64 = 0xffffffff;  // a field whose value stands in the zip64 record
constexpr uint16_t kSeeZip64Short = 0xffff;
constexpr uint16_t kEncrypted = 1;

constexpr uint64_t kDirectoryBudgetBytes = 16
                                           << 20;  // a hundred thousand entries; published checkpoints have thousands

template <typename T>
T number_at(std::span<const std::byte> bytes, uint64_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Directory {
  uint64_t entries = 0;
  ByteRange range;
};

// The record that ends an archive, at most a comment before the end of the file.
struct End {
  uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

StatusOr<End> find_end(const ByteSource& source) {
  const uint64_t size_bytes = std::min(source.size_bytes(), kEndBytes + kLongestComment);
  const uint64_t begin = source.size_bytes() - size_bytes;
  TRY(const auto tail, read_range(source, {begin, size_bytes}, kEndBytes + kLongestComment));
  for (uint64_t at = size_bytes < kEndBytes ? 0 : size_bytes - kEndBytes + 1; at-- > 0;) {
    const auto record = std::span(tail).subspan(at);
    if (number_at<uint32_t>(record, 0) != kEndMagic) continue;
    if (at + kEndBytes + number_at<uint16_t>(record, 20) == size_bytes)
      return End{begin + at, {record.begin(), record.end()}};
  }
  return reject({.site = "zip.end",
                 .where = source.name(),
                 .expected = "the record that ends a zip archive",
                 .got = fmt::format("none in the last {} bytes", size_bytes)});
}

StatusOr<Directory> read_end64(const ByteSource& source, uint64_t end_offset) {
  REJECT_IF(end_offset < kLocator64Bytes, "zip.locator", source.name(), "a zip64 locator before the end record",
            "a shorter file");
  TRY(const auto locator, read_range(source, {end_offset - kLocator64Bytes, kLocator64Bytes}, kLocator64Bytes));
  REJECT_IF(number_at<uint32_t>(locator, 0) != kLocator64Magic, "zip.locator_magic", source.name(),
            "a zip64 locator, as the end record says", "something else");
  const auto offset = number_at<uint64_t>(locator, 8);
  REJECT_IF(offset > end_offset || end_offset - offset < kEnd64Bytes, "zip.end64_range", source.name(),
            fmt::format("a zip64 end record before byte {}", end_offset), fmt::format("one at {}", offset));
  TRY(const auto end, read_range(source, {offset, kEnd64Bytes}, kEnd64Bytes));
  REJECT_IF(number_at<uint32_t>(end, 0) != kEnd64Magic, "zip.end64_magic", source.name(), "a zip64 end record",
            "something else");
  return Directory{number_at<uint64_t>(end, 32), {number_at<uint64_t>(end, 48), number_at<uint64_t>(end, 40)}};
}

StatusOr<Directory> find_directory(const ByteSource& source) {
  TRY(const End end, find_end(source));
  Directory found{number_at<uint16_t>(end.bytes, 10),
                  {number_at<uint32_t>(end.bytes, 16), number_at<uint32_t>(end.bytes, 12)}};
  REJECT_IF(number_at<uint16_t>(end.bytes, 4) != 0 || number_at<uint16_t>(end.bytes, 8) != found.entries, "zip.disks",
            source.name(), "an archive on one disk", "one of several");
  if (found.entries == kSeeZip64Short || found.range.offset == kSeeZip64 || found.range.size_bytes == kSeeZip64) {
    TRY(found, read_end64(source, end.offset));
  }
  const auto directory_end = checked_add(found.range.offset, found.range.size_bytes);
  REJECT_IF(!directory_end || *directory_end > end.offset, "zip.directory_range", source.name(),
            fmt::format("a directory before its end record at byte {}", end.offset),
            fmt::format("{} bytes at {}", found.range.size_bytes, found.range.offset));
  REJECT_IF(found.range.size_bytes > kDirectoryBudgetBytes, "zip.directory_budget", source.name(),
            fmt::format("a directory of at most {} bytes", kDirectoryBudgetBytes), found.range.size_bytes);
  REJECT_IF(found.entries > found.range.size_bytes / kEntryBytes, "zip.entry_count", source.name(),
            fmt::format("at most {} entries in a directory of {} bytes", found.range.size_bytes / kEntryBytes,
                        found.range.size_bytes),
            found.entries);
  return found;
}

// An entry as the directory has it.
struct Listed {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint64_t packed_bytes = 0, size_bytes = 0, local_offset = 0;
};

// Fields that did not fit come from the zip64 record of the extra fields, in this order.
Status widen(std::string_view extra, const std::string& where, Listed& entry) {
  const auto bytes = std::as_bytes(std::span(extra));
  std::span<const std::byte> wide;
  for (uint64_t at = 0; at + 4 <= bytes.size();) {
    const auto size_bytes = number_at<uint16_t>(bytes, at + 2);
    if (number_at<uint16_t>(bytes, at) == kZip64Extra)
      wide = bytes.subspan(at + 4, std::min<uint64_t>(size_bytes, bytes.size() - at - 4));
    at += uint64_t{4} + size_bytes;
  }
  for (uint64_t* field : {&entry.size_bytes, &entry.packed_bytes, &entry.local_offset}) {
    if (*field != kSeeZip64) continue;
    REJECT_IF(wide.size() < sizeof(uint64_t), "zip.zip64_extra", where, "8 bytes for each field that did not fit",
              "fewer");
    *field = number_at<uint64_t>(wide, 0);
    wide = wide.subspan(std::min(wide.size(), sizeof(uint64_t)));
  }
  return absl::OkStatus();
}

StatusOr<Listed> read_listed(BoundedReader& in) {
  TRY(const auto magic, in.number<uint32_t>());
  REJECT_IF(magic != kEntryMagic, "zip.entry_magic", in.where(), "an entry of the directory",
            fmt::format("{:#010x}", magic));
  Listed entry;
  TRY(in.skip(4));  // versions
  TRY(entry.flags, in.number<uint16_t>());
  TRY(entry.method, in.number<uint16_t>());
  TRY(in.skip(8));  // time, date, CRC-32: reading all weights to check them is not ours to decide
  TRY(entry.packed_bytes, in.number<uint32_t>());
  TRY(entry.size_bytes, in.number<uint32_t>());
  TRY(const auto name_bytes, in.number<uint16_t>());
  TRY(const auto extra_bytes, in.number<uint16_t>());
  TRY(const auto comment_bytes, in.number<uint16_t>());
  TRY(in.skip(8));  // disk, attributes
  TRY(entry.local_offset, in.number<uint32_t>());
  TRY(entry.name, in.text(name_bytes));
  TRY(const std::string extra, in.text(extra_bytes));
  TRY(in.skip(comment_bytes));
  TRY(widen(extra, in.where(), entry));
  return entry;
}

Status check_stored(const Listed& entry, const std::string& where) {
  REJECT_IF((entry.flags & kEncrypted) != 0, "zip.encrypted", where, "an entry that is not encrypted", "one that is");
  REJECT_IF(entry.method != 0, "zip.method", where, "an entry that is stored, not compressed",
            fmt::format("compression method {}", entry.method));
  REJECT_IF(entry.packed_bytes != entry.size_bytes, "zip.stored_size", where,
            fmt::format("{} stored bytes", entry.size_bytes), entry.packed_bytes);
  return absl::OkStatus();
}

// Where the bytes of an entry lie: behind its local header, which has extra fields of its own.
StatusOr<ByteRange> locate(const ByteSource& source, const Listed& entry, uint64_t data_end, const std::string& where) {
  const auto local_end = checked_add(entry.local_offset, kLocalBytes + entry.name.size());
  if (!local_end || *local_end > data_end)
    return reject({.site = "zip.local_range",
                   .where = where,
                   .expected = fmt::format("a header before the directory at byte {}", data_end),
                   .got = fmt::format("one at {}", entry.local_offset)});
  TRY(const auto local, read_range(source, {entry.local_offset, *local_end - entry.local_offset}, UINT16_MAX * 2));
  REJECT_IF(number_at<uint32_t>(local, 0) != kLocalMagic, "zip.local_magic", where, "a header of a file",
            "something else");
  const std::string_view name(reinterpret_cast<const char*>(local.data()) + kLocalBytes, entry.name.size());
  REJECT_IF(number_at<uint16_t>(local, 26) != entry.name.size() || name != entry.name, "zip.local_name", where,
            "the same name before its data", "another");
  const uint64_t begin = *local_end + number_at<uint16_t>(local, 28);
  REJECT_IF(begin > data_end || entry.size_bytes > data_end - begin, "zip.entry_range", where,
            fmt::format("{} bytes at {}, before the directory at {}", entry.size_bytes, begin, data_end), "fewer");
  return ByteRange{begin, entry.size_bytes};
}

// Entries with the range from their local header on.
struct Placed {
  uint64_t begin, end;
  const std::string* name;
};

Status check_apart(std::vector<Placed> placed, const std::string& file) {
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < placed.size(); ++i)
    REJECT_IF(placed[i].begin < placed[i - 1].end, "zip.overlap", fmt::format("{} entry {}", file, *placed[i].name),
              fmt::format("a beginning at byte {} or later", placed[i - 1].end), placed[i].begin);
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<ZipEntry>> read_zip(const ByteSource& source) {
  TRY(const Directory directory, find_directory(source));
  TRY(auto bytes, read_range(source, directory.range, kDirectoryBudgetBytes));
  const auto listing = memory_source(fmt::format("{} directory", source.name()), std::move(bytes));
  BoundedReader in(*listing, kDirectoryBudgetBytes);
  in.enter("an entry", "zip.cut_directory");
  std::vector<ZipEntry> entries;
  std::vector<uint64_t> begins;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    TRY(Listed listed, read_listed(in));
    const std::string where = fmt::format("{} entry {}", source.name(), listed.name);
    TRY(check_stored(listed, where));
    REJECT_IF(!names.insert(listed.name).second, "zip.entry_twice", where, "each name once", "it again");
    TRY(const ByteRange range, locate(source, listed, directory.range.offset, where));
    entries.push_back({std::move(listed.name), range});
    begins.push_back(listed.local_offset);
  }
  REJECT_IF(in.remaining() != 0, "zip.directory_size", listing->name(),
            fmt::format("an end after {} entries", directory.entries), fmt::format("{} bytes more", in.remaining()));
  std::vector<Placed> placed;
  for (size_t i = 0; i < entries.size(); ++i) placed.push_back({begins[i], entries[i].range.end(), &entries[i].name});
  TRY(check_apart(std::move(placed), source.name()));
  return entries;
}

const ZipEntry* find_entry(const std::vector<ZipEntry>& entries, std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const ZipEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

bool begins_like_zip(const ByteSource& source) {
  uint32_t magic = 0;
  return source.read(0, std::as_writable_bytes(std::span(&magic, 1))).ok() && magic == kLocalMagic;
}

}  // namespace motley::ingest
