#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

BrokenInput files(std::string what, std::string site, std::function<void(Files&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            Files good = MetaDraft::good(2).files();
            bend(good);
            return good;
          },
          "",
          {}};
}

BrokenInput bent(std::string what, std::string site, std::function<void(MetaDraft&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            MetaDraft draft = MetaDraft::good(2);
            bend(draft);
            return draft.files();
          },
          "",
          {}};
}

BrokenInput key(std::string what, std::string site, std::string name, Json value) {
  return bent(std::move(what), std::move(site),
              [name = std::move(name), value = std::move(value)](MetaDraft& draft) { draft.params.set(name, value); });
}

void rename_in_all(MetaDraft& draft, std::string_view from, std::string_view to) {
  for (TorchDraft& rank : draft.ranks)
    for (TorchDraftTensor& tensor : rank.tensors)
      if (tensor.name == from) tensor.name = to;
}

BrokenInput header(std::string what, std::string site, std::function<void(std::string&)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            std::string text = llama2c_text(2, 16);
            bend(text);
            return Files{{"model.bin", text}};
          },
          "",
          {}};
}

}  // namespace

std::vector<BrokenInput> broken_meta() {
  return {
      files("no rank 00", "meta.rank_missing", [](Files& f) { f.erase("consolidated.00.pth"); }),
      files("no params.json", "meta.params_missing", [](Files& f) { f.erase("params.json"); }),
      files("config.json with another theta", "llama.meta_two_thetas",
            [](Files& f) { f["config.json"] = R"({"rope_theta": 500000.0, "max_position_embeddings": 64})"; }),
      bent("a tensor in one rank only", "meta.tensor_sets",
           [](MetaDraft& draft) { draft.ranks[1].tensors.pop_back(); }),
      bent("ranks of other widths", "meta.shapes", [](MetaDraft& draft) { draft.ranks[1].tensors[0].shape[0] = 4; }),
      bent("an embedding that is cut in no known way", "meta.embedding_shape",
           [](MetaDraft& draft) { draft.params.set("dim", 48); }),
      bent("a matrix that no rank is known to share", "meta.unknown_matrix",
           [](MetaDraft& draft) {
             rename_in_all(draft, "layers.0.attention.wq.weight", "layers.0.attention.w9.weight");
           }),
      files("norms that differ between ranks", "meta.vector",
            [](Files& f) {
              ZipDraft zip = MetaDraft::good(2).ranks[1].zip();
              zip.entry("model/data/10").data[0] = 1;  // norm.weight
              f["consolidated.01.pth"] = zip.text();
            }),
      bent("no feed-forward", "llama.meta_matrix",
           [](MetaDraft& draft) {
             rename_in_all(draft, "layers.0.feed_forward.w1.weight", "layers.7.feed_forward.w1.weight");
           }),
      key("more ranks than KV heads", "meta.kv_duplicates", "n_kv_heads", 1),
      key("a vocabulary of other size than the embedding", "llama.meta_vocabulary", "vocab_size", 9),
      key("a width that the heads do not divide", "llama.meta_dim_by_heads", "n_heads", 3),
      key("a feed-forward of other width than the tensors", "llama.meta_hidden_dim", "hidden_dim", 64),
  };
}

std::vector<BrokenInput> broken_llama2c_header() {
  constexpr size_t kVersion = 4, kHeads = 20, kShared = 36, kGroups = 37;
  const auto number = [](size_t offset, int32_t value) {
    return [=](std::string& text) { text.replace(offset, sizeof(value), raw(value)); };
  };
  return {
      header("cut in the header", "llama2c.cut_header", [](std::string& text) { text.resize(30); }),
      header("version 3", "llama2c.version", number(kVersion, 3)),
      header("a flag of 2", "llama2c.shared_flag", [=](std::string& text) { text[kShared] = 2; }),
      header("heads that do not divide the width", "llama2c.header", number(kHeads, 3)),
      header("groups of no weight", "llama2c.group_size", number(kGroups, 0)),
      header("groups that do not end with an array", "llama2c.groups", number(kGroups, 48)),
  };
}

}  // namespace motley::ingest::testing
