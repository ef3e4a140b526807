# Unities: several files of a target are compiled as one, since most of a build goes into the headers that they share. CMake's
# own name their files by whole paths, so that a compiler cache would be of use to one folder alone; these say #include
# "subnet/qos.cc".

# Layers whose tests simulate whole networks for so long that they repay a compiler's work also with a sanitizer.
set(softrnic_simulated cm cma mad fabric subnet)

# The files of a target that can be put together; those that are compiled in a way of their own stay as they are.
function(_softrnic_files_to_unite target result others)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(files "")
  set(left "")
  foreach(source IN LISTS sources)
    get_source_file_property(own_options ${source} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    get_source_file_property(own_definitions ${source} TARGET_DIRECTORY ${target} COMPILE_DEFINITIONS)
    if(NOT source MATCHES "\\.cc$" OR own_options OR own_definitions)
      list(APPEND left ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    list(APPEND files ${source})
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
  set(${others} ${left} PARENT_SCOPE)
endfunction()

# softrnic_unite(TARGET): every SOFTRNIC_UNITY of its files become one. With a sanitizer they are not optimised, but for layers
# that are simulated.
function(softrnic_unite target)
  string(REPLACE softrnic_ "" layer ${target})
  if(NOT layer IN_LIST softrnic_simulated)
    set_target_properties(${target} PROPERTIES SOFTRNIC_SANITIZED_OPTIMISATION -O0)
  endif()
  _softrnic_files_to_unite(${target} files united)
  list(LENGTH files count)
  get_target_property(binary ${target} BINARY_DIR)
  math(EXPR batches "(${count} + ${SOFTRNIC_UNITY} - 1) / ${SOFTRNIC_UNITY}")
  set(batch 0)
  while(batch LESS batches)  # of the same size, so that none is compiled alone at the end
    math(EXPR first "${batch} * ${count} / ${batches}")
    math(EXPR size "(${batch} + 1) * ${count} / ${batches} - ${first}")
    list(SUBLIST files ${first} ${size} some)
    set(text "")
    foreach(file IN LISTS some)
      foreach(root ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})  # what -I names: the first for all, the second for tests
        cmake_path(IS_PREFIX root ${file} below)
        if(below)
          cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${root})
          break()
        endif()
      endforeach()
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    set(unity ${binary}/${target}.unity/${batch}.cc)
    file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
    list(APPEND united ${unity})
    math(EXPR batch "${batch} + 1")
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${united}")
  # A linker takes whole objects out of an archive, which hold more now than what was asked for; it leaves out sections again
  # (softrnic_runs_anywhere).
  get_target_property(type ${target} TYPE)
  if(type MATCHES LIBRARY AND NOT SOFTRNIC_SANITIZE)
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  endif()
endfunction()

# softrnic_unities(DIRECTORY): for the targets below it that ask for it (SOFTRNIC_COMPILED_TOGETHER), in a unity build.
function(softrnic_unities directory)
  softrnic_targets_below(${directory} targets)
  foreach(target IN LISTS targets)
    get_target_property(wanted ${target} SOFTRNIC_COMPILED_TOGETHER)
    get_target_property(type ${target} TYPE)
    if(wanted AND SOFTRNIC_UNITY AND type MATCHES "LIBRARY$|^EXECUTABLE$")
      softrnic_unite(${target})
    endif()
  endforeach()
endfunction()
