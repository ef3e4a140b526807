# softrnic_*.deb and softrnic-dev_*.deb, by CPack; scripts/package runs it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME softrnic)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "softrnic maintainers <maintainers@softrnic.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# What Debian wants beside the files of the install rules is added where they were put together.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/complete.cmake)
set(CPACK_SOFTRNIC_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_SOFTRNIC_DEB ${CMAKE_CURRENT_LIST_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0softrnic1)  # less than the 1 of a package that Debian would make
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME softrnic)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${SOFTRNIC_DROPIN_DIR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "ibverbs-utils, perftest, rdmacm-utils")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CPACK_SOFTRNIC_DEB}/postinst ${CPACK_SOFTRNIC_DEB}/prerm
  ${CPACK_SOFTRNIC_DEB}/postrm)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "RDMA adapter made of software
Programs written for InfiniBand or RoCE adapters (verbs, rdma_cm) run with
no adapter, no kernel module and no root: 'softrnic run -- PROGRAM' gives
them libraries with the symbols of rdma-core, whose packets are RoCEv2 over
ordinary UDP. The libraries of rdma-core stay as they are.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME softrnic-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "softrnic (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libibverbs-dev, librdmacm-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "RDMA adapter made of software - development files
CMake package and pkg-config files for programs that are linked with the
libraries of softrnic, so that they need no 'softrnic run', and a C++ library
that reads and writes packets of RoCEv2.")
include(CPack)
