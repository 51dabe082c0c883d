# Installation: the command, the modules as static libraries with their headers, the shared library of the C interface,
# unfold.pc (C) and unfold-cxx.pc (C++) for pkg-config, and find_package(unfold COMPONENTS ...):
#   cxx     unfold::unfold (everything) and one target for each module; needs the libraries that they use
#   command unfold::command, the command as a function (unfold/command.h)
#   shared  unfold::shared, the C interface; needs no other package
include(CMakePackageConfigHelpers)

set(libraries ${modules})
list(TRANSFORM libraries PREPEND unfold_)

install(TARGETS unfold_all ${libraries} unfold_c EXPORT unfold-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT development)
set_target_properties(unfold_launch PROPERTIES EXPORT_NAME launch)
install(TARGETS unfold_cli unfold_launch EXPORT unfold-command-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT development)
install(DIRECTORY include/unfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(TARGET unfold_shared)
  install(TARGETS unfold_shared EXPORT unfold-shared-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT library NAMELINK_COMPONENT development)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command FILES_MATCHING PATTERN "*.md")
install(DIRECTORY bench/tables DESTINATION ${CMAKE_INSTALL_DATADIR}/unfold COMPONENT command PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development FILES_MATCHING PATTERN "*.cpp" PATTERN "*.c")
if(TARGET unfold_command)
  set_target_properties(unfold_command PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS unfold_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

# unfold_pkg_config(<name>): installs <name>.pc. It derives the prefix from its location, so that an installed tree can be
# moved.
function(unfold_pkg_config name)
  file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/unfold)
if(TARGET unfold_shared)
  install(EXPORT unfold-shared-targets NAMESPACE unfold:: DESTINATION ${package_dir} COMPONENT development)
  unfold_pkg_config(unfold)
endif()
set(static_libraries ${libraries})
list(REVERSE static_libraries)  # a library before those that it uses
list(TRANSFORM static_libraries PREPEND -l)
list(JOIN static_libraries " " static_libraries)
unfold_pkg_config(unfold-cxx)
install(EXPORT unfold-targets NAMESPACE unfold:: DESTINATION ${package_dir} COMPONENT development)
install(EXPORT unfold-command-targets NAMESPACE unfold:: DESTINATION ${package_dir} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unfold-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/unfold-config.cmake.in ${PROJECT_BINARY_DIR}/unfold-config.cmake
                              INSTALL_DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/unfold-config.cmake ${PROJECT_BINARY_DIR}/unfold-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)
