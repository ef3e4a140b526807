// On glibc 2.34, where there is no _dl_find_object: an exception finds its way by the one that the product
// brings. dlsym() of this program finds nothing, as there.
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

int g_looked = 0;

[[gnu::noinline]] int thrown(int depth) {
  if (depth == 0) throw std::runtime_error("out of " + std::to_string(g_looked));
  return thrown(depth - 1) + 1;
}

}  // namespace

extern "C" void* dlsym(void*, const char*) noexcept {
  ++g_looked;
  return nullptr;
}

int main() {
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      thrown(i);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  std::printf("%d of 3 exceptions caught, %d look for what glibc has\n", caught, g_looked);
  return caught == 3 && g_looked == 1 ? 0 : 1;
}
