#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

// A row that changes keys of a good config.json.
BrokenInput config(std::string what, std::string site, std::function<void(Json&)> bend,
                   std::string_view model = "tiny/untied-hf") {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend), model] {
            Files files = read_model(model);
            Json tree = *parse_json(files["config.json"], "test");
            bend(tree);
            files["config.json"] = tree.dump();
            return files;
          },
          "",
          {}};
}

BrokenInput key(std::string what, std::string site, std::string name, Json value) {
  return config(std::move(what), std::move(site),
                [name = std::move(name), value = std::move(value)](Json& tree) { tree.set(name, value); });
}

BrokenInput scaling(std::string what, std::string site, Json::Object value) {
  return key(std::move(what), std::move(site), "rope_scaling", Json(std::move(value)));
}

// A row that changes numbers of a good GGUF file.
BrokenInput gguf(std::string what, std::string site, std::function<void(GgufDraft&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            GgufDraft draft = GgufDraft::good();
            bend(draft);
            return Files{{"model.gguf", draft.text()}};
          },
          "",
          {}};
}

std::vector<BrokenInput> keys() {
  return {
      key("another architecture", "arch.unknown", "model_type", "qwen3_next"),
      key("a number that is a string", "config.count", "hidden_size", "32"),
      key("an epsilon that is a string", "config.number", "rms_norm_eps", "small"),
      key("a flag that is a number", "config.flag", "attention_bias", 1),
      key("an activation that is a list", "config.text", "hidden_act", Json(Json::Array{1})),
      key("no hidden size", "config.missing_count", "hidden_size", Json()),
      key("no epsilon", "config.missing_number", "rms_norm_eps", Json()),
      key("Granite's multiplier", "config.unsupported", "residual_multiplier", 0.22),
      key("an unknown key that speaks of arithmetic", "config.unread", "value_norm_strength", 2),
      key("another activation", "llama.activation", "hidden_act", "gelu"),
      key("a hidden size that the heads do not divide", "llama.hidden_by_heads", "num_attention_heads", 5),
      key("a million layers", "llama.layers", "num_hidden_layers", 1000000),
      key("heads of no dimension", "llama.head_dim", "head_dim", 0),
      key("KV heads that do not divide the heads", "spec.kv_heads", "num_key_value_heads", 3),
      key("a list of layer types that is too short", "llama.layer_types", "layer_types",
          Json(Json::Array{"full_attention"})),
      key("a layer type of another family", "llama.layer_type", "layer_types",
          Json(Json::Array{"full_attention", "linear_attention"})),
      key("sliding layers without a window", "llama.window_missing", "layer_types",
          Json(Json::Array{"full_attention", "sliding_attention"})),
      key("quantised by someone else", "methods.unknown", "quantization_config",
          Json(Json::Object{{"quant_method", "exl3"}})),
      key("RoPE of a kind beside its parameters", "rope.outer_kind", "rope_type", "yarn"),
      key("a quantisation that is a number", "mlx.config_object", "quantization", 4),
      config("an override that is a string of one module", "mlx.config_override",
             [](Json& tree) {
               tree.set("quantization", Json::Object{{"bits", 4}, {"model.norm", "q4"}});
             }),
  };
}

std::vector<BrokenInput> ropes() {
  return {
      scaling("RoPE of a kind that changes with the length", "rope.kind", {{"rope_type", "dynamic"}, {"factor", 2.0}}),
      scaling("RoPE of two kinds", "rope.two_types", {{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2.0}}),
      scaling("a factor without a kind", "rope.factor_without_kind", {{"factor", 2.0}}),
      scaling("a key that no scaling has", "rope.unread",
              {{"rope_type", "linear"}, {"factor", 2.0}, {"long_mood", "blue"}}),
      key("a scaling that is a list", "rope.object", "rope_scaling", Json(Json::Array{1, 2})),
      config("two scalings", "rope.two_objects",
             [](Json& tree) {
               tree.set("rope_scaling", Json::Object{{"rope_type", "linear"}, {"factor", 2.0}});
               tree.set("rope_parameters", Json::Object{{"rope_type", "default"}});
             }),
      config("two thetas", "rope.two_thetas",
             [](Json& tree) {
               tree.set("rope_parameters", Json::Object{{"rope_type", "default"}, {"rope_theta", 7.0}});
             }),
      gguf("GGUF: RoPE of a kind that needs two tables", "rope.gguf_kind",
           [](GgufDraft& draft) { draft.set_string("llama.rope.scaling.type", "longrope"); }),
      gguf("GGUF: fewer rotary dims than the head has", "rope.gguf_dims",
           [](GgufDraft& draft) { draft.set_number("llama.rope.dimension_count", 8); }),
      gguf("GGUF: two scalings", "rope.gguf_two_scalings",
           [](GgufDraft& draft) {
             draft.set_string("llama.rope.scaling.type", "linear");
             draft.set_number("llama.rope.scaling.factor", 4);
             draft.add_tensor("rope_freqs.weight", {8}, 0, 32);
           }),
  };
}

std::vector<BrokenInput> gguf_keys() {
  return {
      gguf("GGUF: no heads", "llama.gguf_heads",
           [](GgufDraft& draft) { draft.remove_key("llama.attention.head_count"); }),
      gguf("GGUF: no feed-forward", "llama.gguf_feed_forward",
           [](GgufDraft& draft) { draft.remove_key("llama.feed_forward_length"); }),
      gguf("GGUF: heads that do not divide the width", "llama.gguf_hidden_by_heads",
           [](GgufDraft& draft) { draft.set_number("llama.attention.head_count", 5); }),
      gguf("GGUF: values of another length than the keys", "llama.value_length",
           [](GgufDraft& draft) { draft.set_number("llama.attention.value_length", 8); }),
      gguf("GGUF: a vocabulary of other size than the embedding", "llama.gguf_vocabulary",
           [](GgufDraft& draft) { draft.set_number("llama.vocab_size", 9); }),
      gguf("GGUF: KV heads layer by layer", "llama.per_layer",
           [](GgufDraft& draft) {
             GgufKey& key = draft.key("llama.attention.head_count_kv");
             key.type = 9;
             key.value = raw(uint32_t{4}) + raw(uint64_t{2}) + raw(uint32_t{1}) + raw(uint32_t{2});
           }),
  };
}

}  // namespace

std::vector<BrokenInput> broken_configurations() {
  std::vector<BrokenInput> all;
  for (auto* part : {keys, ropes, gguf_keys})
    for (BrokenInput& row : part()) all.push_back(std::move(row));
  return all;
}

}  // namespace motley::ingest::testing
