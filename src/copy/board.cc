// Frames and news of them by RDMA WRITE alone, for two ends on one host.
//
// There softrnic carries a WRITE out in the thread that posts it, and the peer's process is not disturbed;
// every message would wake it. A side that has nothing to do looks at its board for a while. Before it
// sleeps it counts up `naps` on the peer's board, and looks at its own once more; who has written to a board
// looks for such a nap afterwards, and sends a wake message when there is a new one. One of the two sees
// what the other has written.
//
// The words are written after what they tell of, on the same queue pair, which places writes in their order.
#include "copy/board.h"

#include "copy/exchange.h"

namespace softrnic::copy {
namespace {

class ByBoards final : public Exchange {
 public:
  ByBoards(Connection& connection, const OwnRing& own, const Ring& peer)
      : connection_(connection),
        peer_(peer),
        slots_(own.ring.slots),
        board_(own.board()),
        last_told_(connection.queue_pairs()) {}

  Result<Serial> put_frame(Bytes frame, std::uint32_t lkey, std::uint32_t slot) override {
    const auto over = static_cast<std::uint32_t>(put_ % connection_.queue_pairs());
    const auto put = connection_.write(over, frame, lkey, {peer_.slot_address(slot), peer_.rkey});
    if (!put) return put;
    const auto entry = BoardEntry::of(put_++, static_cast<std::uint32_t>(frame.size()));
    if (const auto told = tell(over, Board::entry(slot), entry.word()); !told)
      return Unexpected{told.error()};
    return put;
  }

  Result<void> give_credit(std::uint64_t taken) override {
    return tell(0, Board::credit(peer_.slots), taken);
  }

  Result<void> greet(std::uint64_t) override {
    const auto sent = connection_.send(make_message(Wake{}));
    return sent ? Result<void>{} : Unexpected{sent.error()};
  }

  Result<void> wait(Deadline deadline) override;
  Result<std::optional<News>> take() override;

 private:
  Result<void> tell(std::uint32_t queue_pair, std::uint32_t word, std::uint64_t value);
  Result<Serial> write_word(std::uint32_t queue_pair, std::uint32_t word, std::uint64_t value);
  Result<void> wake_sleeper();
  Result<void> nap(Deadline deadline);
  bool has_news() const;
  bool has_news_now() const;
  std::uint32_t next_entry() const { return Board::entry(static_cast<std::uint32_t>(seen_ % slots_)); }

  Connection& connection_;
  Ring peer_;
  std::uint32_t slots_;
  Board board_;  ///< the peer writes it
  std::uint64_t put_ = 0, seen_ = 0, credit_seen_ = 0;
  std::uint64_t naps_ = 0;   ///< of this side
  std::uint64_t woken_ = 0;  ///< naps of the peer that were answered
  std::vector<Serial>
      last_told_;  ///< by queue pair: the peer may not know of it if it naps; none: it has been seen to
};

Result<Serial> ByBoards::write_word(std::uint32_t queue_pair, std::uint32_t word, std::uint64_t value) {
  const std::uint64_t to = peer_.slot_address(peer_.slots) + word * Board::kWord;
  return connection_.write_word(queue_pair, value, {to, peer_.rkey});
}

Result<void> ByBoards::tell(std::uint32_t queue_pair, std::uint32_t word, std::uint64_t value) {
  const auto told = write_word(queue_pair, word, value);
  if (!told) return Unexpected{told.error()};
  last_told_[queue_pair] = *told;
  connection_.poll();
  return wake_sleeper();
}

/// Once what was told stands on the peer's board.
Result<void> ByBoards::wake_sleeper() {
  bool stands_there = false;
  for (Serial& told : last_told_) {
    if (told.number == 0 || !connection_.is_done(told)) continue;
    told = {};
    stands_there = true;
  }
  if (!stands_there) return {};
  const std::uint64_t naps = board_.read_now(Board::naps(slots_));
  if (naps == woken_) return {};
  woken_ = naps;
  return greet(0);
}

bool ByBoards::has_news() const {
  return BoardEntry::from(board_.read(next_entry())).tells_of(seen_) ||
         board_.read(Board::credit(slots_)) != credit_seen_;
}

/// The peer looks for naps after it has written news: it has seen the last nap, or this side sees its news.
bool ByBoards::has_news_now() const {
  return BoardEntry::from(board_.read_now(next_entry())).tells_of(seen_) ||
         board_.read_now(Board::credit(slots_)) != credit_seen_;
}

Result<void> ByBoards::wait(Deadline deadline) {
  const Deadline spin_end = Clock::now() + kSpin;
  for (;;) {
    const bool moved = connection_.poll();
    if (const auto woken = wake_sleeper(); !woken || moved || has_news()) return woken;
    const auto now = Clock::now();
    if (now >= deadline) return connection_.look_around();
    if (now < spin_end) continue;
    const auto napped = nap(deadline);
    return has_news() ? Result<void>{} : napped;  // what came before the connection broke counts
  }
}

Result<void> ByBoards::nap(Deadline deadline) {
  const bool idle = connection_.all_done();
  const auto told = write_word(0, Board::naps(peer_.slots), ++naps_);
  if (!told) return Unexpected{told.error()};
  while (!connection_.is_done(*told) && Clock::now() < deadline)
    if (const auto stepped = connection_.next_completion(deadline); !stepped) return stepped;
  if (const auto woken = wake_sleeper(); !woken) return woken;
  // what was not done before may be done now, and the caller waits for that
  return !idle || has_news_now() ? Result<void>{} : connection_.step(deadline);
}

Result<std::optional<News>> ByBoards::take() {
  if (const auto arrival = connection_.take()) {
    Wake wake;
    if (arrival->is_frame || !read_message(wake, arrival->message.view()))
      return fail(Trouble::protocol, "the peer sent an unknown message");
    return std::optional(News{});
  }
  if (const BoardEntry entry = BoardEntry::from(board_.read(next_entry())); entry.tells_of(seen_))
    return std::optional(
        News{News::Kind::frame, static_cast<std::uint32_t>(seen_++ % slots_), entry.length, 0});
  const std::uint64_t credit = board_.read(Board::credit(slots_));
  if (credit == credit_seen_) return std::optional<News>{};
  credit_seen_ = credit;
  return std::optional(News{News::Kind::credit, 0, 0, credit});
}

}  // namespace

Result<ExchangePtr> exchange_by_boards(Connection& connection, const OwnRing& own, const Ring& peer) {
  return ExchangePtr(std::make_unique<ByBoards>(connection, own, peer));
}

}  // namespace softrnic::copy
