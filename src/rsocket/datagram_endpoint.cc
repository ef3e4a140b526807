#include "rsocket/datagram_endpoint.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>

namespace softrnic::rsocket {
namespace {

constexpr std::size_t kReceiveSlot = kGrhSize + kDatagramRoom;
constexpr int kResolveTimeoutMs = 2000;
constexpr std::uint32_t kIndexMask = 0xffff;

std::uint16_t fitting(std::uint16_t requests, std::uint32_t buffer, int most) {
  const auto room = static_cast<std::uint32_t>(buffer / kDatagramRoom);
  const std::uint32_t limit =
      std::min<std::uint32_t>(kMostQueue, static_cast<std::uint32_t>(std::max(most, 1)));
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(
      std::min<std::uint32_t>(requests, room), std::min<std::uint32_t>(kLeastQueue, limit), limit));
}

/// The index of `gid` among those of the port.
Result<std::uint8_t> gid_index(ibv_context* device, std::uint8_t port, const ibv_gid& gid) {
  ibv_port_attr attributes{};
  if (const int error = ibv_query_port(device, port, &attributes); error != 0) return fail(error);
  for (int i = 0; i < attributes.gid_tbl_len && i <= 0xff; ++i) {
    ibv_gid entry{};
    if (ibv_query_gid(device, port, i, &entry) == 0 && std::memcmp(&entry, &gid, sizeof gid) == 0)
      return static_cast<std::uint8_t>(i);
  }
  return fail(ENODEV);
}

}  // namespace

Sizes datagram_sizes(Sizes wanted, int most_requests) {
  wanted.send_queue = fitting(wanted.send_queue, wanted.send_buffer, most_requests);
  wanted.receive_queue = fitting(wanted.receive_queue, wanted.receive_buffer, most_requests);
  wanted.send_buffer = static_cast<std::uint32_t>(wanted.send_queue * kDatagramRoom);
  wanted.receive_buffer = static_cast<std::uint32_t>(wanted.receive_queue * kDatagramRoom);
  return wanted;
}

Result<std::unique_ptr<DatagramEndpoint>> DatagramEndpoint::make(const InetAddress& local, int family,
                                                                 const Sizes& wanted) {
  std::unique_ptr<DatagramEndpoint> made(new DatagramEndpoint(local, family));
  if (auto done = made->bind(); !done) return fail(done.error());
  if (auto done = made->make_queues(wanted); !done) return fail(done.error());
  if (auto done = made->make_memory(); !done) return fail(done.error());
  for (std::uint32_t slot = 0; slot < made->sizes_.receive_queue; ++slot) made->give_back(slot);
  return made;
}

DatagramEndpoint::~DatagramEndpoint() {
  if (queue_pair_made_) rdma_destroy_qp(id_.get());
}

// The port of rdma_cm's own is any: nobody connects to it. A loopback address that no device has means any
// device, which one only the resolution tells; between addresses of one host it waits for nobody.
Result<void> DatagramEndpoint::bind() {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_UDP) != 0) return fail_errno();
  id_.reset(id);
  InetAddress any_port = local_;
  any_port.port = 0;
  sockaddr_storage address = any_port.as_own();
  if (rdma_bind_addr(id, generic(address)) != 0) return fail_errno();
  if (id->verbs != nullptr) return {};
  address = local_.as_own();
  if (rdma_resolve_addr(id, nullptr, generic(address), kResolveTimeoutMs) != 0) return fail_errno();
  if (id->verbs == nullptr) return fail(ENODEV);
  return {};
}

Result<void> DatagramEndpoint::make_queues(const Sizes& wanted) {
  ibv_device_attr device{};
  if (const int error = ibv_query_device(id_->verbs, &device); error != 0) return fail(error);
  sizes_ = datagram_sizes(wanted, device.max_qp_wr);
  if (auto queue = queue_.make(id_->verbs, sizes_.send_queue + sizes_.receive_queue); !queue) return queue;
  ibv_qp_init_attr asked{};
  asked.send_cq = asked.recv_cq = queue_.get();
  asked.qp_type = IBV_QPT_UD;
  asked.sq_sig_all = 1;
  asked.cap.max_send_wr = sizes_.send_queue;
  asked.cap.max_recv_wr = sizes_.receive_queue;
  asked.cap.max_send_sge = asked.cap.max_recv_sge = 1;
  asked.cap.max_inline_data = sizes_.inline_data;
  if (rdma_create_qp(id_.get(), id_->pd, &asked) != 0) return fail_errno();
  queue_pair_made_ = true;
  sizes_.inline_data = static_cast<std::uint16_t>(std::min<std::uint32_t>(asked.cap.max_inline_data, 0xffff));
  return {};
}

Result<void> DatagramEndpoint::make_memory() {
  if (auto made = send_.make(id_->pd, sizes_.send_queue * kDatagramRoom, false); !made) return made;
  if (auto made = receive_.make(id_->pd, sizes_.receive_queue * kReceiveSlot, false); !made) return made;
  free_.resize(sizes_.send_queue);
  for (std::size_t i = 0; i < free_.size(); ++i) free_[i] = static_cast<std::uint16_t>(i);
  return {};
}

Result<AddressHandlePtr> DatagramEndpoint::address_handle(const ibv_sa_path_rec& path) const {
  const auto index = gid_index(id_->verbs, id_->port_num, path.sgid);
  if (!index) return fail(index.error());
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.grh.dgid = path.dgid;
  attributes.grh.flow_label = __builtin_bswap32(path.flow_label);
  attributes.grh.sgid_index = *index;
  attributes.grh.hop_limit = path.hop_limit;
  attributes.grh.traffic_class = path.traffic_class;
  attributes.dlid = __builtin_bswap16(path.dlid);
  attributes.sl = path.sl;
  attributes.static_rate = path.rate;
  attributes.port_num = id_->port_num;
  AddressHandlePtr made(ibv_create_ah(id_->pd, &attributes));
  if (made == nullptr) return fail_errno();
  return made;
}

Result<void> DatagramEndpoint::send(ibv_ah* to, std::uint32_t qpn, Gather& from) {
  const std::uint16_t slot = free_.back();
  const std::size_t at = slot * kDatagramRoom;
  const std::size_t size = from.left();
  std::ranges::copy(header_.bytes(), send_.bytes().begin() + static_cast<std::ptrdiff_t>(at));
  from.copy(send_.bytes().subspan(at + header_.size(), size));
  ibv_sge part{send_.address() + at, static_cast<std::uint32_t>(header_.size() + size), send_.lkey()};
  ibv_send_wr request{};
  request.wr_id = work_id(Work::data, slot);
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = part.length <= sizes_.inline_data ? unsigned{IBV_SEND_INLINE} : 0U;
  request.wr.ud = {to, qpn, RDMA_UDP_QKEY};
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(id_->qp, &request, &bad); error != 0) return fail(error);
  free_.pop_back();
  return {};
}

void DatagramEndpoint::give_back(std::uint32_t slot) {
  ibv_sge part{receive_.address() + slot * kReceiveSlot, kReceiveSlot, receive_.lkey()};
  ibv_recv_wr request{};
  request.wr_id = work_id(Work::receive, slot);
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  static_cast<void>(ibv_post_recv(id_->qp, &request, &bad));  // only a QP that has failed refuses
}

/// The address in the header has to be that of the packet. A loopback address stands for whatever address the
/// device has that talks to itself.
DatagramEndpoint::Arrival DatagramEndpoint::arrival(const ibv_wc& completion) const {
  Arrival out;
  out.slot = static_cast<std::uint32_t>(completion.wr_id) & kIndexMask;
  if (completion.byte_len < kGrhSize || completion.byte_len > kReceiveSlot) return out;
  out.size = completion.byte_len - static_cast<std::uint32_t>(kGrhSize);
  const Bytes slot = Bytes(receive_.bytes()).subspan(out.slot * kReceiveSlot, completion.byte_len);
  const auto message = decode_datagram(slot.subspan(kGrhSize));
  if (!message) return out;
  out.sender = message->sender;
  out.payload = message->payload;
  if (out.sender.is_link_local()) out.sender.scope = local_.scope;
  const auto grh = slot.first<kGrhSize>();
  const InetAddress source = packet_source(grh);
  out.good = out.sender.host == source.host ||
             (out.sender.is_loopback() && source.host == packet_destination(grh).host);
  return out;
}

// All of them: what lies in an armed queue wakes nobody.
bool DatagramEndpoint::take_completions(std::vector<Arrival>& arrivals) {
  std::array<ibv_wc, 16> completions;
  for (bool any = false;; any = true) {
    const int count = ibv_poll_cq(queue_.get(), static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i) take(completions[i], arrivals);
    if (count < static_cast<int>(completions.size())) return any || count > 0;
  }
}

void DatagramEndpoint::take(const ibv_wc& completion, std::vector<Arrival>& arrivals) {
  const auto slot = static_cast<std::uint32_t>(completion.wr_id) & kIndexMask;
  if (work_of(completion.wr_id) != Work::receive) {
    free_.push_back(static_cast<std::uint16_t>(slot));
  } else if (completion.status == IBV_WC_SUCCESS) {
    arrivals.push_back(arrival(completion));
  } else if (completion.status != IBV_WC_WR_FLUSH_ERR) {
    give_back(slot);
  }
}

}  // namespace softrnic::rsocket
