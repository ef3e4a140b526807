#include "copy/exchange.h"

#include "copy/board.h"

namespace softrnic::copy {
namespace {

constexpr std::uint32_t kNotYet = ~0U;

class ByMessages final : public Exchange {
 public:
  ByMessages(Connection& connection, const OwnRing& own, const Ring& peer)
      : connection_(connection), peer_(peer), lengths_(own.ring.slots, kNotYet) {
    for (std::uint32_t i = 0; i < connection_.queue_pairs(); ++i) next_.push_back(i);
    connection_.spin_for(kSpin);
  }

  Result<Serial> put_frame(Bytes frame, std::uint32_t lkey, std::uint32_t slot) override {
    const auto queue_pair = static_cast<std::uint32_t>(put_++ % connection_.queue_pairs());
    return connection_.write_frame(queue_pair, frame, lkey, {peer_.slot_address(slot), peer_.rkey}, slot);
  }

  Result<void> give_credit(std::uint64_t taken) override {
    const auto sent = connection_.send(make_message(Credit{taken}));
    return sent ? Result<void>{} : Unexpected{sent.error()};
  }

  Result<void> greet(std::uint64_t taken) override { return give_credit(taken); }

  Result<void> wait(Deadline deadline) override { return connection_.step(deadline); }

  Result<std::optional<News>> take() override;

 private:
  Result<void> note_frame(const Arrival& arrival);
  std::optional<News> frame_in_turn();

  Connection& connection_;
  Ring peer_;
  std::uint64_t put_ = 0, seen_ = 0;    ///< frames
  std::vector<std::uint64_t> next_;     ///< by queue pair: the number of the frame that comes next on it
  std::vector<std::uint32_t> lengths_;  ///< by slot: of frames that came before their turn
};

/// On one queue pair frames come in their order, so that who is out of step shows at once; one queue pair may
/// be ahead of another, by less than the ring.
Result<void> ByMessages::note_frame(const Arrival& arrival) {
  const std::uint64_t number = next_[arrival.queue_pair];
  next_[arrival.queue_pair] += next_.size();
  std::uint32_t& length = lengths_[number % lengths_.size()];
  if (arrival.slot != number % lengths_.size() || length != kNotYet)
    return fail(Trouble::protocol, "the peer sent a frame out of its turn");
  length = arrival.length;
  return {};
}

std::optional<News> ByMessages::frame_in_turn() {
  const auto slot = static_cast<std::uint32_t>(seen_ % lengths_.size());
  if (lengths_[slot] == kNotYet) return std::nullopt;
  ++seen_;
  return News{News::Kind::frame, slot, std::exchange(lengths_[slot], kNotYet), 0};
}

Result<std::optional<News>> ByMessages::take() {
  for (;;) {
    if (const auto frame = frame_in_turn()) return frame;
    const auto arrival = connection_.take();
    if (!arrival) return std::optional<News>{};
    if (arrival->is_frame) {
      if (const auto noted = note_frame(*arrival); !noted) return Unexpected{noted.error()};
      continue;
    }
    Credit credit;
    if (!read_message(credit, arrival->message.view()))
      return fail(Trouble::protocol, "the peer sent an unknown message");
    return std::optional(News{News::Kind::credit, 0, 0, credit.taken});
  }
}

}  // namespace

Result<OwnRing> make_ring(Connection& connection, std::uint32_t slots, std::uint32_t slot_size,
                          unsigned access) {
  const std::size_t size = kFrameLead + std::size_t{slots} * slot_size + Board::size(slots);
  auto buffer = Buffer::make(connection.domain(), size, access);
  if (!buffer) return Unexpected{buffer.error()};
  const Ring ring{buffer->address() + kFrameLead, buffer->rkey(), slot_size, slots};
  return OwnRing{std::move(*buffer), ring};
}

ExchangePtr exchange_by_messages(Connection& connection, const OwnRing& own, const Ring& peer) {
  return std::make_unique<ByMessages>(connection, own, peer);
}

}  // namespace softrnic::copy
