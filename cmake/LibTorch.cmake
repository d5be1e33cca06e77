# LibTorch as an imported target blink_torch, from $LIBTORCH, or from the wheel that scripts/install-deps unpacks.
# find_package(Torch) would insist on a CUDA toolkit. The wheel carries other versions of protobuf and fmt,
# so its include folders come last (-idirafter).
set(_candidates $ENV{LIBTORCH} ${LIBTORCH} ${CMAKE_SOURCE_DIR}/.deps/torch/torch)
unset(BLINK_TORCH_ROOT CACHE)
foreach(_dir IN LISTS _candidates)
  if(EXISTS ${_dir}/lib/libtorch_cpu.so)
    set(BLINK_TORCH_ROOT ${_dir})
    break()
  endif()
endforeach()
if(NOT BLINK_TORCH_ROOT)
  message(FATAL_ERROR "LibTorch was not found. Run scripts/install-deps, or set LIBTORCH to the folder that holds "
    "lib/libtorch_cpu.so, or configure with -DBLINK_WITH_TORCH=OFF.")
endif()
file(GLOB _cuda_libs ${BLINK_TORCH_ROOT}/../nvidia/*/lib)
add_library(blink_torch INTERFACE)
target_compile_options(blink_torch INTERFACE
  "SHELL:-idirafter ${BLINK_TORCH_ROOT}/include" "SHELL:-idirafter ${BLINK_TORCH_ROOT}/include/torch/csrc/api/include")
target_compile_definitions(blink_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(blink_torch INTERFACE ${BLINK_TORCH_ROOT}/lib/libtorch_cpu.so ${BLINK_TORCH_ROOT}/lib/libc10.so
    ${CMAKE_DL_LIBS})
# An installed program prefers what lies in its prefix (BlinkInstall.cmake). The linker reads this from a file, because
# between CMake, Ninja and the shell a "$" in an option does not survive.
file(WRITE ${CMAKE_BINARY_DIR}/prefix-rpath.ld "-rpath=$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/blink/torch/lib\n")
target_link_options(blink_torch INTERFACE "LINKER:--disable-new-dtags" "LINKER:@${CMAKE_BINARY_DIR}/prefix-rpath.ld"
  "LINKER:-rpath,${BLINK_TORCH_ROOT}/lib")
foreach(_lib IN LISTS _cuda_libs)
  file(REAL_PATH ${_lib} _lib)
  target_link_options(blink_torch INTERFACE "LINKER:-rpath,${_lib}" "LINKER:-rpath-link,${_lib}")
endforeach()
message(STATUS "LibTorch: ${BLINK_TORCH_ROOT}")
