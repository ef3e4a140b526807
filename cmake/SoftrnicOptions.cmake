# Build options, warnings and sanitizers: one interface target that every target of the project links.
option(SOFTRNIC_TESTS "build tests, fuzzers and benches" ON)
option(SOFTRNIC_WERROR "treat warnings as errors" ON)
option(SOFTRNIC_FUZZ "build the fuzzers with libFuzzer (clang only); without it they only replay their corpus" OFF)
option(SOFTRNIC_LINE_TABLES_ONLY "functions and lines to debug by, no variables and types" OFF)
set(SOFTRNIC_UNITY 0 CACHE STRING "how many files of what is not on the data path are compiled as one; 0: each by itself")
set(SOFTRNIC_LINKER "" CACHE STRING "linker of test programs: mold, lld …; by default mold where it is, else the compiler's")
set(SOFTRNIC_SANITIZE "" CACHE STRING "sanitizers, comma separated: address,undefined or thread")

add_library(softrnic_options INTERFACE)
target_compile_options(softrnic_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wunused-const-variable=1> # clang has it in -Wall
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>
  $<$<BOOL:${SOFTRNIC_WERROR}>:-Werror>)
# The code is the same without names of variables and types, and a quarter of the compiler's time goes into these.
if(SOFTRNIC_LINE_TABLES_ONLY AND NOT CMAKE_BUILD_TYPE STREQUAL "Warnings")  # which has nothing to debug by
  target_compile_options(softrnic_options INTERFACE -g1)
endif()
# GCC takes files of a unity for headers, whose classes should not be made of what is theirs alone; and GCC 12 sees a move of a
# short std::string that it has inlined reach behind the string (its bug 105329). The compilers of the other presets say more.
if(SOFTRNIC_UNITY)
  target_compile_options(softrnic_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()
target_include_directories(softrnic_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(softrnic_options INTERFACE _GNU_SOURCE)
if(SOFTRNIC_SANITIZE)
  # Build type "Sanitized": little optimisation and line numbers only, because these builds are for one run. A target
  # asks for another level by a property: options of its own would stand before these and lose.
  set(level $<TARGET_PROPERTY:SOFTRNIC_SANITIZED_OPTIMISATION>)
  target_compile_options(softrnic_options INTERFACE -fsanitize=${SOFTRNIC_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<IF:$<BOOL:${level}>,${level},-O1> -g1)
  target_link_options(softrnic_options INTERFACE -fsanitize=${SOFTRNIC_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # Programs of C call functions of enumerations as functions of ints.
    target_compile_options(softrnic_options INTERFACE -fno-sanitize=function)
    if(SOFTRNIC_SANITIZE MATCHES address)  # as GCC says it
      target_compile_definitions(softrnic_options INTERFACE __SANITIZE_ADDRESS__)
    endif()
    # The runtime is a library, as with GCC: a program and the drop-in libraries have one together, and programs that
    # are not instrumented can be given it. It is not where the loader looks.
    if(NOT SOFTRNIC_FUZZ)
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-runtime-dir OUTPUT_VARIABLE runtime
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
      target_link_options(softrnic_options INTERFACE -shared-libsan -Wl,-rpath,${runtime})
    endif()
  endif()
  # GCC warns without cause of what it has instrumented and read from precompiled headers, so its preset does not take
  # these for errors; but this one says that a sanitizer sees less than the processor does.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND SOFTRNIC_SANITIZE STREQUAL thread)
    target_compile_options(softrnic_options INTERFACE -Werror=tsan)
  endif()
endif()

# A message goes through small functions of several layers. The drop-in library of verbs is optimised as a whole, so that they
# cost less; everything else is linked from the same objects as they are, which takes less time to build.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT SOFTRNIC_SANITIZE)
  target_compile_options(softrnic_options INTERFACE
    $<$<BOOL:$<TARGET_PROPERTY:SOFTRNIC_ON_THE_DATA_PATH>>:-flto=auto;-ffat-lto-objects>)
  target_link_options(softrnic_options INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:SOFTRNIC_OPTIMISED_AS_A_WHOLE>>,-flto=auto,-fno-lto>)
endif()

# Test programs are many, and each takes in whole layers: a linker of several threads serves there. What is installed is linked
# by the compiler's own, so that it does not depend on what else is on the machine.
if(NOT SOFTRNIC_LINKER AND NOT CMAKE_CROSSCOMPILING)
  find_program(SOFTRNIC_MOLD NAMES mold ld.mold)
  if(SOFTRNIC_MOLD)
    set(SOFTRNIC_LINKER mold)
  endif()
endif()

# ccache makes a second build of any tree quick; it is used when it is there and nothing else was chosen.
find_program(SOFTRNIC_CCACHE ccache)
if(SOFTRNIC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${SOFTRNIC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SOFTRNIC_CCACHE})
endif()
