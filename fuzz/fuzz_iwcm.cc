// Input: records, each something that happens to iWARP's connection manager: a listener or a connection
// comes or goes, a program answers or leaves, TCP connects, ends or brings bytes, time goes by. Whatever
// their order: no more is asked of a stream than an MPA frame has, nothing is written to one that was
// closed or handed over, events tell of nothing that was destroyed, who connects hears once how it came
// out, no more is kept than the limits allow, and nothing is left in the end.
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <vector>

#include "base/reason_id.h"
#include "fuzz/check.h"
#include "iwcm/manager.h"
#include "transport/iwarp/mpa_frame_io.h"

using namespace softrnic;
using iwcm::EventKind;
using iwcm::Id;

namespace {

constexpr std::array kErrors = {0, ECONNREFUSED, EHOSTUNREACH};
constexpr iwcm::Limits kLimits{.active = 6, .passive = 6, .of_user = 10, .least_backlog = 3};

class Host final : public iwcm::Host, public iwcm::Streams {
 public:
  // iwcm::Streams
  Expected<void, Failure> listen(iwcm::ListenerId listener, const iwcm::Listening&) override {
    if (fails) return Unexpected{refuse(EADDRINUSE, ReasonId::iwcm_listen, 1, EADDRINUSE)};
    FUZZ_CHECK(listeners.insert(listener.value).second);
    return {};
  }
  void unlisten(iwcm::ListenerId listener) override { FUZZ_CHECK(listeners.erase(listener.value) == 1); }
  Expected<void, Failure> open(Id stream, const iwcm::Endpoint&, const iwcm::Endpoint&,
                               std::uint8_t) override {
    if (fails) return Unexpected{refuse(ENETUNREACH, ReasonId::iwcm_connect, 1, ENETUNREACH)};
    FUZZ_CHECK(open_streams.insert(stream.value).second);
    connecting.insert(stream.value);
    return {};
  }
  bool write(Id stream, Bytes bytes) override {
    FUZZ_CHECK(open_streams.contains(stream.value) && !connecting.contains(stream.value));
    FUZZ_CHECK(!bytes.empty() && bytes.size() <= iwarp::kMaxMpaFrameBytes + 128);
    return !fails;
  }
  void hand_over(Id stream) override {
    FUZZ_CHECK(open_streams.erase(stream.value) == 1);
    FUZZ_CHECK(handed_over.insert(stream.value).second);
  }
  void close(Id stream) override {
    connecting.erase(stream.value);
    open_streams.erase(stream.value);
    handed_over.erase(stream.value);
  }

  // iwcm::Host
  void event(const iwcm::Event& event) override {
    FUZZ_CHECK(!destroyed.contains(event.id.value) && !iwcm::name_of(event.kind).empty());
    std::size_t sum = 0;  // every byte that was promised is there
    for (const std::byte byte : event.private_data) sum += std::to_integer<std::size_t>(byte);
    FUZZ_CHECK(sum <= 255 * wire::kMpaPrivateBytes && event.status <= 0);
    FUZZ_CHECK((event.status == 0) == (event.reason.id == ReasonId::none) ||
               event.kind == EventKind::given_up);
    switch (event.kind) {
      case EventKind::request:
        FUZZ_CHECK(known.insert(event.id.value).second);
        ids.push_back(event.id.value);
        return;
      case EventKind::reply:
        FUZZ_CHECK(waiting.erase(event.id.value) == 1);
        FUZZ_CHECK((event.status == 0) == handed_over.contains(event.id.value));
        return;
      default:
        FUZZ_CHECK(known.contains(event.id.value));
        return;
    }
  }
  std::uint32_t random_number() override { return ++number; }  // small, so that inputs can name tokens
  void explain(const Reason& reason, const iwcm::Endpoint&) override {
    FUZZ_CHECK(!describe(reason).empty());
  }

  bool fails = false;
  std::uint32_t number = 0;
  std::set<std::uint32_t> listeners, open_streams, connecting, handed_over;
  std::set<std::uint32_t> known;    ///< that a program has heard of or made, and not destroyed
  std::set<std::uint32_t> waiting;  ///< for how connecting comes out
  std::set<std::uint32_t> destroyed;
  std::vector<std::uint32_t> ids;  ///< that a program ever knew
};

class Driver {
 public:
  void record(fuzz::Input& in) {
    const unsigned what = in.take<std::uint8_t>();
    const unsigned which = in.take<std::uint8_t>();
    act(what, which, in);
    FUZZ_CHECK(manager_.with_socket() <= kLimits.active + kLimits.passive);
  }
  void finish() {
    host_.fails = false;
    for (const std::uint32_t listener : std::set(host_.listeners))
      manager_.unlisten(iwcm::ListenerId(listener));
    for (int i = 0; i < 100 && manager_.deadline() != kNever; ++i) pass_to_deadline();
    FUZZ_CHECK(manager_.deadline() == kNever);
    for (const std::uint32_t id : std::set(host_.known)) destroy(id);
    FUZZ_CHECK(host_.waiting.empty() && manager_.size() == 0);
    FUZZ_CHECK(host_.open_streams.empty() && host_.handed_over.empty() && host_.listeners.empty());
  }

 private:
  template <typename Numbers>
  static std::uint32_t pick(const Numbers& of, unsigned which) {
    if (which >= 0xf0 || of.empty()) return which;  // a guess
    auto at = of.begin();
    std::advance(at, static_cast<long>(which % of.size()));
    return *at;
  }
  template <typename Result>
  static void heed(const Result& result) {
    if (!result) FUZZ_CHECK(result.error().error > 0 && !describe(result.error().reason).empty());
  }

  void act(unsigned what, unsigned which, fuzz::Input& in) {
    const Id id(pick(host_.ids, which));
    const Id stream(pick(host_.open_streams, which));
    switch (what % 17) {
      case 0:
        return heed(manager_.listen({{}, static_cast<int>(which % 8), 0, which % 2}));
      case 1:
        return manager_.unlisten(iwcm::ListenerId(pick(host_.listeners, which)));
      case 2:
        return incoming(which);
      case 3:
        return connect(which, in);
      case 4:
        return opened(pick(host_.connecting, which));
      case 5:
        return bring(stream, in.take_bytes(in.take<std::uint8_t>()));
      case 6:
        if (host_.open_streams.contains(stream.value))
          manager_.ended(stream, kErrors[which % kErrors.size()], now_);
        return;
      case 7:
        return heed(manager_.accept(id, offer(which, in)));
      case 8:
        return heed(manager_.reject(id, in.take_bytes(which * 4)));
      case 9:
        return heed(manager_.confirm(id));
      case 10:
        return manager_.disconnect(id, now_);
      case 11:
        return destroy(id.value);
      case 12:
        if (which % 4 == 1) manager_.taken(id);
        manager_.stream_over(which % 2 != 0 ? manager_.token(id) : which);
        return;
      case 13:
        now_ += std::chrono::milliseconds(which * 20);
        return manager_.advance(now_);
      case 14:
        return pass_to_deadline();
      case 15:
        host_.fails = which % 4 == 0;
        return;
      default:
        return bring(stream, frame(which, in));
    }
  }

  void opened(std::uint32_t stream) {
    if (host_.connecting.erase(stream) == 1) manager_.opened(Id(stream), {}, now_);
  }
  void incoming(unsigned which) {
    const Id id = manager_.incoming(iwcm::ListenerId(pick(host_.listeners, which)), {}, {}, now_);
    if (id.value != 0) FUZZ_CHECK(host_.open_streams.insert(id.value).second);
  }
  iwcm::Offer offer(unsigned which, fuzz::Input& in) {
    data_.resize(in.take<std::uint16_t>() % 600);
    return {static_cast<std::uint16_t>(which), static_cast<std::uint16_t>(which * 300), data_};
  }
  void connect(unsigned which, fuzz::Input& in) {
    iwcm::Request request;
    request.offer = offer(which, in);
    request.user = which % 2;
    const auto id = manager_.connect(request, now_);
    heed(id);
    if (!id) return;
    FUZZ_CHECK(host_.known.insert(id->value).second && host_.waiting.insert(id->value).second);
    host_.ids.push_back(id->value);
  }
  /// As a peer sends them, and as far as they are wanted.
  void bring(Id stream, Bytes bytes) {
    while (!bytes.empty() && host_.open_streams.contains(stream.value) &&
           !host_.connecting.contains(stream.value)) {
      const std::size_t wanted = manager_.wanted(stream);
      FUZZ_CHECK(wanted <= iwarp::kMaxMpaFrameBytes);
      if (wanted == 0) return;
      const Bytes piece = bytes.first(std::min(wanted, bytes.size()));
      bytes = bytes.subspan(piece.size());
      manager_.received(stream, piece, now_);
    }
  }
  /// One that is right, or nearly.
  Bytes frame(unsigned which, fuzz::Input& in) {
    wire::MpaFrame head{which % 2 != 0 ? wire::MpaFrameKind::request : wire::MpaFrameKind::reply};
    head.revision = static_cast<std::uint8_t>(which / 2 % 4);
    head.enhanced = which / 8 % 2 != 0;
    head.reject = which / 16 % 4 == 3;
    head.markers = which / 64 % 2 != 0;
    const Bytes rest = in.take_bytes(in.take<std::uint8_t>());
    head.private_bytes = static_cast<std::uint16_t>(rest.size());
    frame_.assign(wire::kMpaFrameBytes, std::byte{0});
    wire::encode(head, frame_);
    frame_.insert(frame_.end(), rest.begin(), rest.end());
    return frame_;
  }
  void destroy(std::uint32_t id) {
    if (host_.known.erase(id) == 1) host_.destroyed.insert(id);
    host_.waiting.erase(id);
    if (host_.destroyed.contains(id)) {
      manager_.destroy(Id(id));
      host_.destroyed.erase(id);  // the number may be another's from now on
      std::erase(host_.ids, id);
    }
  }
  void pass_to_deadline() {
    if (manager_.deadline() != kNever) now_ = std::max(now_, manager_.deadline());
    manager_.advance(now_);
  }

  Host host_;
  iwcm::Manager manager_{host_, host_, kLimits};
  std::vector<std::byte> data_, frame_;
  TimePoint now_{std::chrono::seconds(1)};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  Driver driver;
  while (!in.empty()) driver.record(in);
  driver.finish();
  return 0;
}
