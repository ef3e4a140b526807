// A client that knows the token and sends nonsense: hostile HOST PORT TOKEN SEED COUNT. Each of COUNT
// connections says a plausible job and then frames whose bytes were changed at random, without any regard for
// what the server answers.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "copy/board.h"
#include "copy/handshake.h"
#include "copy/stream.h"

using namespace softrnic;
using namespace softrnic::copy;

namespace {

struct Plan {
  std::string host, token;
  std::uint16_t port;
};

class Attack {
 public:
  explicit Attack(std::uint64_t seed) : dice_(seed) {}

  bool run(const Plan& plan) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(10);
    auto connection = Connection::dial(plan.host, plan.port, -1, deadline);
    if (!connection) return complain(connection.error());
    const bool upload = pick(4) != 0;
    auto own = upload ? make_ring(**connection, kReplySlots, kReplySlot)
                      : make_ring(**connection, kMaxSlots, kDataSlot);
    const Wish wish{upload ? Role::upload : Role::download, own->ring, 1 + pick(4)};
    const auto greeted = greet_server(**connection, plan.token, wish, deadline);
    if (!greeted) return complain(greeted.error());
    const Ring* const ring = &greeted->ring;
    auto out = Buffer::make((*connection)->domain(), kDataSlot);
    if (!out) return complain(out.error());
    const bool boards = (greeted->capabilities & kBoards) != 0;
    auto exchange = boards ? exchange_by_boards(**connection, *own, *ring)
                           : Result<ExchangePtr>(exchange_by_messages(**connection, *own, *ring));
    if (!exchange) return complain(exchange.error());
    for (std::uint32_t slot = 0; slot < 12; ++slot) {
      const std::size_t size = slot == 0 && pick(8) != 0 ? job(out->bytes()) : frame(out->bytes());
      if (pick(4) == 0) damage(out->bytes().first(size));
      const std::uint32_t wrong = pick(40) == 0 ? pick(ring->slots) : 0;
      const auto length = std::min<std::size_t>(size, ring->slot_size);
      const Bytes bytes = out->bytes().first(length);
      auto sent = (*exchange)->put_frame(bytes, out->lkey(), (slot + wrong) % ring->slots);
      if (sent && boards && pick(10) == 0) sent = scribble(**connection, *ring, bytes, out->lkey());
      if (!sent) return true;  // the server has had enough
      while (!(*connection)->is_done(*sent)) {
        if (!(*connection)->step(deadline)) return true;
        while ((*connection)->take()) continue;
      }
    }
    return true;
  }

 private:
  static bool complain(const Error& error) {
    std::fprintf(stderr, "%s\n", error.text.c_str());
    return false;
  }
  /// Anything at all, somewhere on the board.
  Result<Serial> scribble(Connection& connection, const Ring& ring, Bytes from, std::uint32_t lkey) {
    const std::uint64_t size = Board::size(ring.slots);
    const std::uint64_t at = pick(static_cast<std::uint32_t>(size));
    const std::size_t length = std::min<std::size_t>({from.size(), size - at, 1 + pick(40)});
    return connection.write(pick(connection.queue_pairs()), from.first(length), lkey,
                            {ring.slot_address(ring.slots) + at, ring.rkey});
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(dice_() % below); }
  std::string name() {
    static constexpr const char* kNames[] = {"a",      "..", "d",    "d/f",   "../../x",
                                             "/etc/x", "",   "d//f", "a/b/c", "."};
    return kNames[pick(std::size(kNames))];
  }
  void damage(MutableBytes bytes) {
    for (std::uint32_t i = 0; i < 1 + pick(8); ++i)
      bytes[pick(static_cast<std::uint32_t>(bytes.size()))] = std::byte(pick(256));
  }
  template <typename Record>
  std::size_t put(MutableBytes into, const Record& record) {
    const std::size_t size = encode(record, into.subspan(kRecordHeader));
    encode(RecordHeader{static_cast<std::uint16_t>(Record::kType), 0, static_cast<std::uint32_t>(size)},
           into);
    return kRecordHeader + size;
  }

  std::size_t job(MutableBytes into) {
    Job job;
    job.flags = pick(1U << 13);
    job.destination = name();
    std::size_t at = put(into, job);
    at += put(into.subspan(at), Source{name()});
    return at + put(into.subspan(at), Begin{});
  }

  std::size_t one(MutableBytes into) {
    number_ += pick(8) == 0 ? 0 : 1;
    switch (pick(10)) {
      case 0: {
        Directory record;
        record.number = number_;
        record.path = name();
        return put(into, record);
      }
      case 1: {
        Symlink record;
        record.number = number_;
        record.path = name();
        record.target = name();
        return put(into, record);
      }
      case 2:
      case 3: {
        File record;
        record.number = number_;
        record.path = name();
        record.size = pick(3) == 0 ? dice_() : pick(1000);
        record.flags = pick(8);
        return put(into, record);
      }
      case 4:
      case 5: {
        Chunk chunk;
        chunk.offset = pick(4) == 0 ? dice_() : pick(1000);
        chunk.length = pick(8) == 0 ? static_cast<std::uint32_t>(dice_()) : pick(2000);
        const std::size_t head = put(into, chunk);
        encode(RecordHeader{static_cast<std::uint16_t>(RecordType::chunk), 0, 56 + 1000}, into);
        return head + 1000;
      }
      case 6:
        return put(into, Same{pick(1000), pick(5) == 0 ? ~0U : pick(1000), {}});
      case 7:
        return put(into, FileEnd{dice_(), {}, pick(2)});
      case 8: {
        Offer record;
        record.number = number_;
        record.path = name();
        return put(into, record);
      }
      default:
        return put(into, Listing{static_cast<std::uint8_t>(pick(2)), name(), std::string("a\0b", 3)});
    }
  }

  std::size_t frame(MutableBytes into) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < 1 + pick(20); ++i) at += one(into.subspan(at));
    return at;
  }

  std::mt19937_64 dice_;
  std::uint64_t number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const Plan plan{argv[1], argv[3], static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10))};
  const auto seed = std::strtoull(argv[4], nullptr, 10);
  const auto count = std::strtoull(argv[5], nullptr, 10);
  for (std::uint64_t i = 0; i < count; ++i)
    if (!Attack(seed * 1'000'000 + i).run(plan)) return 1;
  std::printf("%llu connections\n", static_cast<unsigned long long>(count));
  return 0;
}
