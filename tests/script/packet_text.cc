#include "tests/script/packet_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "transport/ib/credit.h"

namespace softrnic::ib::test {
namespace {

const std::map<std::string, std::uint64_t> kSyndromes = {{"sequence", wire::kNakPsnSequence},
                                                         {"invalid", wire::kNakInvalidRequest},
                                                         {"access", wire::kNakRemoteAccess},
                                                         {"operational", wire::kNakRemoteOperational}};

const wire::OpcodeInfo* find_by_name(const std::string& name) {
  for (unsigned raw = 0; raw < 256; ++raw) {
    const auto* info = wire::find_opcode(static_cast<std::uint8_t>(raw));
    if (info != nullptr && info->name == name) return info;
  }
  return nullptr;
}

void parse_word(const std::string& word, PacketText& text) {
  const auto equals = word.find('=');
  if (equals == std::string::npos) {
    if (word == "ackreq" || word == "se" || word == "elsewhere") {
      text.fields[word] = 1;
    } else {
      text.name += (text.name.empty() ? "" : " ") + word;
    }
    return;
  }
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "nak") {
    text.fields["syndrome"] = kSyndromes.at(value);
  } else if (key == "rnr") {
    text.fields["syndrome"] = wire::kRnrNak | std::stoul(value, nullptr, 0);
  } else if (key == "credits") {
    text.fields["syndrome"] = credit_code(static_cast<std::uint32_t>(std::stoul(value)));
  } else {
    text.fields[key] = std::stoull(value, nullptr, 0);
  }
}

}  // namespace

PacketText parse_packet_text(const std::string& line) {
  PacketText text;
  std::istringstream words(line);
  for (std::string word; words >> word;) parse_word(word, text);
  const auto* info = find_by_name(text.name);
  if (info == nullptr) {
    ADD_FAILURE() << "no such packet: " << line;
    return text;
  }
  if (info->has(wire::kAeth) && !text.fields.contains("syndrome")) {
    text.fields["syndrome"] = wire::kAckUnlimitedCredits;
  }
  return text;
}

PacketText describe_packet(const wire::Headers& h, std::size_t payload_bytes) {
  const wire::OpcodeInfo& info = wire::opcode_info(h.bth.opcode);
  PacketText text{std::string(info.name), {}};
  auto& f = text.fields;
  f["psn"] = h.bth.psn;
  f["len"] = payload_bytes;
  f["qp"] = h.bth.destination.value;
  f["pkey"] = h.bth.pkey;
  f["mig"] = h.bth.migration_request ? 1 : 0;
  if (h.bth.ack_request) f["ackreq"] = 1;
  if (h.bth.solicited) f["se"] = 1;
  if (info.has(wire::kReth))
    f.insert({{"va", h.reth.address}, {"rkey", h.reth.key.value}, {"dmalen", h.reth.length}});
  if (info.has(wire::kAtomicEth)) {
    f.insert({{"va", h.atomic.address}, {"rkey", h.atomic.key.value}, {"cmp", h.atomic.compare}});
    f.insert({{"swap", h.atomic.swap_or_add}, {"add", h.atomic.swap_or_add}});
  }
  if (info.has(wire::kFeth)) f["feth"] = h.flush_selector;
  if (info.has(wire::kAeth)) f.insert({{"syndrome", h.aeth.syndrome}, {"msn", h.aeth.msn}});
  if (info.has(wire::kXrceth)) f["srqn"] = h.xrc_srqn;
  if (info.has(wire::kAtomicAckEth)) f["orig"] = h.atomic_original;
  if (info.has(wire::kImmDt)) f["imm"] = h.immediate;
  if (info.has(wire::kIeth)) f["inv"] = h.invalidate.value;
  if (info.has(wire::kDeth)) f.insert({{"qkey", h.deth.qkey}, {"src", h.deth.source.value}});
  return text;
}

std::string to_string(const PacketText& text) {
  std::ostringstream out;
  out << text.name;
  for (const auto& [key, value] : text.fields) {
    if (key == "ackreq" || key == "se") {
      out << ' ' << key;
    } else if (key == "psn" || key == "len" || key == "msn" || key == "dmalen") {
      out << ' ' << key << '=' << value;
    } else {
      out << ' ' << key << "=0x" << std::hex << value << std::dec;
    }
  }
  return out.str();
}

wire::Headers headers_of(const PacketText& text) {
  const auto* info = find_by_name(text.name);
  wire::Headers h;
  if (info == nullptr) return h;
  const auto get = [&text](const char* key, std::uint64_t otherwise = 0) {
    auto it = text.fields.find(key);
    return it == text.fields.end() ? otherwise : it->second;
  };
  const auto get32 = [&get](const char* key) { return static_cast<std::uint32_t>(get(key)); };
  h.bth.opcode = info->opcode;
  h.bth.psn = get32("psn");
  h.bth.migration_request = get("mig", 1) != 0;
  h.bth.pkey = static_cast<std::uint16_t>(get("pkey", wire::kDefaultPkey));
  h.bth.ack_request = get("ackreq") != 0;
  h.bth.solicited = get("se") != 0;
  h.reth = {get("va"), MemoryKey(get32("rkey")), static_cast<std::uint32_t>(get("dmalen", get("len")))};
  h.atomic = {get("va"), MemoryKey(get32("rkey")), get("swap", get("add")), get("cmp")};
  h.aeth = {static_cast<std::uint8_t>(get("syndrome")), get32("msn")};
  h.atomic_original = get("orig");
  h.flush_selector = get32("feth");
  h.xrc_srqn = get32("srqn");
  h.immediate = get32("imm");
  h.invalidate = MemoryKey(get32("inv"));
  h.deth = {get32("qkey"), Qpn(get32("src")), 0};
  return h;
}

}  // namespace softrnic::ib::test
