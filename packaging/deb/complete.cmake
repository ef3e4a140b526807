# Run by CPack between the install rules and the making of the packages: compressed manual pages, a change log, the
# licence, the units of systemd, and times that do not depend on when it was built.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(complete_documents root package)
  set(documents ${root}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${documents})
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # that of SOURCE_DATE_EPOCH
  set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${documents}/changelog.Debian "softrnic (${version}) unstable; urgency=medium\n\n"
    "  * Version ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  run(gzip -9n ${documents}/changelog.Debian)
  configure_file(${CPACK_SOFTRNIC_DEB}/copyright ${documents}/copyright COPYONLY)
endfunction()

set(runtime ${CPACK_TEMPORARY_DIRECTORY}/runtime)
set(development ${CPACK_TEMPORARY_DIRECTORY}/development)
complete_documents(${runtime} softrnic)
complete_documents(${development} softrnic-dev)
file(GLOB pages ${runtime}/usr/share/man/*/*)
run(gzip -9n ${pages})
foreach(of user system)
  file(COPY ${CPACK_SOFTRNIC_DEB}/${of} DESTINATION ${runtime}/usr/lib/systemd)
endforeach()
run(find ${CPACK_TEMPORARY_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +)
