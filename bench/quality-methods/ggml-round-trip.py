"""Rounds float tensors of a file to a ggml type and back, in place, with ggml's own functions.

ggml-round-trip.py LIBRARIES FILE TYPE < ranges

Each line of the ranges is the offset of f32 values and their count. Blocks go over the ends of rows: so a type with
blocks of 256 can be tried on rows of any multiple of 32, as its blocks of 32 keep to their rows.
"""

import ctypes
import os
import sys

# ggml_type of ggml.h, inputs and bytes of a block.
TYPES = {"q4_0": (2, 32, 18), "q4_k": (12, 256, 144)}
BACK = {"q4_0": "dequantize_row_q4_0", "q4_k": "dequantize_row_q4_K"}


def main():
    folder, path, kind = sys.argv[1:]
    ggml = ctypes.CDLL(os.path.join(folder, "libggml-base.so"))
    number, block, block_bytes = TYPES[kind]
    quantize = ggml.ggml_quantize_chunk
    quantize.argtypes = [ctypes.c_int] + [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    quantize.restype = ctypes.c_size_t
    back = getattr(ggml, BACK[kind])
    back.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    with open(path, "r+b") as file:
        for line in sys.stdin:
            offset, count = map(int, line.split())
            if count % block:
                raise SystemExit(f"{count} values are no multiple of {block}")
            file.seek(offset)
            values = (ctypes.c_float * count).from_buffer_copy(file.read(4 * count))
            blocks = (ctypes.c_uint8 * (count // block * block_bytes))()
            # One chunk a block: what ggml calls a row here is a block, as no function looks past one.
            quantize(number, values, blocks, 0, count // block, block, None)
            back(blocks, values, count)
            file.seek(offset)
            file.write(values)


main()
