// The functions of fmt that <fmt/core.h> declares, compiled once: others include that header alone.
#include <fmt/format-inl.h>

// Of its templates those that its own library has instances of.
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
}  // namespace detail
FMT_END_NAMESPACE
