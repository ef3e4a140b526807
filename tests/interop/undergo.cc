// Runs a program in surroundings that tests/robust/hardship.h names: undergo
// without-attach PROGRAM [ARGUMENTS…]
#include <unistd.h>

#include "tests/robust/hardship.h"

int main(int count, char** words) {
  constexpr int kCannot = 126, kNotFound = 127;
  const int used = softrnic::robust::undergo(count, words);
  if (used < 0 || used + 1 >= count) return kCannot;
  execvp(words[used + 1], words + used + 1);
  return kNotFound;
}
