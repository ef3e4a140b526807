// reasons --list: one line a case, its name and its environment. reasons NAME: runs the case.
#include <unistd.h>

#include <cstring>

#include "scene.h"

namespace {

constexpr const reasons::Case* kTables[] = {reasons::kConnectionCases, reasons::kMemoryCases,
                                            reasons::kQueueCases, reasons::kVerbCases};

template <typename Visit>
bool for_each(Visit visit) {
  for (const reasons::Case* table : kTables) {
    for (; table->name != nullptr; ++table) {
      if (visit(*table)) return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "--list") == 0) {
    for_each([](const reasons::Case& one) {
      std::printf("%s %s\n", one.name, one.environment);
      return false;
    });
    return 0;
  }
  std::printf("PID %d\n", getpid());
  const bool found = for_each([argv](const reasons::Case& one) {
    if (std::strcmp(one.name, argv[1]) != 0) return false;
    one.run();
    return true;
  });
  std::printf(found ? "DONE\n" : "no such case\n");
  return found ? 0 : 2;
}
