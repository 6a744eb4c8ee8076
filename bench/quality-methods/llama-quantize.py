"""Quantises a GGUF file with llama.cpp's own quantiser, out of the libraries that the npm package node-llama-cpp ships.

llama-quantize.py LIBRARIES IN OUT TYPE

LIBRARIES is a folder with libllama*.so; TYPE is f32, f16, q4_0, q4_1, q8_0, q4_k_s or q4_k_m. A quantised IN is dequantised first.
"""

import ctypes
import glob
import os
import sys

# llama_ftype of llama.h.
FILE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q4_k_s": 14, "q4_k_m": 15}
LLAMA_TYPE_COUNT = 42


class Parameters(ctypes.Structure):
    """llama_model_quantize_params: its first fields, and room for those that may follow."""

    _fields_ = [
        ("threads", ctypes.c_int32),
        ("file_type", ctypes.c_int32),
        ("output_type", ctypes.c_int32),
        ("embedding_type", ctypes.c_int32),
        ("allow_requantize", ctypes.c_bool),
        ("quantize_output", ctypes.c_bool),
        ("only_copy", ctypes.c_bool),
        ("pure", ctypes.c_bool),
        ("rest", ctypes.c_uint8 * 492),
    ]


def libraries(folder):
    flags = os.RTLD_NOW | os.RTLD_GLOBAL
    base = ctypes.CDLL(os.path.join(folder, "libggml-base.so"), flags)
    ggml = ctypes.CDLL(glob.glob(os.path.join(folder, "libggml.*so"))[0], flags)
    ggml.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
    ggml.ggml_backend_load_all_from_path(folder.encode())
    return base, ctypes.CDLL(glob.glob(os.path.join(folder, "libllama.*so"))[0], flags)


def main():
    folder, source, target, kind = sys.argv[1:]
    _, llama = libraries(folder)
    llama.llama_model_quantize_default_params.restype = Parameters
    parameters = llama.llama_model_quantize_default_params()
    parameters.threads = os.cpu_count()
    parameters.file_type = FILE_TYPES[kind]
    parameters.allow_requantize = True
    llama.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Parameters)]
    llama.llama_model_quantize.restype = ctypes.c_uint32
    return llama.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(parameters))


sys.exit(main())
