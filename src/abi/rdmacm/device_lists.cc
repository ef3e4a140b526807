// rdma_get_devices.
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/session.h"

namespace softrnic::rdmacm {
namespace {

/// What the program gets is `contexts`; the session before it keeps them open.
struct List {
  std::shared_ptr<Session> session;
  std::vector<ibv_context*> contexts;
};

/// The lists that the program has, by their first element: they are freed by that.
struct Lists {
  std::mutex mutex;
  std::vector<std::unique_ptr<List>> lists;
};

Lists& all_lists() {
  static auto* const lists = new Lists;
  return *lists;
}

Expected<ibv_context**, Failure> make_list(int* count) {
  auto session = current_session();
  if (!session) return Unexpected{session.error()};
  auto contexts = (*session)->devices.all();
  if (!contexts) return Unexpected{contexts.error()};
  const std::size_t size = contexts->size();
  contexts->push_back(nullptr);
  Lists& all = all_lists();
  const std::lock_guard lock(all.mutex);
  all.lists.emplace_back(new List{std::move(*session), std::move(*contexts)});
  if (count != nullptr) *count = static_cast<int>(size);
  return all.lists.back()->contexts.data();
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT ibv_context** rdma_get_devices(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  return abi::pointer_call([&] { return make_list(num_devices); });
}

SOFTRNIC_EXPORT void rdma_free_devices(ibv_context** list) {
  Lists& all = all_lists();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.lists, [list](const auto& known) { return known->contexts.data() == list; });
}
