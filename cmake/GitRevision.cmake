# Writes OUTPUT with the revision of the git checkout at SOURCE, if it changed. Outside git: "unknown".
cmake_policy(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"// Written by cmake/GitRevision.cmake.
#pragma once
namespace holdfast::results {
inline constexpr char kGitRevision[] = \"@revision@\";
}
" @ONLY)
