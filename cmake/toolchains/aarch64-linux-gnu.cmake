# Debian's cross compiler for arm64, against the libraries that scripts/fetch-arm64-sysroot unpacks, with tests under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(MOTLEY_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../../.cache/arm64-sysroot")
cmake_path(ABSOLUTE_PATH MOTLEY_SYSROOT NORMALIZE)
if(NOT EXISTS "${MOTLEY_SYSROOT}/packages.txt")
  message(FATAL_ERROR "no arm64 libraries in ${MOTLEY_SYSROOT}: run scripts/fetch-arm64-sysroot")
endif()

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT "${MOTLEY_SYSROOT}")

set(CMAKE_FIND_ROOT_PATH "${MOTLEY_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# A CPU with dot product but without i8mm or SVE, like the boards that motley meets: kernels must not need more.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${MOTLEY_SYSROOT}" -cpu neoverse-n1)
