#include "tests/sim/trace.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "wire/headers.h"

namespace softrnic::sim {

namespace {

using U = unsigned long long;

const char* const kWhat[] = {"post",    "sent",      "LOST",      "DUPLICATED", "CORRUPTED", "delayed",
                             "arrived", "send_done", "recv_done", "event",      "take",      "take_none",
                             "repost",  "expire",    "drained",   "action",     "explain",   "execute"};

std::string packet_text(const Record& r) {
  const wire::OpcodeInfo* info = wire::find_opcode(static_cast<std::uint8_t>(r.a));
  return format("%s psn %llu -> qp %llx%s%s len %llu syn %02llx",
                info ? std::string(info->name).c_str() : "?", U{r.b & 0xffffff}, U{(r.b >> 24) & 0xffffff},
                (r.b >> 48) & 1 ? " A" : "", (r.b >> 49) & 1 ? " SE" : "", U{r.c & 0xffffff},
                U{(r.c >> 32) & 0xff});
}

std::string line(const Record& r) {
  const double us = static_cast<double>(r.at.time_since_epoch().count()) / 1000.0;
  std::string text = format("%14.3f us  node %u  %-10s ", us, r.node, kWhat[static_cast<int>(r.what)]);
  switch (r.what) {
    case What::posted:
      return text + format("wr %llu %s len %llu", U{r.a}, name(static_cast<ib::SendOp>(r.b)), U{r.c});
    case What::send_done:
    case What::recv_done:
      return text + format("wr %llu %s len %llu", U{r.a}, name(static_cast<ib::Status>(r.b)), U{r.c});
    case What::event:
      return text + name(static_cast<ib::QpEvent>(r.a));
    case What::explained:
      return text + describe(r.reason);
    case What::take:
    case What::took_none:
    case What::reposted:
    case What::expired:
    case What::drained:
    case What::action:
    case What::executed:
      return text + format("%llu %llu %llu", U{r.a}, U{r.b}, U{r.c});
    default:
      return text + packet_text(r);
  }
}

}  // namespace

std::string Trace::tail(std::size_t count) const {
  const std::size_t kept = std::min({count, written_, ring_.size()});
  std::string all;
  for (std::size_t i = written_ - kept; i < written_; ++i) all += line(ring_[i % ring_.size()]) + "\n";
  return all;
}

const char* name(ib::SendOp op) {
  static const char* const names[] = {"WRITE",     "WRITE_WITH_IMM",
                                      "SEND",      "SEND_WITH_IMM",
                                      "READ",      "COMPARE_SWAP",
                                      "FETCH_ADD", "LOCAL_INV",
                                      "BIND",      "SEND_WITH_INV",
                                      "?",         "?",
                                      "?",         "?",
                                      "FLUSH",     "ATOMIC_WRITE"};
  return static_cast<std::size_t>(op) < std::size(names) ? names[static_cast<std::size_t>(op)] : "?";
}

const char* name(ib::Status status) {
  static const char* const names[] = {
      "success",       "local_length",     "local_qp_operation", "local_eec",    "local_protection",
      "flushed",       "window_bind",      "bad_response",       "local_access", "remote_invalid_request",
      "remote_access", "remote_operation", "retry_exceeded",     "rnr_exceeded"};
  return static_cast<std::size_t>(status) < std::size(names) ? names[static_cast<std::size_t>(status)] : "?";
}

const char* name(ib::QpType type) {
  static const char* const names[] = {"RC", "UC", "UD", "XRC", "XRC target"};
  return names[static_cast<std::size_t>(type)];
}

const char* name(ib::QpEvent event) {
  static const char* const names[] = {"communication_established",
                                      "fatal",
                                      "request_error",
                                      "access_error",
                                      "send_queue_drained",
                                      "last_wqe_reached",
                                      "path_migrated",
                                      "path_migration_error"};
  return names[static_cast<std::size_t>(event)];
}

std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

}  // namespace softrnic::sim
