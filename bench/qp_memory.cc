// What queue pairs cost: creates RC queue pairs through plain libibverbs and prints bytes of
// resident memory for each.
//
//   qp_memory COUNT
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

long resident_bytes() {
  long total = 0;
  long resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

/// Creates `count` QPs of depth 128 with one SGE, and says what one of them cost. False
/// when one cannot be made.
bool report(ibv_pd* pd, ibv_cq* cq, std::size_t count) {
  std::vector<ibv_qp*> qps;
  qps.reserve(count);
  const long before = resident_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.cap = {128, 128, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(pd, &wanted);
    if (qp == nullptr) break;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
      break;
    qps.push_back(qp);
  }
  const bool all = qps.size() == count;
  if (all) {
    std::printf("memory of a QP (128+128 WRs), of %zu %ld\n", count,
                (resident_bytes() - before) / static_cast<long>(count));
  }
  for (ibv_qp* qp : qps) (void)ibv_destroy_qp(qp);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1000;
  int devices = 0;
  ibv_device** list = ibv_get_device_list(&devices);
  ibv_context* context = list && devices > 0 ? ibv_open_device(list[0]) : nullptr;
  ibv_pd* pd = context ? ibv_alloc_pd(context) : nullptr;
  ibv_cq* cq = context ? ibv_create_cq(context, 1000, nullptr, nullptr, 0) : nullptr;
  if (pd == nullptr || cq == nullptr || count < 1) {
    std::fprintf(stderr, "FAILED: no device, or no memory\n");
    return 1;
  }
  return report(pd, cq, static_cast<std::size_t>(count)) ? 0 : 1;
}
