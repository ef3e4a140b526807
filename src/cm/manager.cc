#include "cm/manager.h"

#include "cm/core.h"

namespace softrnic::cm {

Manager::Manager(Host& host, std::uint64_t ca_guid, const Limits& limits)
    : core_(std::make_unique<Core>(host, ca_guid, limits)) {}
Manager::~Manager() = default;

Expected<Id, Failure> Manager::listen(ServiceId service_id, std::uint64_t mask) {
  return core_->listen(service_id, mask);
}
void Manager::unlisten(Id listener) { core_->unlisten(listener); }
Expected<void, Failure> Manager::reply(Id id, const Reply& reply, TimePoint now) {
  return core_->reply(id, reply, now);
}
Expected<void, Failure> Manager::delay(Id id, std::uint8_t service_timeout, Bytes private_data,
                                       TimePoint now) {
  return core_->delay(id, service_timeout, private_data, now);
}
Expected<void, Failure> Manager::established(Id id, TimePoint now) { return core_->established(id, now); }
Expected<Id, Failure> Manager::connect(const Request& request, TimePoint now) {
  return core_->connect(request, now);
}
Expected<void, Failure> Manager::confirm(Id id, Bytes private_data, TimePoint now) {
  return core_->confirm(id, private_data, now);
}
Expected<void, Failure> Manager::reject(Id id, const Rejection& rejection, TimePoint now) {
  return core_->reject(id, rejection, now);
}
Expected<void, Failure> Manager::disconnect(Id id, Bytes private_data, TimePoint now) {
  return core_->disconnect(id, private_data, now);
}
Expected<void, Failure> Manager::disconnect_reply(Id id, Bytes private_data, TimePoint now) {
  return core_->disconnect_reply(id, private_data, now);
}
void Manager::destroy(Id id, TimePoint now) { core_->destroy(id, now); }
Expected<Id, Failure> Manager::request_service_id(const SidrRequest& request, TimePoint now) {
  return core_->request_service_id(request, now);
}
Expected<void, Failure> Manager::answer(Id id, const SidrReply& reply, TimePoint now) {
  return core_->answer(id, reply, now);
}
void Manager::receive(const mad::Address& from, Bytes mad, TimePoint now) { core_->receive(from, mad, now); }
void Manager::advance(TimePoint now) { core_->advance(now); }
TimePoint Manager::deadline() const { return core_->deadline(); }
std::optional<State> Manager::state(Id id) const { return core_->state(id); }
std::size_t Manager::size() const { return core_->size(); }

}  // namespace softrnic::cm
