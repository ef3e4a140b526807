# Build options, warnings and sanitizers: one interface target that every target of the project links.
option(SOFTRNIC_TESTS "build tests, fuzzers and benches" ON)
option(SOFTRNIC_WERROR "treat warnings as errors" ON)
set(SOFTRNIC_SANITIZE "" CACHE STRING "sanitizers, comma separated: address,undefined or thread")

add_library(softrnic_options INTERFACE)
target_compile_options(softrnic_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>
  $<$<BOOL:${SOFTRNIC_WERROR}>:-Werror>)
target_include_directories(softrnic_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(softrnic_options INTERFACE _GNU_SOURCE)
if(SOFTRNIC_SANITIZE)
  target_compile_options(softrnic_options INTERFACE -fsanitize=${SOFTRNIC_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -g)
  target_link_options(softrnic_options INTERFACE -fsanitize=${SOFTRNIC_SANITIZE})
endif()
