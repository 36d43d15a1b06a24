// AutoRound's own method: it names whose layout it wrote ("auto_round:auto_gptq"), and may give single layers other
// parameters.
#include "ingest/methods/word_packed.h"
#include "ingest/module_pattern.h"

namespace motley::ingest::methods {
namespace {

constexpr uint64_t kFloatBits = 16;

// The layout word that the tensors' packing knows.
std::string layout_of(std::string_view packing_format) {
  if (packing_format == "auto_round:auto_gptq" || packing_format == "auto_round:gptq") return "gptq";
  if (packing_format == "auto_round:gptqmodel" || packing_format == "auto_round") return "gptq_v2";
  if (packing_format == "auto_round:auto_awq" || packing_format == "auto_round:awq") return "gemm";
  return "";  // compressed-tensors' names and FP8 need no word
}

Status read_width(MethodConfig& keys, PackingClaim& claim) {
  TRY(const auto bits, keys.number("bits"));
  REJECT_IF(bits && (*bits < 1 || *bits > 32), "auto_round.bits", keys.where(), "1 to 32 bits", *bits);
  if (bits) claim.bits = static_cast<uint64_t>(*bits);
  if (bits && claim.bits >= kFloatBits) claim.plain = true;
  const Json* size = keys.value("group_size");  // a list for blocks of FP8
  if (size != nullptr && size->as_array() == nullptr) {
    TRY(const auto number, keys.number("group_size"));
    TRY(claim.group_size, claimed_group(number, keys.where()));
  }
  TRY(const auto symmetric, keys.flag("sym"));
  if (symmetric) claim.symmetric = symmetric;
  return absl::OkStatus();
}

class AutoRound final : public PackingClaims {
 public:
  PackingClaim packed;
  std::vector<std::pair<std::string, PackingClaim>> layers;  // by name or pattern
  std::string where;

  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    for (const auto& [name, claim] : layers) {
      if (name == module.stored) return claim;
      TRY(const bool matches, matches_at_start(name, module.stored, where));
      if (matches) return claim;
    }
    return packed;
  }
};

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<AutoRound>();
  claims->where = where;
  TRY(read_width(keys, claims->packed));
  TRY(const auto format, keys.text("packing_format"));
  claims->packed.layout = layout_of(format.value_or("auto_round"));
  const Json* extra = keys.value("extra_config");
  const Json::Object none;
  REJECT_IF(extra != nullptr && extra->as_object() == nullptr, "auto_round.extra_config", where,
            "an object extra_config", extra == nullptr ? "" : extra->kind_name());
  for (const auto& [name, values] : extra == nullptr || extra->as_object() == nullptr ? none : *extra->as_object()) {
    PackingClaim claim = claims->packed;
    MethodConfig layer(values, fmt::format("{} extra_config {}", where, name));
    TRY(read_width(layer, claim));
    TRY(layer.account_for_rest(kQuantiserTrivia));
    claims->layers.emplace_back(name, claim);
  }
  TRY(keys.account_for_rest(kQuantiserTrivia));
  return claims;
}

}  // namespace

Method auto_round() {
  return {.name = "AutoRound", .words = {"auto-round", "auto_round", "intel/auto-round"}, .read = read};
}

}  // namespace motley::ingest::methods
