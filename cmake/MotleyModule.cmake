# One static library a module, tests beside the code.

set(MOTLEY_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Werror)

add_library(motley_options INTERFACE)
target_compile_features(motley_options INTERFACE cxx_std_20)
target_compile_options(motley_options INTERFACE ${MOTLEY_WARNINGS})
# The same bits on every compiler: a product and a sum may only be fused where the code says std::fma or an intrinsic.
target_compile_options(motley_options INTERFACE -ffp-contract=off)
target_include_directories(motley_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
if(MOTLEY_FUZZ_COVERAGE)
  target_compile_options(motley_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(MOTLEY_CHECK_SWITCHES)
  target_compile_definitions(motley_options INTERFACE MOTLEY_CHECK_SWITCHES)
endif()

# motley_module(NAME SOURCES a.cc … MODULES base tensor … [LIBRARIES absl::status …])
# Makes the target motley_NAME. MODULES are re-exported, LIBRARIES stay private (third-party headers live in .cc files).
function(motley_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;MODULES;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  add_library(motley_${name} STATIC ${arg_SOURCES})
  target_link_libraries(motley_${name} PUBLIC motley_options ${arg_PUBLIC_LIBRARIES})
  target_link_libraries(motley_${name} PRIVATE ${arg_LIBRARIES})
  foreach(module ${arg_MODULES})
    target_link_libraries(motley_${name} PUBLIC motley_${module})
  endforeach()
endfunction()

# A test that hangs fails after this long, unless it says otherwise: ten times the slowest one, sanitised, on two cores.
set(MOTLEY_TEST_TIMEOUT_SECONDS 600)

# motley_test(NAME SOURCES a_test.cc … MODULES … [LIBRARIES …] [LABELS …] [TIMEOUT seconds]): one test binary, one ctest entry
# called NAME. Tests run in the source tree's root, so that fixtures are named "tests/data/…".
# LABELS: `fetched` needs what the fetch scripts bring, `slow` is left out where sanitisers make it too slow.
function(motley_test name)
  if(NOT MOTLEY_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;MODULES;LIBRARIES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${MOTLEY_TEST_TIMEOUT_SECONDS})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE motley_options GTest::gtest GTest::gmock GTest::gtest_main ${arg_LIBRARIES})
  foreach(module ${arg_MODULES})
    target_link_libraries(${name} PRIVATE motley_${module})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

# motley_fuzzer(NAME SOURCES a_fuzz.cc … MODULES …): a libFuzzer target; its kept corpus is tests/fuzz/corpus/NAME, which the
# ctest entry NAME replays. Longer runs are scripts/nightly's.
function(motley_fuzzer name)
  if(NOT MOTLEY_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;MODULES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE motley_options ${arg_LIBRARIES})
  foreach(module ${arg_MODULES})
    target_link_libraries(${name} PRIVATE motley_${module})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} -runs=0 "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${MOTLEY_TEST_TIMEOUT_SECONDS} LABELS fuzz)
endfunction()
