#include "copy/exchange.h"

#include "copy/board.h"

namespace softrnic::copy {
namespace {

class ByMessages final : public Exchange {
 public:
  ByMessages(Connection& connection, const Ring& peer) : connection_(connection), peer_(peer) {
    connection_.spin_for(kSpin);
  }

  Result<Connection::Serial> put_frame(Bytes frame, std::uint32_t lkey, std::uint32_t slot) override {
    return connection_.write_frame(frame, lkey, {peer_.slot_address(slot), peer_.rkey}, slot);
  }

  Result<void> give_credit(std::uint64_t taken) override {
    const auto sent = connection_.send(make_message(Credit{taken}));
    return sent ? Result<void>{} : Unexpected{sent.error()};
  }

  Result<void> greet(std::uint64_t taken) override { return give_credit(taken); }

  Result<void> wait(Deadline deadline) override { return connection_.step(deadline); }

  Result<std::optional<News>> take() override {
    const auto arrival = connection_.take();
    if (!arrival) return std::optional<News>{};
    if (arrival->is_frame) return std::optional(News{News::Kind::frame, arrival->slot, arrival->length, 0});
    Credit credit;
    if (!read_message(credit, arrival->message.view()))
      return fail(Trouble::protocol, "the peer sent an unknown message");
    return std::optional(News{News::Kind::credit, 0, 0, credit.taken});
  }

 private:
  Connection& connection_;
  Ring peer_;
};

}  // namespace

Result<OwnRing> make_ring(Connection& connection, std::uint32_t slots, std::uint32_t slot_size,
                          unsigned access) {
  const std::size_t size = kFrameLead + std::size_t{slots} * slot_size + Board::size(slots);
  auto buffer = Buffer::make(connection.domain(), size, access);
  if (!buffer) return Unexpected{buffer.error()};
  const Ring ring{buffer->address() + kFrameLead, buffer->rkey(), slot_size, slots};
  return OwnRing{std::move(*buffer), ring};
}

ExchangePtr exchange_by_messages(Connection& connection, const Ring& peer) {
  return std::make_unique<ByMessages>(connection, peer);
}

}  // namespace softrnic::copy
