#include "app/npy_writer.h"

#include <bit>

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
  TRY(std::unique_ptr<PartialFile> file, PartialFile::create(path));
  TRY(file->write(header(shape)));
  return std::unique_ptr<NpyWriter>(new NpyWriter(path, shape, std::move(file)));
}

NpyWriter::NpyWriter(std::string path, Shape shape, std::unique_ptr<PartialFile> file)
    : path_(std::move(path)), missing_values_(shape.rows * shape.columns), file_(std::move(file)) {}

Status NpyWriter::append(std::span<const float> values) {
  if (values.size() > missing_values_)
    return absl::InternalError(fmt::format("{}: more values than its shape has", path_));
  missing_values_ -= values.size();
  return file_->write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

Status NpyWriter::finish() {
  if (missing_values_ > 0) return absl::InternalError(fmt::format("{}: {} values are missing", path_, missing_values_));
  return file_->finish();
}

}  // namespace motley::app
