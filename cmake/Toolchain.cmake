# Compiler flags, the same for every room.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths relative to the tree, so that several build folders share one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                    -Woverloaded-virtual -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 in optimised standard-library and Asio code.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 offers std::expected only to compilers that claim C++20's last concepts, which clang 16 has but for the
  # number.
  add_compile_options(-Wno-builtin-macro-redefined -Wno-macro-redefined -D__cpp_concepts=202002L)
endif()
add_compile_definitions(_GLIBCXX_ASSERTIONS)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

if(BARNABAS_SANITIZE)
  add_compile_options(-fsanitize=${BARNABAS_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BARNABAS_SANITIZE})
  set(BARNABAS_JEMALLOC OFF)
  if(BARNABAS_SANITIZE MATCHES thread)
    # The thread sanitizer does not know memory fences; Asio's locks suffice for it.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(BARNABAS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
