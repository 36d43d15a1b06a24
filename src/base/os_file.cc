#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/byte_source.h"

namespace motley {
namespace {

Status errno_status(const std::string& path, const char* action) {
  return absl::ErrnoToStatus(errno, fmt::format("{}: cannot {}", path, action));  // the reason is added
}

// A whole file mapped read-only. The descriptor is closed once the map exists.
class MappedFile final : public ByteSource {
 public:
  MappedFile(std::string path, std::byte* data, uint64_t size_bytes)
      : path_(std::move(path)), data_(data), size_bytes_(size_bytes) {}
  ~MappedFile() override {
    if (data_ != nullptr) munmap(data_, size_bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& name() const override { return path_; }
  uint64_t size_bytes() const override { return size_bytes_; }

  Status read(uint64_t offset, std::span<std::byte> out) const override {
    const auto bytes = view({offset, out.size()});
    if (!bytes)
      return absl::OutOfRangeError(
          fmt::format("{}: expected {} bytes at {}, got a file of {}", path_, out.size(), offset, size_bytes_));
    if (!out.empty()) std::memcpy(out.data(), bytes->data(), out.size());
    return absl::OkStatus();
  }

  std::optional<std::span<const std::byte>> view(ByteRange range) const override {
    if (range.offset > size_bytes_ || range.size_bytes > size_bytes_ - range.offset) return std::nullopt;
    return std::span<const std::byte>(data_ + range.offset, range.size_bytes);
  }

  void will_need(ByteRange range) const override { advise(range, MADV_WILLNEED, Rounding::kOutward); }
  // Inward: a page that holds part of a neighbour stays.
  void done_with(ByteRange range) const override { advise(range, MADV_DONTNEED, Rounding::kInward); }

 private:
  enum class Rounding { kInward, kOutward };

  void advise(ByteRange range, int advice, Rounding rounding) const {
    if (!view(range)) return;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto down = [&](uint64_t offset) { return offset / page * page; };
    const auto up = [&](uint64_t offset) { return (offset + page - 1) / page * page; };
    const bool inward = rounding == Rounding::kInward;
    const uint64_t begin = inward ? up(range.offset) : down(range.offset);
    const uint64_t end = std::min(inward ? down(range.end()) : up(range.end()), up(size_bytes_));
    if (begin < end) madvise(data_ + begin, end - begin, advice);  // a hint: failure changes nothing
  }

  std::string path_;
  std::byte* data_;
  uint64_t size_bytes_;
};

// Closes the descriptor on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

StatusOr<std::shared_ptr<const ByteSource>> open_file(const std::string& path) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return errno_status(path, "open");
  struct stat facts {};
  if (fstat(file.fd, &facts) != 0) return errno_status(path, "stat");
  if (!S_ISREG(facts.st_mode))
    return absl::InvalidArgumentError(fmt::format("{}: expected a regular file, got something else", path));
  const auto size_bytes = static_cast<uint64_t>(facts.st_size);
  void* data = nullptr;
  if (size_bytes > 0) {  // an empty map is not allowed
    data = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) return errno_status(path, "map");
  }
  return std::make_shared<MappedFile>(path, static_cast<std::byte*>(data), size_bytes);
}

}  // namespace motley
