#include "ingest/llama2c_header.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_join.h"
#include "base/bounded_reader.h"
#include "base/checked.h"

namespace motley::ingest {
namespace {

constexpr uint32_t kMagic = 0x616b3432;  // "ak42"
constexpr uint64_t kVersion0Bytes = 7 * sizeof(int32_t), kPaddedBytes = 256;
constexpr int32_t kMostOfAnything = 1 << 24;  // keeps every product of two and the sum of all below 2^63
constexpr int32_t kMostLayers = 4096;

// Every field in a range that a network can have. Other files rarely begin like this.
bool plausible(const Llama2cHeader& h) {
  for (const int32_t value : {h.dim, h.hidden_dim, h.n_layers, h.n_heads, h.n_kv_heads, h.vocab_size, h.seq_len})
    if (value < 1 || value > kMostOfAnything) return false;
  return h.n_layers <= kMostLayers && h.dim % h.n_heads == 0 && h.n_heads % h.n_kv_heads == 0 && h.head_dim() % 2 == 0;
}

void set_fields(const std::array<int32_t, 7>& fields, Llama2cHeader& header) {
  header.dim = fields[0];
  header.hidden_dim = fields[1];
  header.n_layers = fields[2];
  header.n_heads = fields[3];
  header.n_kv_heads = fields[4];
  header.vocab_size = fields[5];
  header.seq_len = fields[6];
}

// A negative vocabulary says that the classifier is an array of its own.
std::optional<Llama2cHeader> read_version_0(const ByteSource& source) {
  std::array<int32_t, 7> fields{};
  if (!source.read(0, std::as_writable_bytes(std::span(fields))).ok()) return std::nullopt;
  Llama2cHeader header;
  set_fields(fields, header);
  header.shared_classifier = header.vocab_size > 0;
  if (header.vocab_size < 0 && header.vocab_size >= -kMostOfAnything) header.vocab_size = -header.vocab_size;
  return plausible(header) ? std::optional(header) : std::nullopt;
}

// Groups are counted through the whole array, so they need not end with a row.
Status check_groups(const Llama2cHeader& header, const std::string& where) {
  REJECT_IF(header.group_size < 1 || header.group_size > kMostOfAnything, "llama2c.group_size", where,
            fmt::format("groups of 1 to {} weights", kMostOfAnything), header.group_size);
  if (header.group_size < 1) return absl::InternalError("no groups");
  for (const Llama2cArray& array : llama2c_arrays(header))
    REJECT_IF(array.quantised && value_bytes(array) % static_cast<uint64_t>(header.group_size) != 0, "llama2c.groups",
              fmt::format("{} array {}", where, array.name),
              fmt::format("a multiple of the group size {}", header.group_size), value_bytes(array));
  return absl::OkStatus();
}

StatusOr<Llama2cHeader> read_versioned(const ByteSource& source) {
  BoundedReader in(source, kPaddedBytes);
  in.enter("a llama2.c header", "llama2c.cut_header");
  TRY(in.skip(sizeof(kMagic)));
  Llama2cHeader header;
  TRY(header.version, in.number<uint32_t>());
  REJECT_IF(header.version != 1 && header.version != 2, "llama2c.version", source.name(), "version 1 or 2",
            header.version);
  std::array<int32_t, 7> fields{};
  for (int32_t& field : fields) {
    TRY(field, in.number<int32_t>());
  }
  set_fields(fields, header);
  TRY(const auto shared, in.number<uint8_t>());
  REJECT_IF(shared > 1, "llama2c.shared_flag", source.name(), "0 or 1 for a shared classifier", shared);
  header.shared_classifier = shared == 1;
  if (!plausible(header))
    return reject({.site = "llama2c.header",
                   .where = source.name(),
                   .expected = "sizes that a network can have",
                   .got = absl::StrJoin(fields, ", ")});
  if (header.version == 1) return header;
  TRY(header.group_size, in.number<int32_t>());
  TRY(check_groups(header, source.name()));
  return header;
}

}  // namespace

uint64_t Llama2cHeader::header_bytes() const { return version == 0 ? kVersion0Bytes : kPaddedBytes; }

bool has_llama2c_magic(const ByteSource& source) {
  uint32_t magic = 0;
  return source.read(0, std::as_writable_bytes(std::span(&magic, 1))).ok() && magic == kMagic;
}

StatusOr<std::optional<Llama2cHeader>> read_llama2c_header(const ByteSource& source) {
  if (!has_llama2c_magic(source)) return read_version_0(source);
  TRY(Llama2cHeader header, read_versioned(source));
  return std::optional(header);
}

std::vector<Llama2cArray> llama2c_arrays(const Llama2cHeader& h) {
  const auto dim = static_cast<uint64_t>(h.dim), hidden = static_cast<uint64_t>(h.hidden_dim);
  const auto vocabulary = static_cast<uint64_t>(h.vocab_size);
  const uint64_t frequencies = static_cast<uint64_t>(h.seq_len) * (h.head_dim() / 2);
  const bool packed = h.version == 2;
  const Llama2cArray embedding{"tok_emb.weight", false, packed, {vocabulary, dim}};
  const Llama2cArray mixer_norm{"rms_att.{}.weight", true, false, {dim}},
      feed_forward_norm{"rms_ffn.{}.weight", true, false, {dim}};
  const Llama2cArray final_norm{"rms_final.weight", false, false, {dim}};
  const std::vector<Llama2cArray> attention = {{"wq.{}.weight", true, packed, {dim, dim}},
                                               {"wk.{}.weight", true, packed, {h.kv_dim(), dim}},
                                               {"wv.{}.weight", true, packed, {h.kv_dim(), dim}},
                                               {"wo.{}.weight", true, packed, {dim, dim}}};
  const std::vector<Llama2cArray> feed_forward = {{"w1.{}.weight", true, packed, {hidden, dim}},
                                                  {"w2.{}.weight", true, packed, {dim, hidden}},
                                                  {"w3.{}.weight", true, packed, {hidden, dim}}};
  std::vector<Llama2cArray> arrays;
  const auto add = [&](const std::vector<Llama2cArray>& more) {
    arrays.insert(arrays.end(), more.begin(), more.end());
  };
  if (h.version == 0) {
    add({embedding, mixer_norm});
    add(attention);
    add({feed_forward_norm});
    add(feed_forward);
    add({final_norm, {"freq_cis_real", false, false, {frequencies}}, {"freq_cis_imag", false, false, {frequencies}}});
  } else {
    add({mixer_norm, feed_forward_norm, final_norm, embedding});
    add(attention);
    add(feed_forward);
  }
  if (!h.shared_classifier) add({{"wcls.weight", false, packed, {vocabulary, dim}}});
  return arrays;
}

uint64_t value_bytes(const Llama2cArray& array) {
  return checked_product(array.shape).value_or(0) * (array.quantised ? sizeof(int8_t) : sizeof(float));
}

uint64_t scale_count(const Llama2cHeader& header, const Llama2cArray& array) {
  return array.quantised ? value_bytes(array) / static_cast<uint64_t>(header.group_size) : 0;
}

uint64_t promised_bytes(const Llama2cHeader& header) {
  uint64_t total = header.header_bytes();
  for (const Llama2cArray& array : llama2c_arrays(header)) {
    const uint64_t one = value_bytes(array) + scale_count(header, array) * sizeof(float);
    const auto all = checked_multiply(one, array.per_layer ? static_cast<uint64_t>(header.n_layers) : 1);
    total = checked_add(total, all.value_or(kMaxSize)).value_or(kMaxSize);
  }
  return total;
}

}  // namespace motley::ingest
