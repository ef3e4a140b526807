// Words as execve(2) and its relatives take them.
#pragma once

#include <string>
#include <vector>

namespace softrnic {

/// Pointers to the words, and a null pointer at the end. Valid as long as `words` is left alone.
inline std::vector<char*> argument_pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace softrnic
