#include "copy/serve_files.h"

#include "copy/receiver.h"
#include "copy/sender.h"

namespace softrnic::copy {
namespace {

constexpr std::size_t kMaxSources = 10'000;
constexpr auto kAbortFarewell = std::chrono::seconds(2);

/// What the client wants, once it has said all.
struct Order {
  explicit Order(Budget& memory) : held(memory) {}
  Held held;
  Job job;
  std::vector<std::string> sources;
  FilterList filters;
  bool complete = false;
};

Unexpected<Error> nonsense() { return fail(Trouble::protocol, "the client's job makes no sense"); }

Result<void> take(Order& order, RecordType type, Bytes body) {
  bool good = false;
  if (type == RecordType::job) {
    good = decode(order.job, body) && (order.job.flags & ~kKnownJobFlags) == 0;
  } else if (type == RecordType::source && order.sources.size() < kMaxSources) {
    Source source;
    good = decode(source, body);
    if (const auto held = order.held.add(Budget::cost_of(source.path)); !held) return held;
    order.sources.push_back(source.path);
  } else if (type == RecordType::filter && order.filters.all().size() < FilterList::kMost) {
    Filter filter;
    good = decode(filter, body) && filter.pattern.find('\0') == std::string::npos;
    if (const auto held = order.held.add(Budget::cost_of(filter.pattern)); !held) return held;
    if (good) order.filters.add(filter);
  } else if (type == RecordType::begin) {
    good = order.complete = true;
  }
  return good ? Result<void>{} : nonsense();
}

Result<void> read_order(Stream& stream, Order& order) {
  while (!order.complete) {
    const auto frame = stream.next();
    if (!frame) return Unexpected{frame.error()};
    Records records(*frame);
    RecordView record;
    Result<void> taken = {};
    while (taken && !order.complete && records.next(record)) taken = take(order, record.type, record.body);
    if (taken && !records.ok()) taken = nonsense();
    stream.release();
    if (!taken) return taken;
  }
  return {};
}

Result<Finished> receive(Stream& stream, const Order& order, const ServedTree& served, Budget& memory,
                         Observer& observer) {
  std::string path;
  if (!clean_path(order.job.destination, path))
    return fail(Trouble::refused, order.job.destination + ": no way out of the served directory");
  auto destination = choose_destination(served.root, path, order.job.flags);
  if (!destination) return Unexpected{destination.error()};
  if (const auto put = stream.put(Ready{}); !put) return Unexpected{put.error()};
  if (const auto flushed = stream.flush(); !flushed) return Unexpected{flushed.error()};
  const Intake intake{order.job.flags, order.filters, std::nullopt, served.outside_links, memory};
  return Receiver(stream, std::move(*destination), intake, observer).run();
}

Result<Finished> send(Stream& stream, Order& order, const Tree& root, Budget& memory, Observer& observer) {
  for (std::string& source : order.sources) {
    std::string path;
    if (!clean_path(source, path))
      return fail(Trouble::refused, source + ": no way out of the served directory");
    const bool contents = source.empty() || source.ends_with('/') || path.empty();
    source = contents && !path.empty() ? path + "/" : path;
  }
  order.job.flags &= ~static_cast<std::uint32_t>(kStream);  // a server has no standard input to give
  return Sender(stream, Origin(root), order.job, order.filters, memory, observer).run(order.sources);
}

/// Tells the client, who may be gone.
void tell(Stream& stream, const Error& error) {
  Aborted aborted;
  aborted.error = static_cast<std::uint32_t>(error.code);
  aborted.text = error.text;
  if (!stream.put(aborted) || !stream.settle()) return;
  stream.connection().linger(Clock::now() + kAbortFarewell);
}

}  // namespace

Result<Finished> serve_files(Stream& stream, Role role, const ServedTree& served, Budget& memory,
                             Observer& observer) {
  Order order(memory);
  const auto read = read_order(stream, order);
  Result<Finished> done = Finished{};
  if (!read)
    done = Unexpected{read.error()};
  else
    done = role == Role::upload ? receive(stream, order, served, memory, observer)
                                : send(stream, order, served.root, memory, observer);
  if (!done && done.error().trouble != Trouble::broken) tell(stream, done.error());
  return done;
}

}  // namespace softrnic::copy
