# Runs during `cmake --install`: copies the public headers, and what they include.
#
#   SOURCE   the checkout          HEADERS      public headers, below SOURCE/holdfast
#   SCRATCH  for marked copies     DESTINATION  include directory, below CMAKE_INSTALL_PREFIX
#
# An internal header gets a first line that says so. It keeps its place, since others include it.
cmake_policy(VERSION 3.22)

set(closure "")
set(waiting ${HEADERS})
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST closure)
    continue()
  endif()
  if(NOT EXISTS ${SOURCE}/holdfast/${header})
    message(FATAL_ERROR "holdfast/${header} does not exist; cmake/HoldfastPublicHeaders.cmake lists it, or a header includes it")
  endif()
  list(APPEND closure ${header})
  file(STRINGS ${SOURCE}/holdfast/${header} lines REGEX "^ *# *include *<holdfast/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*<holdfast/([^>]+)>.*" "\\1" included "${line}")
    list(APPEND waiting ${included})
  endforeach()
endwhile()

foreach(header IN LISTS closure)
  get_filename_component(folder ${header} DIRECTORY)
  set(file ${SOURCE}/holdfast/${header})
  if(NOT header IN_LIST HEADERS)
    file(READ ${file} text)
    file(WRITE ${SCRATCH}/${header}
      "// Internal to Holdfast: public headers include this one; do not include it yourself. It changes without notice.\n${text}")
    set(file ${SCRATCH}/${header})
  endif()
  file(INSTALL ${file} DESTINATION ${CMAKE_INSTALL_PREFIX}/${DESTINATION}/holdfast/${folder})
endforeach()
