# Installation: headers, the rooms as static libraries, the command, and find_package(unfold) with unfold::unfold.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY UNFOLD_ROOMS)
add_library(unfold_all INTERFACE)
add_library(unfold::unfold ALIAS unfold_all)
set_target_properties(unfold_all PROPERTIES EXPORT_NAME unfold)
target_link_libraries(unfold_all INTERFACE ${rooms})

install(TARGETS unfold_all ${rooms} EXPORT unfold-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS unfold_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY unfold DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
install(EXPORT unfold-targets NAMESPACE unfold:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/unfold)
write_basic_package_version_file(unfold-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/unfold-config.cmake.in unfold-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/unfold)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/unfold-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/unfold-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/unfold)
