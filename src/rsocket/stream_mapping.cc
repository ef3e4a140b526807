// riomap, riounmap and riowrite: memory of the program that the peer writes directly.
#include <sys/mman.h>

#include <algorithm>
#include <optional>

#include "rsocket/sizes.h"
#include "rsocket/stream_socket.h"

namespace softrnic::rsocket {

Result<off_t> StreamSocket::map(void* address, std::size_t length, int protection, off_t offset) {
  const Lock lock(mutex_);
  if ((protection & ~PROT_WRITE) != 0 || !endpoint_.made() || length > 0xffff'ffff) return fail(EINVAL);
  std::optional<std::size_t> rows;
  if ((protection & PROT_WRITE) != 0) {
    if (!ring_) return fail(ENOTCONN);
    rows = endpoint_.peer().mappings;
  }
  return mapped_.add(endpoint_.domain(), address, length, offset, rows);
}

Result<void> StreamSocket::unmap(void* address, std::size_t length) {
  const Lock lock(mutex_);
  return mapped_.remove(address, length);
}

/// Before the next bytes that are sent: the peer may count on a mapping when it has read them.
Result<void> StreamSocket::tell_mappings(Lock& lock, bool nonblock) {
  while (mapped_.untold() != nullptr) {
    if (auto ready = wait(lock, nonblock, &StreamSocket::can_send_or_never); !ready) return ready;
    if (!connected() || !writable_) return fail(ECONNRESET);
    MappedRegions::Region* const region = mapped_.untold();
    if (region == nullptr) return {};  // another thread has been here
    Mapping mapping = region->mapping();
    const Offer& peer = endpoint_.peer();
    if (peer.big_endian) mapping = swapped(mapping);
    const SendRing::Place place = send_ring_.take(sizeof mapping);
    endpoint_.put(place, &mapping);
    const Segment row{peer.table.address + std::uint64_t{peer.table.length} * sizeof(Segment) +
                          *region->row * sizeof mapping,
                      peer.table.key, sizeof mapping};
    window_.spend_credit();
    if (auto posted = endpoint_.post(Work::mapping, {Op::iomap, *region->row}, place, row); !posted)
      return posted;
    ++sends_;
    region->told = true;
  }
  return {};
}

Result<std::size_t> StreamSocket::write_mapped(Bytes from, off_t offset, int flags) {
  Lock lock(mutex_);
  const bool nonblock = nonblocking(flags);
  if (auto ready = wait_connected(lock, nonblock); !ready) return fail(ready.error());
  if (auto told = tell_mappings(lock, nonblock); !told) return fail(told.error());
  std::size_t done = 0;
  std::uint32_t piece = kFirstPiece;
  while (done < from.size()) {
    const auto mapping = endpoint_.find_mapping(offset + static_cast<off_t>(done));
    if (!mapping) break;
    auto ready = wait(lock, nonblock, &StreamSocket::can_send_or_never);
    if (ready && (!connected() || !writable_)) ready = fail(ECONNRESET);
    if (!ready) return done > 0 ? Result<std::size_t>(done) : fail(ready.error());
    const std::uint64_t into = static_cast<std::uint64_t>(offset) + done - mapping->offset;
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        {from.size() - done, piece, send_ring_.free(), mapping->segment.length - into}));
    piece = std::min(piece * 2, kLargestPiece);
    const SendRing::Place place = send_ring_.take(length);
    endpoint_.put(place, &from[done]);
    const Segment to{mapping->segment.address + into, mapping->segment.key, length};
    if (auto posted = endpoint_.post_write(place, to); !posted) return fail(posted.error());
    ++sends_;
    done += length;
  }
  return done;
}

}  // namespace softrnic::rsocket
