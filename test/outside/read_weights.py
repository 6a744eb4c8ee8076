"""Reads models as other software does and writes every weight of them as f32.

usage: read_weights.py (FORMAT MODEL OUT.safetensors)...

FORMAT: gguf (by the package gguf), floats (by safetensors), compressed-tensors (by that package, scales widened to f32
first, as it rounds products to the type of scales), and gptq, awq and cpu_int4 by their definitions.
"""

import json
import pathlib
import sys

import numpy as np


def read_gguf(path):
    from gguf import GGUFReader
    from gguf.quants import dequantize

    return {t.name: dequantize(t.data, t.tensor_type).reshape(t.shape.tolist()[::-1]) for t in GGUFReader(path).tensors}


def tensors_of(folder):
    """Every tensor of a folder; bf16, which numpy lacks, as f32."""
    from safetensors import safe_open

    index = folder / "model.safetensors.index.json"
    names = {"model.safetensors"}
    if index.exists():
        names = set(json.loads(index.read_text())["weight_map"].values())
    found = {}
    for name in sorted(names):
        with safe_open(folder / name, framework="np") as file:
            assert file.metadata().get("format") == "pt"
        raw = (folder / name).read_bytes()
        size = int.from_bytes(raw[:8], "little")
        for key, info in json.loads(raw[8 : 8 + size]).items():
            if key == "__metadata__":
                continue
            start, end = (8 + size + at for at in info["data_offsets"])
            found[key] = decode(info["dtype"], raw[start:end]).reshape(info["shape"])
            with safe_open(folder / name, framework="np") as file:
                if info["dtype"] != "BF16":
                    np.testing.assert_array_equal(file.get_tensor(key), found[key])
    return found


def decode(dtype, raw):
    if dtype == "BF16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    kinds = {"F32": np.float32, "F16": np.float16, "U8": np.uint8, "I8": np.int8, "I32": np.int32, "I64": np.int64}
    return np.frombuffer(raw, kinds[dtype])


def by_matrix(tensors, ends):
    """Tensors of quantised matrices together, and all others."""
    matrices, others = {}, {}
    for name, tensor in tensors.items():
        stem, _, end = name.rpartition(".")
        if end in ends:
            matrices.setdefault(stem, {})[end] = tensor
        else:
            others[name] = tensor
    return matrices, others


def read_floats(folder, _config):
    return tensors_of(folder)


def nibbles(words, bits, axis):
    """Codes of each 32-bit word, from the lowest bits up, along an axis."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    spread = (words.view(np.uint32)[..., None] >> shifts) & np.uint32(2**bits - 1)
    if axis == 0:
        spread = spread.transpose(0, 2, 1).reshape(-1, words.shape[1])
    else:
        spread = spread.reshape(words.shape[0], -1)
    return spread.astype(np.int32)


def read_gptq(folder, config):
    """W[k, n] = scales[g_idx[k], n] * (q[k, n] - z[g_idx[k], n]); version 1 stores z - 1."""
    quantization = config["quantization_config"]
    less = {"gptq": 1, "gptq_v2": 0}[quantization["checkpoint_format"]]
    matrices, weights = by_matrix(tensors_of(folder), {"qweight", "qzeros", "scales", "g_idx"})
    for stem, parts in matrices.items():
        inputs = len(parts["g_idx"])
        bits = parts["qweight"].shape[0] * 32 // inputs
        codes = nibbles(parts["qweight"], bits, 0)
        zeros = nibbles(parts["qzeros"], bits, 1) + less
        group = parts["g_idx"]
        weight = parts["scales"].astype(np.float32)[group] * (codes - zeros[group]).astype(np.float32)
        weights[f"{stem}.weight"] = np.ascontiguousarray(weight.T)
    return weights


def read_awq(folder, _config):
    """W[k, n] = scales[k // G, n] * (q[k, n] - z[k // G, n]); nibble i of a word is output 0 2 4 6 1 3 5 7."""
    place = np.argsort([0, 2, 4, 6, 1, 3, 5, 7])
    matrices, weights = by_matrix(tensors_of(folder), {"qweight", "qzeros", "scales"})
    for stem, parts in matrices.items():
        codes, zeros = (
            nibbles(parts[end], 4, 1).reshape(len(parts[end]), -1, 8)[..., place].reshape(len(parts[end]), -1)
            for end in ("qweight", "qzeros")
        )
        group = np.arange(len(codes)) // (len(codes) // len(zeros))
        weight = parts["scales"].astype(np.float32)[group] * (codes - zeros[group]).astype(np.float32)
        weights[f"{stem}.weight"] = np.ascontiguousarray(weight.T)
    return weights


def read_cpu_int4(folder, _config):
    """W[n, k] = (q[n, k] - 8) * scale[n, k // G] + zero[n, k // G]; the even input in the low nibble."""
    matrices, weights = by_matrix(tensors_of(folder), {"weight_packed", "weight_scale", "weight_zero"})
    for stem, parts in matrices.items():
        packed = parts["weight_packed"]
        codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
        size = codes.shape[1] // parts["weight_scale"].shape[1]
        scale, zero = (np.repeat(parts[end].astype(np.float32), size, 1) for end in ("weight_scale", "weight_zero"))
        weights[f"{stem}.weight"] = (codes.astype(np.float32) - 8) * scale + zero
    return weights


def read_compressed_tensors(folder, config):
    import torch

    # The package is newer than the torch it is given here; none of this is used.
    for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"):
        if not hasattr(torch, name):
            setattr(torch, name, torch.float16)
    if not hasattr(torch, "compile"):
        torch.compile = lambda function=None, **_: function or (lambda inner: inner)
    from compressed_tensors.compressors.quantized_compressors.pack_quantized import unpack_from_int32
    from compressed_tensors.quantization import QuantizationConfig, QuantizationStrategy
    from compressed_tensors.quantization.lifecycle.forward import dequantize

    groups = QuantizationConfig.model_validate(config["quantization_config"]).config_groups.values()
    ends = {"weight_packed", "weight_scale", "weight_shape", "weight_zero_point", "weight_g_idx"}
    matrices, weights = by_matrix(tensors_of(folder), ends)
    for stem, parts in matrices.items():
        named = [group for group in groups if stem in group.targets]
        (scheme,) = named or [group for group in groups if "Linear" in group.targets]
        args = scheme.weights
        parts = {end: torch.from_numpy(part.copy()) for end, part in parts.items()}
        shape = torch.Size(parts["weight_shape"].tolist())
        scale = parts["weight_scale"].to(torch.float32)
        assert args.symmetric == ("weight_zero_point" not in parts), stem
        assert (args.strategy == QuantizationStrategy.CHANNEL) == (scale.shape[1] == 1), stem
        assert args.group_size is None or shape[1] // scale.shape[1] == args.group_size, stem
        codes = unpack_from_int32(parts["weight_packed"], args.num_bits, shape)
        zero = parts.get("weight_zero_point")
        if zero is not None:
            zero = unpack_from_int32(zero, args.num_bits, torch.Size((shape[0], scale.shape[1])), packed_dim=0)
        weight = dequantize(codes, scale, zero, args=args, dtype=torch.float32, g_idx=parts.get("weight_g_idx"))
        weights[f"{stem}.weight"] = weight.numpy()
    return weights


READERS = {
    "floats": read_floats,
    "gptq": read_gptq,
    "awq": read_awq,
    "cpu_int4": read_cpu_int4,
    "compressed-tensors": read_compressed_tensors,
}


def read(kind, model):
    if kind == "gguf":
        return read_gguf(model)
    folder = pathlib.Path(model)
    return READERS[kind](folder, json.loads((folder / "config.json").read_text()))


def main():
    from safetensors.numpy import save_file

    arguments = iter(sys.argv[1:])
    for kind, model, out in zip(arguments, arguments, arguments):
        weights = read(kind, model)
        save_file({name: np.ascontiguousarray(weight, dtype=np.float32) for name, weight in weights.items()}, out)


main()
