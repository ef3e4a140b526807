#include "copy/server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <thread>

#include "base/unique_fd.h"
#include "copy/handshake.h"
#include "copy/ping.h"
#include "copy/serve_files.h"
#include "copy/stream.h"

namespace softrnic::copy {
namespace {

constexpr auto kFarewell = std::chrono::seconds(2);
/// How long a client waits for sessions that clients before it have left.
constexpr auto kTidying = std::chrono::seconds(2);

/// What a client got: nothing when it never proved that it knows the token.
struct Outcome {
  bool let_in = false;
  Result<void> result = {};
};

/// What the sessions of a server share.
struct Common {
  explicit Common(ServerOptions wanted) : options(std::move(wanted)), memory(options.memory, "--memory") {}

  /// A place among those that have proved themselves. False when there is none.
  bool let_in() {
    if (inside++ < options.max_clients) return true;
    --inside;
    return false;
  }

  ServerOptions options;
  ServedTree served;
  Budget memory;
  std::atomic<unsigned> inside{0};
};

/// What the server and the thread of a session know of each other.
struct Place {
  UniqueFd stop{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  ///< readable: come to an end
  std::atomic<bool> proved{false}, evicted{false};
};

class Session {
 public:
  Session(Common& common, Place& place, Listener::Request request)
      : common_(common), options_(common.options), place_(place), request_(std::move(request)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (place_.proved) --common_.inside;
  }

  Outcome run() {
    const Deadline deadline = Clock::now() + options_.greeting_time;
    auto connection =
        Connection::accept(std::move(request_.events), std::move(request_.id), place_.stop.get(), deadline);
    if (!connection) return {false, Unexpected{connection.error()}};
    connection_ = std::move(*connection);
    name_ = connection_->peer_name();
    const auto greeted =
        greet_client(*connection_, options_.token, deadline, [this](Role role) { return admit(role); });
    if (!greeted && place_.evicted) return {false, Unexpected{greeted.error()}};
    if (!greeted) {
      options_.log(name_ + ": turned away: " + greeted.error().text);
      turn_away(*connection_, greeted.error().text, Clock::now() + kFarewell);
      return {false, Unexpected{greeted.error()}};
    }
    return {true, serve(*greeted)};
  }

 private:
  /// Why this server does not do that; empty when it does.
  std::string objection(Role role) const {
    if (role == Role::ping) return {};
    if (options_.root.empty()) return "this server answers pings alone";
    if (role == Role::upload && options_.read_only) return "this server is read-only";
    if (role == Role::download && options_.write_only) return "this server is write-only";
    return {};
  }

  Result<Ring> admit(Role role) {
    if (const std::string why = objection(role); !why.empty()) return fail(Trouble::refused, why);
    if (!common_.let_in())
      return fail(Trouble::refused, std::to_string(options_.max_clients) + " clients are there already");
    place_.proved = true;
    auto ring = role == Role::ping     ? make_ring(*connection_, 2, kMinSlotSize, IBV_ACCESS_REMOTE_READ)
                : role == Role::upload ? make_ring(*connection_, kMaxSlots, kDataSlot)
                                       : make_ring(*connection_, kReplySlots, kReplySlot);
    if (!ring) return Unexpected{ring.error()};
    ring_ = std::move(*ring);
    return ring_.ring;
  }

  Result<void> serve(const Greeted& client) {
    if (client.role != Role::ping) return serve_copy(client);
    const auto answered = answer_pings(*connection_);
    // a ping ends when its client leaves
    return answered || answered.error().trouble == Trouble::broken ? Result<void>{} : answered;
  }

  Result<void> serve_copy(const Greeted& client) {
    const bool upload = client.role == Role::upload;
    auto stream =
        Stream::make(std::move(connection_), std::move(ring_), client, upload ? kReplySlot : kDataSlot);
    if (!stream) return Unexpected{stream.error()};
    Observer nobody;
    Budget memory(options_.client_memory, "--client-memory", &common_.memory);
    const auto done = serve_files(**stream, client.role, common_.served, memory, nobody);
    const char* what = upload ? "upload" : "download";
    if (!done) {
      options_.log(name_ + ": " + what + " ended: " + done.error().text);
      return Unexpected{done.error()};
    }
    options_.log(name_ + ": " + what + " of " + std::to_string(done->files) + " files, " +
                 std::to_string(done->bytes) + " bytes, " + std::to_string(done->failures) + " failures");
    (*stream)->connection().linger(Clock::now() + kFarewell);
    if (done->failures != 0) return fail(Trouble::system, "some files were not copied");
    return {};
  }

  Common& common_;
  const ServerOptions& options_;
  Place& place_;
  Listener::Request request_;
  ConnectionPtr connection_;
  OwnRing ring_;
  std::string name_;
};

}  // namespace

struct Server::State {
  explicit State(ServerOptions wanted) : common(std::move(wanted)) {}

  struct Client {
    std::unique_ptr<Place> place = std::make_unique<Place>();
    std::thread thread;
    std::shared_future<Outcome> outcome;
    UniqueFd events;  ///< of its connection, to look at

    bool has_ended() const { return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
    bool is_half_open() const { return !place->proved && !place->evicted && !has_ended(); }
    bool was_left() const {
      pollfd one{events.get(), POLLIN, 0};
      return ::poll(&one, 1, 0) > 0;
    }
  };

  void start(Listener::Request request);
  void make_room();
  bool is_full() const { return clients.size() >= options.max_clients + 2 * options.max_half_open; }
  std::vector<std::shared_future<Outcome>> left_sessions() const;
  void refuse(Listener::Request request) const;
  Result<bool> reap();
  void stop_all();

  Common common;
  const ServerOptions& options = common.options;
  Listener listener;
  UniqueFd ended;             // a session has ended
  std::list<Client> clients;  ///< from the oldest
  Clock::time_point told_of_eviction{};
};

/// Those whose clients are gone, and which do not know it yet or are tidying up.
std::vector<std::shared_future<Outcome>> Server::State::left_sessions() const {
  std::vector<std::shared_future<Outcome>> out;
  for (const Client& client : clients)
    if (client.place->proved && !client.has_ended() && client.was_left()) out.push_back(client.outcome);
  return out;
}

/// Who forges requests keeps nobody out: the connection that has proved nothing for the longest time is let
/// go.
void Server::State::make_room() {
  const auto half_open = std::count_if(clients.begin(), clients.end(),
                                       [](const Client& client) { return client.is_half_open(); });
  if (half_open < static_cast<std::ptrdiff_t>(options.max_half_open)) return;
  const auto oldest = std::find_if(clients.begin(), clients.end(),
                                   [](const Client& client) { return client.is_half_open(); });
  oldest->place->evicted = true;
  eventfd_write(oldest->place->stop.get(), 1);
  if (const auto now = Clock::now(); now - told_of_eviction >= std::chrono::seconds(1)) {
    told_of_eviction = now;
    options.log("more than " + std::to_string(options.max_half_open) +
                " connections have not proved themselves: the oldest make room");
  }
}

// Who kills a copy and starts it again finds the parts that the first has left, not a
// session that still has them.
void Server::State::start(Listener::Request request) {
  make_room();
  auto left = left_sessions();
  std::promise<Outcome> outcome;
  Client& client = clients.emplace_back();
  client.outcome = outcome.get_future();
  client.events = UniqueFd(fcntl(request.events->fd, F_DUPFD_CLOEXEC, 3));
  client.thread = std::thread([this, place = client.place.get(), taken = std::move(request),
                               tidying = std::move(left), done = std::move(outcome)]() mutable {
    const Deadline deadline = Clock::now() + kTidying;
    for (const auto& session : tidying) session.wait_until(deadline);
    done.set_value(Session(common, *place, std::move(taken)).run());
    eventfd_write(ended.get(), 1);
  });
}

void Server::State::refuse(Listener::Request request) const {
  options.log("a client was turned away: " + std::to_string(options.max_clients) + " are there already");
  rdma_reject(request.id.get(), nullptr, 0);
}

/// True when the server has done its work.
Result<bool> Server::State::reap() {
  for (auto client = clients.begin(); client != clients.end();) {
    if (!client->has_ended()) {
      ++client;
      continue;
    }
    client->thread.join();
    const Outcome outcome = client->outcome.get();
    client = clients.erase(client);
    if (!options.once || !outcome.let_in) continue;
    return outcome.result ? Result<bool>(true) : Unexpected{outcome.result.error()};
  }
  return false;
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  for (State::Client& client : state_->clients) client.thread.join();
}

void Server::State::stop_all() {
  for (const Client& client : clients) eventfd_write(client.place->stop.get(), 1);
}

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  if (!state->options.root.empty()) {
    auto root = Tree::open(state->options.root);
    if (!root) return Unexpected{root.error()};
    state->common.served = {std::move(*root), state->options.outside_links};
  }
  auto listener = Listener::open(state->options.address, state->options.port);
  if (!listener) return Unexpected{listener.error()};
  state->listener = std::move(*listener);
  state->ended = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->ended) return fail_errno("eventfd");
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const { return state_->listener.port(); }

Result<void> Server::run() {
  State& state = *state_;
  for (;;) {
    // as many sessions as there may be: the next has to wait until one has come to its end
    std::array<pollfd, 3> waiting{{{state.is_full() ? -1 : state.listener.fd(), POLLIN, 0},
                                   {state.ended.get(), POLLIN, 0},
                                   {state.options.stop_fd, POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return fail_errno("poll");
    if (waiting[2].revents != 0) return state.stop_all(), Result<void>{};
    if (waiting[1].revents != 0) {
      eventfd_t count = 0;
      eventfd_read(state.ended.get(), &count);
      const auto over = state.reap();
      if (!over) return Unexpected{over.error()};
      if (*over) return {};
    }
    if (waiting[0].revents == 0) continue;
    auto request = state.listener.next();
    if (!request) {
      if (request.error().trouble == Trouble::broken) return Unexpected{request.error()};
      state.options.log(request.error().text);
    } else if (*request) {
      if (state.common.inside < state.options.max_clients)
        state.start(std::move(**request));
      else
        state.refuse(std::move(**request));
    }
  }
}

}  // namespace softrnic::copy
