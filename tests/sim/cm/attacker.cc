#include "tests/sim/cm/attacker.h"

#include <algorithm>

#include "mad/class_port_info.h"
#include "tests/sim/cm/world.h"

namespace softrnic::sim::cm_world {
namespace {

using cm::Message;

constexpr std::size_t kRemembers = 64;

wire::Gid gid(std::uint8_t net, std::uint32_t host) {
  return wire::Gid::from_ipv4_be(__builtin_bswap32(std::uint32_t{net} << 24 | (host & 0xffff)));
}
const wire::Gid kOwn = gid(12, 1);

void give_token(auto& message, std::uint64_t token) { store_be64(message.private_data.data(), token); }

}  // namespace

Attacker::Attacker(World& world, std::uint64_t seed, Knowledge knowledge)
    : world_(world), rng_(seed), knowledge_(knowledge) {}

bool Attacker::is_nowhere(const wire::Gid& address) {
  return (__builtin_bswap32(address.ipv4_be()) >> 24) == 11;
}
wire::Gid Attacker::nowhere() { return gid(11, number() % 50); }

void Attacker::overhear(std::size_t to, const mad::Mad& mad) {
  const auto message = static_cast<Message>(load_be16(&mad[16]));
  if (message == Message::req) {
    const auto req = cm::decode<cm::Req>(mad);
    queue_pairs_[req.local_id] = req.qpn;
    of_peers_.emplace_back(req.ca_guid, req.qpn);
  } else if (message == Message::rep) {
    const auto rep = cm::decode<cm::Rep>(mad);
    queue_pairs_[rep.local_id] = rep.qpn;
  }
  if (of_peers_.size() > kRemembers) of_peers_.pop_front();
  overheard_.push_back({to, mad});
  if (overheard_.size() > kRemembers) overheard_.pop_front();
}

cm::Req Attacker::request() {
  cm::Req req;
  req.local_id = number();
  req.service_id = kService;
  req.ca_guid = rng_.next();
  req.qpn = Qpn(number() & 0xffffff);
  req.mtu = 3;
  req.max_cm_retries = 15;
  req.local_response_timeout = rng_.chance(0.5) ? 0 : 31;
  give_token(req, next_token_++);
  return req;
}

cm::SidrReq Attacker::question() {
  cm::SidrReq req;
  req.request_id = number();
  req.service_id = kService;
  give_token(req, next_token_++);
  return req;
}

void Attacker::act() {
  if (knowledge_ == Knowledge::ids && rng_.chance(0.6)) return use_ids();
  const std::size_t to = rng_.below(world_.node_count());
  switch (rng_.below(5)) {
    case 0:
      return send_noise(to);
    case 1:
      return flood(to);
    case 2:
      return name_a_queue_pair(to);
    case 3:
      return guess(to);
    default:
      return connect_itself(to);
  }
}

void Attacker::send_noise(std::size_t to) {
  mad::Mad mad;
  for (std::byte& byte : mad) byte = static_cast<std::byte>(rng_.next());
  if (rng_.chance(0.8)) {
    mad::Header header;
    header.management_class = mad::ManagementClass::communication;
    header.class_version = rng_.chance(0.9) ? cm::kClassVersion : 1;
    header.method = rng_.chance(0.7) ? mad::Method::send : mad::Method::get;
    header.attribute = static_cast<std::uint16_t>(rng_.chance(0.2) ? mad::kClassPortInfo : rng_.below(32));
    mad::encode_header(header, mad);
  }
  // What looks like a request, is one of its own.
  store_be64(&mad[mad::kMadBytes - cm::kReqPrivateData], next_token_++);
  store_be64(&mad[mad::kMadBytes - cm::kSidrReqPrivateData], next_token_++);
  world_.inject(rng_.chance(0.5) ? kOwn : nowhere(), to,
                Bytes(mad).first(rng_.chance(0.9) ? mad.size() : rng_.below(mad.size())));
}

void Attacker::flood(std::size_t to) {
  for (std::uint64_t left = rng_.range(1, 30); left > 0; --left) {
    const wire::Gid from = nowhere();
    if (rng_.chance(0.3)) {
      world_.inject(from, to, cm::encode(question(), rng_.next()));
      continue;
    }
    cm::Req req = request();
    req.primary.local_gid = from;
    req.primary.remote_gid = gid_of(to);
    const mad::Mad mad = cm::encode(req, rng_.next());
    for (std::uint64_t copies = rng_.range(1, 3); copies > 0; --copies) world_.inject(from, to, mad);
  }
}

// The rule of stale connections is for peers that have forgotten theirs (IBTA 12.9.8.3.1).
void Attacker::name_a_queue_pair(std::size_t to) {
  if (of_peers_.empty()) return;
  cm::Req req = request();
  std::tie(req.ca_guid, req.qpn) = of_peers_[rng_.below(of_peers_.size())];
  const bool forges = knowledge_ == Knowledge::addresses && rng_.chance(0.7);
  const wire::Gid from = forges ? gid_of(rng_.below(world_.node_count())) : kOwn;
  req.primary.local_gid = rng_.chance(0.8) ? from : gid_of(rng_.below(world_.node_count()));
  req.primary.remote_gid = gid_of(to);
  world_.inject(from, to, cm::encode(req, rng_.next()));
}

void Attacker::guess(std::size_t to) {
  static constexpr Message kAbout[] = {Message::mra, Message::rej,      Message::rep,
                                       Message::rtu, Message::dreq,     Message::drep,
                                       Message::lap, Message::sidr_rep, Message::apr};
  mad::Mad mad = cm::encode(cm::Rej{.local_id = number(), .remote_id = number()}, rng_.next());
  store_be16(&mad[16], static_cast<std::uint16_t>(rng_.pick(kAbout)));
  const bool forges = knowledge_ == Knowledge::addresses;
  world_.inject(forges ? gid_of(rng_.below(world_.node_count())) : kOwn, to, mad);
}

void Attacker::use_ids() {
  if (overheard_.empty()) return;
  const Overheard& one = overheard_[rng_.below(overheard_.size())];
  mad::Mad mad = one.mad;
  const auto message = static_cast<Message>(load_be16(&mad[16]));
  if (message == Message::req || message == Message::sidr_req) {
    store_be64(
        &mad[mad::kMadBytes - (message == Message::req ? cm::kReqPrivateData : cm::kSidrReqPrivateData)],
        next_token_++);
  } else if (rng_.chance(0.8)) {
    static constexpr Message kEnds[] = {Message::dreq, Message::rej, Message::drep, Message::rtu,
                                        Message::mra};
    const Message as = rng_.pick(kEnds);
    store_be16(&mad[16], static_cast<std::uint16_t>(as));
    const std::uint32_t id = load_be32(&mad[mad::kHeaderBytes + 4]);
    if (as == Message::dreq) store_be24(&mad[mad::kHeaderBytes + 8], queue_pairs_[id].value);
  }
  world_.inject(rng_.chance(0.5) ? kOwn : nowhere(), one.to, mad);
}

void Attacker::connect_itself(std::size_t to) {
  cm::Req req = request();
  req.primary.local_gid = kOwn;
  req.primary.remote_gid = gid_of(to);
  req.remote_response_timeout = 12;
  world_.inject(kOwn, to, cm::encode(req, rng_.next()));
}

// It goes on with what it began, one way or the other.
void Attacker::receive(const mad::Address& address, std::size_t from, const mad::Mad& mad) {
  const auto message = static_cast<Message>(load_be16(&mad[16]));
  if (address.remote != kOwn || (message != Message::rep && message != Message::dreq)) return;
  const auto ids = cm::decode<cm::Rtu>(mad);
  cm::Rtu answer;
  answer.local_id = ids.remote_id;
  answer.remote_id = ids.local_id;
  static constexpr Message kAnswers[] = {Message::rtu, Message::rtu, Message::mra, Message::rej,
                                         Message::drep};
  mad::Mad out = cm::encode(answer, load_be64(&mad[8]));
  store_be16(&out[16], static_cast<std::uint16_t>(rng_.pick(kAnswers)));
  world_.inject(kOwn, from, out);
}

}  // namespace softrnic::sim::cm_world
