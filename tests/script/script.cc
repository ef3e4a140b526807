#include "tests/script/script.h"

#include <sstream>

#include "transport/ib/rx_packet.h"

namespace softrnic::ib::test {
namespace {

constexpr const char* kStatusNames[] = {
    "success",       "local_length",     "local_qp_operation", "local_eec",    "local_protection",
    "flushed",       "window_bind",      "bad_response",       "local_access", "remote_invalid_request",
    "remote_access", "remote_operation", "retry_exceeded",     "rnr_exceeded"};

const std::map<std::string, SendOp> kOps = {
    {"send", SendOp::send},     {"send_imm", SendOp::send_with_imm},        {"write", SendOp::write},
    {"read", SendOp::read},     {"write_imm", SendOp::write_with_imm},      {"cas", SendOp::compare_swap},
    {"faa", SendOp::fetch_add}, {"send_inv", SendOp::send_with_invalidate}, {"bind", SendOp::bind_window},
    {"flush", SendOp::flush},   {"atomic_write", SendOp::atomic_write},
};

struct Words {
  std::string first;
  std::map<std::string, std::uint64_t> values;
  std::uint64_t get(const char* key, std::uint64_t otherwise = 0) const {
    auto it = values.find(key);
    return it == values.end() ? otherwise : it->second;
  }
};

Words parse_words(const std::string& line) {
  Words words;
  std::istringstream in(line);
  in >> words.first;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    words.values[word.substr(0, equals)] =
        equals == std::string::npos ? 1 : std::stoull(word.substr(equals + 1), nullptr, 0);
  }
  return words;
}

std::string place(Where where) { return std::string(where.file) + ":" + std::to_string(where.line); }

void fill(SendWqe& wqe, const Words& words, std::uint64_t wr_id) {
  wqe.wr_id = wr_id;
  wqe.op = kOps.at(words.first);
  wqe.signaled = words.get("unsignaled") == 0;
  wqe.solicited = words.get("se") != 0;
  wqe.fence = words.get("fence") != 0;
  wqe.is_inline = words.get("inline") != 0;
  const bool word = is_atomic(wqe.op) || wqe.op == SendOp::atomic_write;
  wqe.length = static_cast<std::uint32_t>(words.get("len", word ? 8 : 0));
  wqe.immediate = static_cast<std::uint32_t>(words.get("imm", words.get("inv")));
  wqe.remote_address = words.get("va");
  wqe.rkey = MemoryKey(static_cast<std::uint32_t>(words.get("rkey")));
  wqe.compare = words.get("cmp", words.get("dmalen"));
  wqe.swap_or_add = words.get("swap", words.get("add", words.get("feth")));
  wqe.remote_srqn = static_cast<std::uint32_t>(words.get("srqn"));
  wqe.remote_qpn = kRemote;
  wqe.remote_qkey = static_cast<std::uint32_t>(words.get("qkey"));
}

std::string before_first_psn(const Attributes& attributes) {
  return std::to_string((attributes.send_psn - 1) & wire::kPsnMask);
}

}  // namespace

std::string text_of(const SendDone& done) {
  return std::to_string(done.wr_id) + " " + kStatusNames[static_cast<std::size_t>(done.status)];
}

std::string text_of(const RecvDone& done) {
  std::ostringstream out;
  out << done.wr_id << ' ' << kStatusNames[static_cast<std::size_t>(done.status)];
  if (done.status != Status::success) return out.str();
  out << " len=" << done.length;
  if (done.has_immediate) out << " imm=" << done.immediate;
  if (done.has_invalidate) out << " inv=" << done.immediate;
  if (done.solicited) out << " se";
  if (done.is_write) out << " write";
  return out.str();
}

/// A payload that is still with its sender.
class Script::Elsewhere final : public PayloadSource {
 public:
  Elsewhere(Script& script, Bytes payload) : script_(script), payload_(payload) {}
  bool copy(std::size_t offset, std::byte* to, std::size_t size) override {
    if (script_.fetches == 0) return false;
    --script_.fetches;
    ++script_.fetched;
    EXPECT_LE(offset + size, payload_.size());
    std::copy_n(payload_.data() + offset, size, to);
    return true;
  }

 private:
  Script& script_;
  Bytes payload_;
};

Script::Script() : memory_(kMemory) {
  for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  attributes.local = kLocal;
  attributes.remote = kRemote;
  attributes.path.source = wire::Gid::from_ipv4_be(0x0100000a);
  attributes.path.destination = wire::Gid::from_ipv4_be(0x0200000a);
  attributes.send_psn = attributes.receive_psn = 5;
  attributes.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  attributes.max_reads_out = attributes.max_reads_in = 4;
  attributes.timeout = 14;
  attributes.retry_count = 7;
  attributes.rnr_retry = 7;
  attributes.min_rnr_timer = 12;
  attributes.qkey = 0x1234;
  host.regions[kKey] = {kBase, memory_.data(), kMemory,
                        kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic};
}

void Script::make(QpType type, bool to_rts) {
  endpoint_ = make_endpoint(type, kLocal, capacity, host);
  endpoint_->set_window(window);
  endpoint_->start_responder(attributes);
  if (to_rts) endpoint_->start_requester(attributes);
}

void Script::rc() {
  make(QpType::rc, true);
  in("RC Acknowledge psn=" + before_first_psn(attributes));
}

void Script::xrc_initiator() {
  make(QpType::xrc_initiator, true);
  in("XRC Acknowledge psn=" + before_first_psn(attributes));
}

void Script::post(const std::string& line) {
  const Words words = parse_words(line);
  SendSlot slot = endpoint_->reserve();
  ASSERT_NE(slot.wqe, nullptr) << "the send queue is full: " << line;
  SendWqe& wqe = *slot.wqe;
  fill(wqe, words, next_send_++);
  wqe.address = attributes.path;
  const std::uint64_t address = words.get("at", kBase);
  if (wqe.is_inline) {
    std::copy_n(at(address), wqe.length, slot.inline_data.data());
  } else {
    wqe.sge_count = static_cast<std::uint16_t>(words.get("sges", 1));
    const std::uint32_t each = wqe.length / wqe.sge_count;
    for (std::uint32_t i = 0; i < wqe.sge_count; ++i) {
      const bool last = i + 1U == wqe.sge_count;
      slot.sges[i] = {address + std::uint64_t{i} * each, last ? wqe.length - each * i : each,
                      MemoryKey(static_cast<std::uint32_t>(words.get("lkey", kKey)))};
    }
  }
  endpoint_->commit();
}

void Script::post_receive(std::uint32_t length, std::uint64_t address, std::uint32_t lkey) {
  host.post_receive(next_receive_++, {{address, length, MemoryKey(lkey)}});
}

void Script::in(const std::string& line, Where where) {
  SCOPED_TRACE(place(where));
  in_from(attributes.path.destination, line);
  keeps_invariants();
}

void Script::in_from(const wire::Gid& source, const std::string& line) {
  arrive(source, attributes.path.source, line, [this](const RxPacket& rx) { endpoint_->receive(rx, now); });
}

void Script::in_by(const AddressVector& path, const std::string& line) {
  arrive(path.destination, path.source, line, [this](const RxPacket& rx) { endpoint_->receive(rx, now); });
  keeps_invariants();
}

bool Script::lacks_receive(const std::string& line) {
  bool lacks = false;
  arrive(attributes.path.destination, attributes.path.source, line,
         [&](const RxPacket& rx) { lacks = endpoint_->lacks_receive(rx); });
  return lacks;
}

void Script::arrive(const wire::Gid& source, const wire::Gid& destination, const std::string& line,
                    const std::function<void(const RxPacket&)>& handle) {
  const PacketText text = parse_packet_text(line);
  RxPacket rx;
  rx.packet.headers = headers_of(text);
  rx.packet.info = wire::find_opcode(static_cast<std::uint8_t>(rx.packet.headers.bth.opcode));
  auto length = text.fields.find("len");
  std::vector<std::byte> payload(length == text.fields.end() ? 0 : length->second);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = payload_byte(rx.packet.headers.bth.psn, i);
  Elsewhere rendezvous(*this, payload);
  if (text.fields.contains("elsewhere")) {
    rx.rendezvous = &rendezvous;
    rx.rendezvous_bytes = payload.size();
  } else {
    rx.packet.payload = payload;
  }
  const auto packets = text.fields.find("packets");
  if (packets != text.fields.end()) rx.packets = static_cast<std::uint32_t>(packets->second);
  const auto joined = text.fields.find("joined");
  if (joined != text.fields.end()) {
    rx.first_bytes = static_cast<std::uint32_t>(joined->second);
    rx.first_opcode = wire::parts_of(rx.packet.info->opcode).first;
  }
  rx.source = source;
  rx.destination = destination;
  handle(rx);
}

void Script::pass(Duration time) {
  const TimePoint end = now + time;
  while (endpoint_->deadline() <= end) {
    now = std::max(now, endpoint_->deadline());
    endpoint_->expire(now);
    if (endpoint_->deadline() <= now) break;
  }
  keeps_invariants();
  now = end;
}

void Script::out(const std::string& line, Where where) {
  SCOPED_TRACE(place(where));
  ASSERT_EQ(endpoint_->transmit(packet, now), Transmit::packet) << "nothing came out; expected " << line;
  keeps_invariants();
  const PacketText expected = parse_packet_text(line);
  PacketText actual = describe_packet(packet.headers, packet.payload_bytes);
  actual.fields["packets"] = packet.packets;
  EXPECT_EQ(expected.name, actual.name) << to_string(actual);
  for (const auto& [key, value] : expected.fields) {
    auto it = actual.fields.find(key);
    EXPECT_TRUE(it != actual.fields.end() && it->second == value)
        << key << ": expected " << line << "\n   came " << to_string(actual);
  }
  for (const char* flag : {"ackreq", "se"}) {
    EXPECT_EQ(expected.fields.contains(flag), actual.fields.contains(flag))
        << flag << ": " << to_string(actual);
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < packet.fragment_count; ++i) bytes += packet.fragments[i].size;
  EXPECT_EQ(bytes, packet.payload_bytes);
}

void Script::silent(Where where) {
  SCOPED_TRACE(place(where));
  const Transmit result = endpoint_->transmit(packet, now);
  keeps_invariants();
  EXPECT_EQ(result, Transmit::idle);
  if (result == Transmit::packet) {
    ADD_FAILURE() << to_string(describe_packet(packet.headers, packet.payload_bytes));
  }
}

void Script::blocked(Where where) {
  SCOPED_TRACE(place(where));
  EXPECT_EQ(endpoint_->transmit(packet, now), Transmit::blocked);
}

void Script::sent(const std::string& line, Where where) {
  SCOPED_TRACE(place(where));
  ASSERT_FALSE(host.sends.empty()) << "no send completion; expected " << line;
  EXPECT_EQ(text_of(host.sends.front()), line) << describe(host.sends.front().reason);
  host.sends.erase(host.sends.begin());
}

void Script::received(const std::string& line, Where where) {
  SCOPED_TRACE(place(where));
  ASSERT_FALSE(host.recvs.empty()) << "no receive completion; expected " << line;
  EXPECT_EQ(text_of(host.recvs.front()), line) << describe(host.recvs.front().reason);
  host.recvs.erase(host.recvs.begin());
}

void Script::event(QpEvent expected, Where where) {
  SCOPED_TRACE(place(where));
  ASSERT_FALSE(host.events.empty());
  EXPECT_EQ(host.events.front(), expected);
  host.events.erase(host.events.begin());
}

void Script::because_of(ReasonId id, Where where) {
  SCOPED_TRACE(place(where));
  EXPECT_TRUE(host.explained(id)) << reason_text(id).id << " was not explained";
  host.reasons.clear();
}

void Script::quiet(Where where) {
  SCOPED_TRACE(place(where));
  silent(where);
  EXPECT_TRUE(host.sends.empty()) << text_of(host.sends.front());
  EXPECT_TRUE(host.recvs.empty()) << text_of(host.recvs.front());
  EXPECT_TRUE(host.events.empty());
}

void Script::keeps_invariants() { EXPECT_STREQ(endpoint_->broken_invariant(), nullptr); }

bool Script::holds(std::uint64_t address, std::uint32_t psn, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (at(address)[i] != payload_byte(psn, i)) return false;
  }
  return true;
}

}  // namespace softrnic::ib::test
