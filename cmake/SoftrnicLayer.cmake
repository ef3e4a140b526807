set(softrnic_data_path base wire transport rnic link flow samehost engine)

# softrnic_layer(NAME SOURCES … DEPENDS …): one static library a layer; DEPENDS names layers below it. A layer that is
# installed asks nothing of those who link it but its headers.
function(softrnic_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(softrnic_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(softrnic_${name} PUBLIC $<BUILD_INTERFACE:softrnic_options>)
  if(name IN_LIST softrnic_data_path)
    set_target_properties(softrnic_${name} PROPERTIES SOFTRNIC_ON_THE_DATA_PATH ON)
  endif()
  foreach(dep IN LISTS ARG_DEPENDS)
    if(TARGET softrnic_${dep} OR NOT TARGET ${dep})
      target_link_libraries(softrnic_${name} PUBLIC $<BUILD_INTERFACE:softrnic_${dep}>)
    else()
      target_link_libraries(softrnic_${name} PUBLIC $<BUILD_INTERFACE:${dep}>)
    endif()
  endforeach()
endfunction()

# softrnic_runs_anywhere(TARGET): a program or library that needs glibc 2.34 and nothing else of the host, wherever it was
# built. A sanitizer's runtime comes with the program, so builds with one stay as they are.
function(softrnic_runs_anywhere target)
  if(NOT SOFTRNIC_SANITIZE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:softrnic_older_libc>)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  endif()
endfunction()

# What scripts/test builds of each preset besides "all": the tests that are worth a sanitizer, and the product alone.
add_custom_target(sanitized_tests_asan)
add_custom_target(sanitized_tests_tsan)
add_custom_target(product)

# softrnic_sanitized(TARGET LABELS …): puts a test program into the sanitizer builds that its labels ask for:
# ASan+UBSan for unit, golden, sim, fuzz and abi, TSan for threads, none for release-only.
function(softrnic_sanitized target)
  if("release-only" IN_LIST ARGN)
    return()
  endif()
  foreach(label IN LISTS ARGN)
    if(label MATCHES "^(unit|golden|sim|fuzz|abi)$")
      add_dependencies(sanitized_tests_asan ${target})
    elseif(label STREQUAL threads)
      add_dependencies(sanitized_tests_tsan ${target})
    endif()
  endforeach()
endfunction()

# softrnic_test(NAME SOURCES … DEPENDS … [LABELS …] [TIMEOUT s] [PROCESSORS n] [COST s]): one GoogleTest program, one CTest
# entry. PROCESSORS are quarters of a processor (see HACKING.md): a whole one unless it says that it mostly waits.
function(softrnic_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PROCESSORS;COST" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE softrnic_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  if(NOT "sim" IN_LIST ARG_LABELS)  # most of the build is GoogleTest; only the simulator runs long enough to repay -O2
    set_target_properties(${name} PROPERTIES SOFTRNIC_COMPILED_TOGETHER ON)
    if(NOT SOFTRNIC_SANITIZE)
      target_compile_options(${name} PRIVATE -O1 -g1)
    endif()
  endif()
  if(SOFTRNIC_LINKER)
    target_link_options(${name} PRIVATE -fuse-ld=${SOFTRNIC_LINKER})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 4)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS}
    COST ${ARG_COST})
  softrnic_sanitized(${name} ${ARG_LABELS})
endfunction()

# softrnic_targets_below(DIRECTORY RESULT): all of DIRECTORY and its subdirectories.
function(softrnic_targets_below directory result)
  get_property(found DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(children DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(child IN LISTS children)
    softrnic_targets_below(${child} more)
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# softrnic_product_targets(DIRECTORY): everything below DIRECTORY is the product.
function(softrnic_product_targets directory)
  softrnic_targets_below(${directory} targets)
  foreach(target IN LISTS targets)
    add_dependencies(product ${target})
    get_target_property(data_path ${target} SOFTRNIC_ON_THE_DATA_PATH)
    if(NOT data_path)
      set_target_properties(${target} PROPERTIES SOFTRNIC_COMPILED_TOGETHER ON)
    endif()
  endforeach()
endfunction()
