#include "app/npy_writer.h"

#include <bit>
#include <cerrno>

namespace motley::app {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

// numpy/lib/format.py: magic, version 1.0, u16 length, a dict padded so that the data begins at a multiple of 64.
std::string header(NpyWriter::Shape shape) {
  constexpr size_t kPrefixBytes = 10, kAlignment = 64;
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", shape.rows, shape.columns);
  dict.append(kAlignment - (kPrefixBytes + dict.size() + 1) % kAlignment, ' ');
  dict += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(dict.size() & 0xff);
  result += static_cast<char>(dict.size() >> 8);
  return result + dict;
}

}  // namespace

StatusOr<std::unique_ptr<NpyWriter>> NpyWriter::create(const std::string& path, Shape shape) {
  std::FILE* file = std::fopen((path + ".partial").c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, path + ": cannot write");
  std::unique_ptr<NpyWriter> writer(new NpyWriter(path, shape, file));
  const std::string head = header(shape);
  TRY(writer->write(head.data(), head.size()));
  return writer;
}

NpyWriter::NpyWriter(std::string path, Shape shape, std::FILE* file)
    : path_(std::move(path)),
      partial_path_(path_ + ".partial"),
      missing_values_(shape.rows * shape.columns),
      file_(file) {}

NpyWriter::~NpyWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(partial_path_.c_str());
}

Status NpyWriter::failure(const char* what) const {
  return absl::ErrnoToStatus(errno, fmt::format("{}: {}", path_, what));
}

Status NpyWriter::write(const void* data, size_t size_bytes) {
  if (std::fwrite(data, 1, size_bytes, file_) != size_bytes) return failure("cannot write");
  return absl::OkStatus();
}

Status NpyWriter::append(std::span<const float> values) {
  if (values.size() > missing_values_)
    return absl::InternalError(fmt::format("{}: more values than its shape has", path_));
  missing_values_ -= values.size();
  return write(values.data(), values.size_bytes());
}

Status NpyWriter::finish() {
  if (missing_values_ > 0) return absl::InternalError(fmt::format("{}: {} values are missing", path_, missing_values_));
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) == 0 && std::rename(partial_path_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  Status status = failure("cannot finish");
  std::remove(partial_path_.c_str());
  return status;
}

}  // namespace motley::app
