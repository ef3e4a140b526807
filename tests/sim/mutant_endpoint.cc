#include <optional>
#include <utility>

#include "tests/sim/mutant.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {

/// A payload of packets that are all taken to be as long as the path MTU.
class Stretched final : public ib::PayloadSource {
 public:
  explicit Stretched(ib::PayloadSource& source, std::size_t bytes) : source_(source), bytes_(bytes) {}
  bool copy(std::size_t offset, std::byte* to, std::size_t size) override {
    for (; size > 0; --size, ++offset, ++to)
      if (!source_.copy(offset % bytes_, to, 1)) return false;
    return true;
  }

 private:
  ib::PayloadSource& source_;
  std::size_t bytes_;
};

class MutantEndpoint final : public ib::Endpoint {
 public:
  MutantEndpoint(std::unique_ptr<ib::Endpoint> inner, Mutation mutation, MutantHost& host)
      : inner_(std::move(inner)), mutation_(mutation), host_(host) {}

  void start_responder(const ib::Attributes& attributes) override {
    inner_->set_window(window());
    inner_->start_responder(mutated(attributes));
  }
  void start_requester(const ib::Attributes& attributes) override {
    inner_->set_window(window());
    inner_->start_requester(mutated(attributes));
  }
  void update(const ib::Attributes& attributes) override { inner_->update(attributes); }
  void drain() override { inner_->drain(); }
  void resume() override { inner_->resume(); }
  void flush() override { inner_->flush(); }
  void reset() override;
  ib::SendSlot reserve() override { return slot_ = inner_->reserve(); }
  void commit() override;
  std::uint32_t outstanding_sends() const override { return inner_->outstanding_sends(); }
  bool lacks_receive(const ib::RxPacket& packet) override { return inner_->lacks_receive(packet); }
  void receive(const ib::RxPacket& packet, TimePoint now) override;
  ib::Transmit transmit(ib::TxPacket& out, TimePoint now) override;
  TimePoint deadline() const override {
    return mutation_ == Mutation::lose_timer ? kNever : inner_->deadline();
  }
  void expire(TimePoint now) override {
    inner_->expire(mutation_ == Mutation::impatient ? now + std::chrono::seconds(1) : now);
  }
  std::uint32_t send_psn() const override { return inner_->send_psn(); }
  std::uint32_t receive_psn() const override { return inner_->receive_psn(); }
  bool in_error() const override { return inner_->in_error(); }
  bool drained() const override { return inner_->drained(); }
  const char* broken_invariant() const override { return inner_->broken_invariant(); }

 private:
  ib::Attributes mutated(ib::Attributes attributes) const {
    if (mutation_ == Mutation::stay_on_path) attributes.migration = ib::Migration::migrated;
    return attributes;
  }
  TimePoint early(TimePoint due) const {
    return mutation_ == Mutation::impatient && due != kNever ? due - std::chrono::milliseconds(1) : due;
  }
  bool is_duplicate(const ib::RxPacket& packet) const;
  void execute_again(const ib::RxPacket& packet);

  std::unique_ptr<ib::Endpoint> inner_;
  Mutation mutation_;
  MutantHost& host_;
  ib::SendSlot slot_;
  ib::SendWqe latest_;
  std::unordered_set<std::uint32_t> answered_;
  std::uint32_t shift_ = 0;
  bool leaked_ = false;
};

void MutantEndpoint::reset() {
  if (mutation_ == Mutation::complete_after_reset && !host_.node().dead && inner_->outstanding_sends() != 0) {
    ib::SendDone done;
    done.wr_id = latest_.wr_id;
    done.op = latest_.op;
    done.status = ib::Status::flushed;
    inner_->reset();
    host_.node().stopped = true;
    host_.complete(done);
    return;
  }
  inner_->reset();
}

void MutantEndpoint::commit() {
  if (mutation_ == Mutation::ignore_fence) slot_.wqe->fence = false;
  latest_ = *slot_.wqe;
  inner_->commit();
  if (mutation_ == Mutation::complete_early && latest_.signaled && inner_->outstanding_sends() == 1) {
    ib::SendDone done;
    done.wr_id = latest_.wr_id;
    done.op = latest_.op;
    done.signaled = true;
    done.length = latest_.length;
    host_.complete(done);
    host_.swallow(latest_.wr_id);
  }
}

bool MutantEndpoint::is_duplicate(const ib::RxPacket& packet) const {
  const std::uint32_t behind = (inner_->receive_psn() - packet.packet.headers.bth.psn) & wire::kPsnMask;
  return wire::is_reliable(packet.packet.info->service) && packet.packet.info->request && behind != 0 &&
         behind < 0x100000;
}

void MutantEndpoint::execute_again(const ib::RxPacket& packet) {
  const wire::Packet& p = packet.packet;
  const Mutation again = p.info->operation == wire::Operation::atomic_write
                             ? Mutation::execute_atomic_write_twice
                             : Mutation::execute_write_twice;
  const bool write = p.info->has(wire::kReth) && !p.payload.empty();
  const bool add = p.info->operation == wire::Operation::fetch_add;
  if (mutation_ == again && write) {
    auto memory =
        host_.remote_memory(p.headers.reth.key, p.headers.reth.address, p.payload.size(), ib::kRemoteWrite);
    if (memory) std::memcpy(memory->at, p.payload.data(), p.payload.size());
  }
  if (mutation_ == Mutation::execute_atomic_twice && add) {
    auto memory = host_.remote_memory(p.headers.atomic.key, p.headers.atomic.address, 8, ib::kRemoteAtomic);
    if (!memory) return;
    std::uint64_t value;
    std::memcpy(&value, memory->at, 8);
    value += p.headers.atomic.swap_or_add;
    std::memcpy(memory->at, &value, 8);
  }
}

void MutantEndpoint::receive(const ib::RxPacket& given, TimePoint now) {
  ib::RxPacket packet = given;
  wire::Bth& bth = packet.packet.headers.bth;
  const wire::OpcodeInfo& info = *packet.packet.info;
  const bool ack = info.operation == wire::Operation::acknowledge &&
                   wire::syndrome_kind(packet.packet.headers.aeth.syndrome) == wire::SyndromeKind::ack;
  if (mutation_ == Mutation::ignore_credit && ack)
    packet.packet.headers.aeth.syndrome = wire::kAckUnlimitedCredits;
  if (mutation_ == Mutation::swallow_acks && ack && bth.psn % 8 == 3) return;
  if (is_duplicate(packet)) execute_again(packet);
  if (mutation_ == Mutation::answer_flush_at_once && info.operation == wire::Operation::flush) {
    packet.packet.info = &wire::opcode_info(wire::Opcode::rc_read_request);
    packet.packet.headers.reth.length = 0;
  }
  if (mutation_ == Mutation::join_torn_message && info.service == wire::Service::uc) {
    if (shift_ == 0 && info.position == wire::Position::middle) {
      shift_ = 1;
      return;
    }
    bth.psn = (bth.psn - shift_) & wire::kPsnMask;
  }
  if (mutation_ == Mutation::join_atomic_acknowledges &&
      info.operation == wire::Operation::atomic_acknowledge)
    packet.packets = 1;
  const std::uint32_t mtu = host_.node().pair->mtu;
  std::optional<Stretched> stretched;
  if (mutation_ == Mutation::trust_joined_lengths && packet.packets > 1 && packet.first_bytes != 0 &&
      packet.first_bytes != mtu) {
    stretched.emplace(*packet.rendezvous, packet.rendezvous_bytes);
    packet.rendezvous = &*stretched;
    packet.rendezvous_bytes = std::size_t{packet.packets} * mtu;
    packet.first_bytes = mtu;
    packet.packet.headers.reth.length = static_cast<std::uint32_t>(packet.rendezvous_bytes);
  }
  inner_->receive(packet, now);
  if (mutation_ == Mutation::deliver_twice && !wire::is_reliable(info.service)) inner_->receive(packet, now);
}

ib::Transmit MutantEndpoint::transmit(ib::TxPacket& out, TimePoint now) {
  ib::Transmit answer = inner_->transmit(out, now);
  if (mutation_ == Mutation::swallow_naks && answer == ib::Transmit::packet &&
      out.headers.bth.opcode == wire::Opcode::rc_acknowledge &&
      out.headers.aeth.syndrome == wire::kNakPsnSequence)
    answer = inner_->transmit(out, now);
  if (answer != ib::Transmit::packet) return answer;
  if (mutation_ == Mutation::forget_mig_req) out.headers.bth.migration_request = false;
  if (mutation_ == Mutation::forget_atomic_result &&
      out.headers.bth.opcode == wire::Opcode::rc_atomic_acknowledge &&
      !answered_.insert(out.headers.bth.psn).second)
    out.headers.atomic_original += 1;
  if (mutation_ == Mutation::leak_window && !leaked_) {
    leaked_ = true;
    window()->sent(64);
  }
  if (mutation_ == Mutation::forget_window) window()->forgotten(64);
  return answer;
}

}  // namespace

std::unique_ptr<ib::Endpoint> make_mutant(std::unique_ptr<ib::Endpoint> endpoint, Mutation mutation,
                                          MutantHost& host) {
  if (mutation == Mutation::none || endpoint == nullptr) return endpoint;
  return std::make_unique<MutantEndpoint>(std::move(endpoint), mutation, host);
}

}  // namespace softrnic::sim
