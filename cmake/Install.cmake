# cmake --install BUILD --component broker: the binary, and what is made from its command line. The Debian package has more:
# debian/ and systemd/.
include(GNUInstallDirs)
install(TARGETS barnabas RUNTIME COMPONENT broker)
# Made now, so that they are those of the binary that is installed.
install(CODE "
  foreach(made IN ITEMS \"completion bash\" \"completion zsh\" \"completion fish\" \"manual\")
    string(REPLACE \" \" \";\" arguments \"\${made}\")
    string(REPLACE \" \" \".\" file \"\${made}\")
    execute_process(COMMAND $<TARGET_FILE:barnabas> \${arguments}
      OUTPUT_FILE \"${CMAKE_BINARY_DIR}/made/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
" COMPONENT broker)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/made)
install(FILES ${CMAKE_BINARY_DIR}/made/completion.bash RENAME barnabas
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT broker)
install(FILES ${CMAKE_BINARY_DIR}/made/completion.zsh RENAME _barnabas
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT broker)
install(FILES ${CMAKE_BINARY_DIR}/made/completion.fish RENAME barnabas.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT broker)
install(FILES ${CMAKE_BINARY_DIR}/made/manual RENAME barnabas.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT broker)
