# Installation: the command, the modules as static libraries with their headers, and find_package(unfold), which defines
# unfold::unfold (everything) and one target for each module.
include(CMakePackageConfigHelpers)

set(libraries ${modules})
list(TRANSFORM libraries PREPEND unfold_)

install(TARGETS unfold_all ${libraries} unfold_c EXPORT unfold-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT development)
foreach(module ${modules})
  install(DIRECTORY src/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/unfold COMPONENT development
          FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN "cuda_*.h" EXCLUDE)
endforeach()
install(DIRECTORY include/unfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(TARGET unfold_shared)
  install(TARGETS unfold_shared EXPORT unfold-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT library NAMELINK_COMPONENT development)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development FILES_MATCHING PATTERN "*.cpp" PATTERN "*.c")
if(TARGET unfold_command)
  set_target_properties(unfold_command PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS unfold_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/unfold)
install(EXPORT unfold-targets NAMESPACE unfold:: DESTINATION ${package_dir} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/unfold-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/unfold-config.cmake.in ${PROJECT_BINARY_DIR}/unfold-config.cmake
                              INSTALL_DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/unfold-config.cmake ${PROJECT_BINARY_DIR}/unfold-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)
