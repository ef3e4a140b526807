#include "transport/ib/path_migration.h"

#include <utility>

namespace softrnic::ib {
namespace {

bool came_by(const RxPacket& packet, const AddressVector& path) {
  return packet.source == path.destination && packet.destination == path.source;
}

}  // namespace

PathNews PathMigration::hear(const RxPacket& packet) {
  const bool of_path = packet.source == attributes_.path.destination;
  if (of_path) awaits_peer_ = false;
  if (attributes_.migration == Migration::migrated) return PathNews::none;
  const AddressVector& alternate = attributes_.alternate.path;
  if (!packet.packet.headers.bth.migration_request) {
    if (ready() || !of_path) return PathNews::none;
    attributes_.migration = Migration::armed;
    return PathNews::armed;
  }
  // One that comes by both says nothing before the peer is armed: it says so from the beginning.
  if (came_by(packet, alternate) && (ready() || !of_path)) return PathNews::migrated;
  if (!ready()) return PathNews::none;
  const bool concerns_us = of_path || packet.source == alternate.destination;
  return concerns_us && !std::exchange(refused_, true) ? PathNews::refused : PathNews::none;
}

}  // namespace softrnic::ib
