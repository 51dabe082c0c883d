# `make package` creates three .deb files for the current system: unfold (the command with manual pages and
# completions), libunfold (the shared library) and libunfold-dev (headers, static modules, find_package).
# tools/manual.sh must have written the manual pages to the build folder.
install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command OPTIONAL)
install(FILES tools/completions/unfold.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME unfold COMPONENT command)
install(FILES tools/completions/_unfold DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT command)
install(FILES tools/completions/unfold.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT command)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME unfold)
set(CPACK_PACKAGE_CONTACT "The Unfold project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME unfold)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command unfold: trains models of sequences, predicts, scores, compresses.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libunfold)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The C interface of Unfold as a shared library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libunfold-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Dependencies that unfold-config.cmake looks for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libunfold (= ${PROJECT_VERSION}), libhwy-dev, libfmt-dev, nlohmann-json3-dev, libtomlplusplus-dev, zlib1g-dev, liblzma-dev, libzstd-dev, libutf8proc-dev, libpcre2-dev, libsodium-dev, libpng-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and static libraries of Unfold, for C++ and C.")
include(CPack)
