// GPTQ (AutoGPTQ, GPTQModel) and AWQ (AutoAWQ, llm-awq): one set of keys, since GPTQModel writes AWQ files under its
// own method and tells them apart by checkpoint_format only.
#include "absl/strings/ascii.h"
#include "ingest/methods/word_packed.h"
#include "ingest/module_pattern.h"
#include "ingest/packing_claim.h"

namespace motley::ingest::methods {
namespace {

StatusOr<PackingClaim> read_common(MethodConfig& keys, std::string_view default_layout) {
  PackingClaim claim{.layout = std::string(default_layout)};
  TRY(const auto bits, keys.number("bits"));
  TRY(const auto w_bit, keys.number("w_bit"));
  const auto width = bits ? bits : w_bit;
  REJECT_IF(width && (*width < 1 || *width > 8), "gptq.config_bits", keys.where(), "1 to 8 bits", *width);
  if (width) claim.bits = static_cast<uint64_t>(*width);
  TRY(const auto size, keys.number("group_size"));
  TRY(const auto old_size, keys.number("q_group_size"));
  TRY(claim.group_size, claimed_group(size ? size : old_size, keys.where()));
  TRY(claim.symmetric, keys.flag("sym"));
  TRY(claim.ordered, keys.flag("desc_act"));
  for (const std::string_view key : {"format", "checkpoint_format", "version"}) {
    TRY(const auto layout, keys.text(key));
    if (layout) claim.layout = absl::AsciiStrToLower(*layout);
  }
  TRY(const auto marlin, keys.flag("is_marlin_format"));
  if (marlin == true) claim.layout = "marlin";
  TRY(const auto word, keys.text("pack_dtype"));
  REJECT_IF(word && *word != "int32", "gptq.pack_dtype", keys.where(), "words of int32", *word);
  return claim;
}

// One rule of GPTQModel's `dynamic`: a pattern and what it changes.
struct Rule {
  std::string pattern;
  bool leaves_plain = false;
  PackingClaim changed;
};

StatusOr<Rule> read_rule(const std::string& pattern, const Json& values, const PackingClaim& otherwise,
                         std::string_view where) {
  if (pattern.starts_with("-:")) return Rule{.pattern = pattern.substr(2), .leaves_plain = true, .changed = {}};
  Rule rule{.pattern = pattern.starts_with("+:") ? pattern.substr(2) : pattern, .changed = otherwise};
  MethodConfig keys(values, fmt::format("{} dynamic {}", where, pattern));
  TRY(const PackingClaim own, read_common(keys, otherwise.layout));
  TRY(keys.account_for_rest({"damp_percent", "mse", "static_groups", "act_group_aware"}));
  if (own.bits) rule.changed.bits = own.bits;
  if (own.group_size) rule.changed.group_size = own.group_size;
  if (own.symmetric) rule.changed.symmetric = own.symmetric;
  return rule;
}

class WordPacked final : public PackingClaims {
 public:
  PackingClaim packed;
  std::vector<Rule> rules;
  std::vector<std::string> plain;
  std::string where;
  bool substrings = false;  // AutoAWQ looks for names anywhere inside a module's path

  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    if (names_module(plain, module)) return PackingClaim{.plain = true};
    for (const std::string& name : plain)
      if (substrings && !name.empty() && module.stored.find(name) != std::string::npos)
        return PackingClaim{.plain = true};
    for (const bool negative : {true, false})
      for (const Rule& rule : rules) {
        if (rule.leaves_plain != negative) continue;
        TRY(const bool matches, matches_at_start(rule.pattern, module.stored, where));
        if (matches) return negative ? PackingClaim{.plain = true} : rule.changed;
      }
    return packed;
  }
};

StatusOr<std::unique_ptr<PackingClaims>> read(const Json& config, std::string_view where,
                                              std::string_view default_layout) {
  MethodConfig keys(config, where);
  auto claims = std::make_unique<WordPacked>();
  claims->where = where;
  claims->substrings = default_layout != "gptq";
  TRY(claims->packed, read_common(keys, default_layout));
  TRY(claims->plain, keys.texts("modules_to_not_convert"));
  const Json* dynamic = keys.value("dynamic");
  const Json::Object none;
  REJECT_IF(dynamic != nullptr && dynamic->as_object() == nullptr && dynamic->as_bool() != false, "gptq.dynamic", where,
            "an object `dynamic`", dynamic == nullptr ? "" : dynamic->kind_name());
  for (const auto& [pattern, values] :
       dynamic == nullptr || dynamic->as_object() == nullptr ? none : *dynamic->as_object()) {
    TRY(Rule rule, read_rule(pattern, values, claims->packed, where));
    claims->rules.push_back(std::move(rule));
  }
  TRY(keys.account_for_rest(kQuantiserTrivia));
  return claims;
}

StatusOr<std::unique_ptr<PackingClaims>> read_gptq(const Json& config, std::string_view where) {
  return read(config, where, "gptq");
}

}  // namespace

StatusOr<std::unique_ptr<PackingClaims>> read_awq(const Json& config, std::string_view where) {
  return read(config, where, "gemm");
}

Method gptq() { return {.name = "GPTQ", .words = {"gptq", "gptqmodel"}, .read = read_gptq}; }

}  // namespace motley::ingest::methods
