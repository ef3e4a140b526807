// rdma_resolve_addrinfo and rdma_query_addrinfo.
#include "abi/rdmacm/address_info_request.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/events.h"
#include "abi/rdmacm/later_releases.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {

Expected<void, Failure> AddressInfoRequest::begin() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::none) return rnic::refused(EBUSY, ReasonId::rdma_names_under_way);
  state_ = State::under_way;
  return {};
}

void AddressInfoRequest::cancel() {
  const std::lock_guard lock(mutex_);
  state_ = State::none;
  info_.reset();
}

void AddressInfoRequest::failure_fetched() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::failed) state_ = State::none;
}

Expected<void, control::Error> AddressInfoRequest::finish(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  if (id_ == nullptr) return {};
  const bool resolved = outcome.error == 0;
  state_ = resolved ? State::resolved : State::failed;
  info_ = std::move(outcome.info);
  auto told = id_->session->daemon.write_event(
      id_->number, resolved ? kEventAddressInfoResolved : kEventAddressInfoError, -outcome.error, 0);
  if (!told) {
    state_ = State::none;
    info_.reset();
  }
  return told;
}

Expected<Info, Failure> AddressInfoRequest::take() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::resolved) return rnic::refused(ENOENT, ReasonId::rdma_no_names);
  state_ = State::none;
  return std::move(info_);
}

void AddressInfoRequest::abandon() {
  const std::lock_guard lock(mutex_);
  id_ = nullptr;
  info_.reset();
}

namespace {

using Outcome = AddressInfoRequest::Outcome;

struct Meaning {
  int code, error;
};
// EAI_SYSTEM: errno has it. What is not here is EIO.
constexpr Meaning kMeanings[] = {
    {EAI_NONAME, ENOENT},       {EAI_SERVICE, ENOENT},           {EAI_AGAIN, EAGAIN},    {EAI_MEMORY, ENOMEM},
    {EAI_FAMILY, EAFNOSUPPORT}, {EAI_SOCKTYPE, ESOCKTNOSUPPORT}, {EAI_BADFLAGS, EINVAL},
#ifdef EAI_NODATA  // of the C library's own
    {EAI_NODATA, ENOENT},       {EAI_ADDRFAMILY, EAFNOSUPPORT},
#endif
};

int errno_of(int code) {
  if (code == EAI_SYSTEM) return errno != 0 ? errno : EIO;
  for (const Meaning& meaning : kMeanings)
    if (meaning.code == code) return meaning.error;
  return EIO;
}

Outcome failed(int error) {
  explain({.reason = because(ReasonId::rdma_names_failed, error)});
  return {.info = {}, .error = error};
}

/// As long as it takes.
Expected<Outcome, Failure> look_up(const InfoQuestion& question) {
  Outcome outcome;
  const auto code = resolve(question, 0, outcome.info);
  if (!code) return Unexpected{code.error()};
  if (*code != 0) return failed(errno_of(*code));
  return outcome;
}

/// Without a result when something has to be looked up.
Expected<Outcome, Failure> numbers(const InfoQuestion& question) {
  Outcome outcome;
  const auto code = resolve(question, AI_NUMERICHOST | AI_NUMERICSERV, outcome.info);
  if (!code) return Unexpected{code.error()};
  return outcome;
}

// ---- in a thread of its own

/// A copy of a question about names, and of what its answer takes over from the hints.
class OwnQuestion {
 public:
  explicit OwnQuestion(const InfoQuestion& from) : hinted_(from.hints != nullptr) {
    if (from.node != nullptr) node_ = from.node;
    if (from.service != nullptr) service_ = from.service;
    if (!hinted_) return;
    hints_.ai_flags = from.hints->ai_flags;
    hints_.ai_family = from.hints->ai_family;
    hints_.ai_qp_type = from.hints->ai_qp_type;
    hints_.ai_port_space = from.hints->ai_port_space;
    if (from.hints->ai_src_len == 0) return;
    source_.resize(from.hints->ai_src_len);
    std::memcpy(source_.data(), from.hints->ai_src_addr, source_.size());
    hints_.ai_src_len = from.hints->ai_src_len;
    hints_.ai_src_addr = reinterpret_cast<sockaddr*>(source_.data());
  }
  OwnQuestion(const OwnQuestion&) = delete;
  OwnQuestion& operator=(const OwnQuestion&) = delete;

  InfoQuestion get() const {
    return {node_ ? node_->c_str() : nullptr, service_ ? service_->c_str() : nullptr,
            hinted_ ? &hints_ : nullptr};
  }

 private:
  std::optional<std::string> node_, service_;
  bool hinted_;
  rdma_addrinfo hints_{};
  std::vector<std::byte> source_;
};

struct Job {
  std::shared_ptr<AddressInfoRequest> request;
  OwnQuestion question;
};

/// Nobody can be told when the event cannot be queued; then the daemon has gone, of which all calls tell.
void do_job(void* argument) {
  const std::unique_ptr<Job> job(static_cast<Job*>(argument));
  auto outcome = abi::guarded([&] { return look_up(job->question.get()); });
  const auto done = abi::guarded([&]() -> Expected<void, Failure> {
    static_cast<void>(job->request->finish(outcome ? std::move(*outcome) : failed(outcome.error().error)));
    return {};
  });
  if (!done) job->request->cancel();
}

Expected<void, Failure> look_up_aside(const Id& id, const InfoQuestion& question) {
  std::unique_ptr<Job> job(new Job{id.address_info, OwnQuestion(question)});
  const int error = id.session->sibling->run_aside("softrnic-names", do_job, job.get());
  if (error != 0) return rnic::refused(error, ReasonId::rdma_names_thread, error);
  static_cast<void>(job.release());  // the thread's
  return {};
}

// ---- the calls

Expected<void, Failure> tell(Id& id, Outcome outcome) {
  const std::shared_ptr<AddressInfoRequest> request = id.address_info;
  return start(id, [&](control::CmClient&) { return request->finish(std::move(outcome)); });
}

/// RoCE has no subnet administrator, whatever device the id is bound to.
Expected<void, Failure> ask_subnet_administrator(const Id& id) {
  if (auto bound = id.require_device(); !bound) return bound;
  return rnic::refused(EOPNOTSUPP, ReasonId::rdma_service_records);
}

/// A synchronous id waits anyway. With a libibverbs.so.1 that lends no threads all wait, as they do with
/// librdmacm of rdma-core.
Expected<void, Failure> request_info(Id& id, const InfoQuestion& question) {
  const auto elsewhere = is_for_subnet_administrator(question);
  if (!elsewhere) return Unexpected{elsewhere.error()};
  if (*elsewhere) return ask_subnet_administrator(id);
  auto outcome = numbers(question);
  if (!outcome) return Unexpected{outcome.error()};
  if (outcome->info != nullptr) return tell(id, std::move(*outcome));
  if (!id.synchronous() && id.session->sibling != nullptr) return look_up_aside(id, question);
  outcome = look_up(question);
  if (!outcome) return Unexpected{outcome.error()};
  return tell(id, std::move(*outcome));
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_VERSIONED(int, rdma_resolve_addrinfo, "RDMACM_1.4",
                   (rdma_cm_id * id, const char* node, const char* service, const rdma_addrinfo* hints)) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    if (auto usable = Id::of(id)->session->check(); !usable) return usable;
    const std::shared_ptr<AddressInfoRequest> request = Id::of(id)->address_info;
    if (auto begun = request->begin(); !begun) return begun;
    auto asked = abi::guarded([&] { return request_info(*Id::of(id), {node, service, hints}); });
    if (!asked) request->cancel();
    return asked;
  });
}

SOFTRNIC_VERSIONED(int, rdma_query_addrinfo, "RDMACM_1.4", (rdma_cm_id * id, rdma_addrinfo** info)) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || info == nullptr) return abi::null_argument();
    if (auto usable = Id::of(id)->session->check(); !usable) return usable;
    auto taken = Id::of(id)->address_info->take();
    if (!taken) return Unexpected{taken.error()};
    *info = taken->release();
    return {};
  });
}
