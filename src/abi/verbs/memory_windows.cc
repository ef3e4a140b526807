#include "abi/verbs/memory_windows.h"

#include <memory>

#include "abi/calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"

namespace softrnic::abi {
namespace {

Expected<ibv_mw*, Failure> make_window(ibv_pd* pd, ibv_mw_type type) {
  if (auto given = check_given(pd); !given) return Unexpected{given.error()};
  auto made = rnic::MemoryWindow::create(*Pd::of(pd)->impl, type);
  if (!made) return Unexpected{made.error()};
  auto mw = std::make_unique<Mw>();
  mw->opened = Pd::of(pd)->opened;
  mw->impl = std::move(*made);
  mw->context = pd->context;
  mw->pd = pd;
  mw->rkey = mw->impl->first_key().value;
  mw->type = type;
  mw->handle = mw->opened->next_handle();
  mw->opened->add(*mw->impl);
  return mw.release();
}

Expected<void, Failure> destroy_window(ibv_mw* verbs) {
  Mw* const mw = Mw::of(verbs);
  if (mw->opened->forget(*mw->impl)) {
    const auto done = mw->impl->destroy();
    if (!done) return done;
  }
  delete mw;
  return {};
}

}  // namespace

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  return pointer_call([&] { return alive(make_window(pd, type)); });
}

int dealloc_mw(ibv_mw* mw) {
  return errno_call([&] { return end_life(mw, destroy_window); });
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (qp == nullptr || mw == nullptr || bind == nullptr) return null_argument();
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = bind->wr_id;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = bind->send_flags;
    wr.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info};
    const auto posted = Qp::of(qp)->impl->post_send(&wr, &bad);
    if (posted) mw->rkey = wr.bind_mw.rkey;
    return posted;
  });
}

}  // namespace softrnic::abi
