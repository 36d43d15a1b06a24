#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

constexpr std::string_view kPickle = "model/data.pkl", kData = "model/data/0";
constexpr uint32_t kSeeZip64 = 0xffffffff;
constexpr size_t kHuge = (16 << 20) + 1;  // one more than the budgets of a directory and of a pickle

BrokenInput bytes(std::string what, std::string site, std::function<std::string(std::string)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            return Files{{"model.pt", bend(TorchDraft::small().text())}};
          },
          "",
          {}};
}

BrokenInput bent(std::string what, std::string site, std::function<void(ZipDraft&)> bend) {
  return bytes(std::move(what), std::move(site), [bend = std::move(bend)](const std::string&) {
    ZipDraft draft = TorchDraft::small().zip();
    bend(draft);
    return draft.text();
  });
}

BrokenInput entry(std::string what, std::string site, std::string_view name, std::function<void(ZipDraftEntry&)> bend) {
  return bent(std::move(what), std::move(site),
              [name, bend = std::move(bend)](ZipDraft& draft) { bend(draft.entry(name)); });
}

std::string locator(uint32_t magic, uint64_t offset) {
  return raw(magic) + raw(uint32_t{0}) + raw(offset) + raw(uint32_t{1});
}

// A whole second entry inside the data of the first.
void nest(ZipDraft& draft) {
  ZipDraft inner;
  inner.entries.push_back(stored("model/inner", "zz"));
  const std::string text = inner.text().substr(0, 30 + 11 + 2);
  draft.entries.insert(draft.entries.begin(), stored("model/outer", text));
  ZipDraftEntry listed = inner.entries.front();
  listed.local_offset = 30 + 11;
  draft.entries.push_back(listed);
}

std::vector<BrokenInput> ends() {
  return {
      bytes("cut in the end record", "zip.end",
            [](const std::string& text) { return text.substr(0, text.size() - 1); }),
      bytes("zip64 without room for a locator", "zip.locator",
            [](const std::string&) {
              ZipDraft draft;
              draft.count = 0xffff;
              return draft.text();
            }),
      bent("zip64 without a locator", "zip.locator_magic", [](ZipDraft& draft) { draft.count = 0xffff; }),
      bent("a zip64 record past the end", "zip.end64_range",
           [](ZipDraft& draft) {
             draft.count = 0xffff;
             draft.before_end = locator(0x07064b50, uint64_t{1} << 62);
           }),
      bent("a zip64 record that is something else", "zip.end64_magic",
           [](ZipDraft& draft) {
             draft.count = 0xffff;
             draft.before_end = locator(0x07064b50, 0);
           }),
      bent("the second disk of several", "zip.disks", [](ZipDraft& draft) { draft.disk = 1; }),
      bent("a directory past the end", "zip.directory_range",
           [](ZipDraft& draft) { draft.directory_offset = 1 << 30; }),
      bent("a directory of 16 MB", "zip.directory_budget",
           [](ZipDraft& draft) {
             draft.before_end.resize(kHuge);
             draft.directory_bytes = kHuge;
           }),
      bent("a directory of more entries than it has bytes for", "zip.entry_count",
           [](ZipDraft& draft) { draft.count = 60000; }),
      bent("a directory of fewer entries than it has", "zip.directory_size", [](ZipDraft& draft) { draft.count = 2; }),
      bent("a directory cut in its last entry", "zip.cut_directory",
           [](ZipDraft& draft) {
             draft.entries.front().extra.resize(100);  // room for the count, none for the last name
             draft.directory_bytes = static_cast<uint32_t>(46 + 14 + 100 + 46 + 15 + 46 + 5);
           }),
  };
}

std::vector<BrokenInput> entries() {
  return {
      entry("an entry without its magic", "zip.entry_magic", kData, [](ZipDraftEntry& e) { e.magic = 1; }),
      entry("an encrypted entry", "zip.encrypted", kData, [](ZipDraftEntry& e) { e.flags = 1; }),
      entry("a compressed entry", "zip.method", kData, [](ZipDraftEntry& e) { e.method = 8; }),
      entry("an entry that would grow a thousandfold", "zip.stored_size", kData,
            [](ZipDraftEntry& e) { e.size_bytes = 24 * 1000; }),
      entry("an entry of 2 GB in a small file", "zip.entry_range", kData,
            [](ZipDraftEntry& e) { e.size_bytes = e.packed_bytes = 1u << 31; }),
      entry("a zip64 entry without its fields", "zip.zip64_extra", kData,
            [](ZipDraftEntry& e) { e.size_bytes = e.packed_bytes = kSeeZip64; }),
      entry("an entry that begins past the end", "zip.local_range", kData,
            [](ZipDraftEntry& e) { e.local_offset = 1 << 30; }),
      entry("data without a header", "zip.local_magic", kData, [](ZipDraftEntry& e) { e.local_magic = 1; }),
      entry("two names for one entry", "zip.local_name", kData,
            [](ZipDraftEntry& e) { e.local_name = "model/data/1"; }),
      bent("one name twice", "zip.entry_twice", [](ZipDraft& draft) { draft.entries.push_back(draft.entry(kData)); }),
      bent("an entry inside another", "zip.overlap", nest),
      bent("no pickle", "torch.pickle_missing", [](ZipDraft& draft) { draft.entry(kPickle).name = "model/data.pki"; }),
      entry("a pickle of 16 MB", "torch.pickle_size", kPickle, [](ZipDraftEntry& e) { e.data.resize(kHuge); }),
      entry("a pickle cut in the middle", "torch.cut_pickle", kPickle, [](ZipDraftEntry& e) { e.data.resize(40); }),
      entry("numbers of a big-endian machine", "torch.byte_order", "model/byteorder",
            [](ZipDraftEntry& e) { e.data = "big"; }),
      entry("a storage shorter than it says", "torch.storage_size", kData, [](ZipDraftEntry& e) { e.data.resize(20); }),
      entry("a storage that is missing", "torch.storage_missing", kData,
            [](ZipDraftEntry& e) { e.name = "model/data/9"; }),
  };
}

}  // namespace

std::vector<BrokenInput> broken_zip() {
  std::vector<BrokenInput> all = ends();
  for (BrokenInput& row : entries()) all.push_back(std::move(row));
  return all;
}

std::vector<BrokenInput> broken_npz() {
  const auto npz = [](std::string what, std::string site, std::string name, std::string array) {
    return BrokenInput{std::move(what),
                       std::move(site),
                       [name = std::move(name), array = std::move(array)] {
                         ZipDraft draft;
                         draft.entries.push_back(stored(name, array));
                         return Files{{"weights.npz", draft.text()}};
                       },
                       "",
                       {}};
  };
  const std::string good = npy("<f4", "False", "(2, 3)", std::string(24, '\0'));
  return {
      npz("an entry that is no array", "npz.entry", "readme.txt", "hello"),
      npz("an array cut in its header", "npy.cut", "a.npy", good.substr(0, 50)),
      npz("an array without its magic", "npy.magic", "a.npy", "x" + good.substr(1)),
      npz("an array of version 9", "npy.version", "a.npy",
          replaced(good, std::string("\x01\0v\0", 4), std::string("\x09\0v\0", 4))),
      npz("an array of objects", "npy.dtype", "a.npy", npy("|O", "False", "(3,)", std::string(24, '\0'))),
      npz("an array of zero rows", "npy.shape", "a.npy", npy("<f4", "False", "(0, 3)", "")),
      npz("an array column by column", "npy.order", "a.npy", npy("<f4", "True", "(2, 3)", std::string(24, '\0'))),
      npz("an array of fewer bytes than its shape", "npy.size", "a.npy", good.substr(0, good.size() - 1)),
  };
}

}  // namespace motley::ingest::testing
