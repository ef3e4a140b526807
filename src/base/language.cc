#include "base/language.h"

#include <atomic>

namespace softrnic {
namespace {

std::atomic<Language> chosen_language{Language::english};

}  // namespace

Language language() { return chosen_language.load(std::memory_order_relaxed); }

void set_language(Language chosen) { chosen_language.store(chosen, std::memory_order_relaxed); }

}  // namespace softrnic
