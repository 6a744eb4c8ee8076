/**
 * Bounds on what a GGUF file may ask for. A file is hostile until read: each count is held to its limit and to the
 * bytes that are left in the file before anything is made of it.
 */

/** The specification: keys have at most 2^16 − 1 bytes. */
export const MAX_KEY_BYTES: number = 65_535;
/** The specification: tensor names have at most 64 bytes. */
export const MAX_NAME_BYTES: number = 64;
/** Single strings are kept when a file is opened; the longest in use, chat templates, have tens of kilobytes. */
export const MAX_STRING_BYTES: number = 4 * 1024 * 1024;
/** All keys and single strings of a file together, which stay in memory while it is open. */
export const MAX_KEPT_BYTES: number = 16 * 1024 * 1024;
/** The largest arrays in use are vocabularies and merge lists of some 500,000 entries. */
export const MAX_ARRAY_ELEMENTS: number = 16 * 1024 * 1024;
/** The specification allows arrays of arrays; none is known to be in use. */
export const MAX_ARRAY_DEPTH: number = 4;
/** Files in use have under 100 keys. */
export const MAX_KEYS: number = 16_384;
/** The largest models in use have some 2,000 tensors, experts being stacked. */
export const MAX_TENSORS: number = 65_536;
/** ggml's GGML_MAX_DIMS. */
export const MAX_DIMENSIONS: number = 4;
/** All that stands before the tensors' data; 262,144 tokens with scores and types need 6.5 MB. */
export const MAX_HEADER_BYTES: number = 256 * 1024 * 1024;
/** Files of a split model: `split.no` and `split.count` are u16, and the largest models in use have some 200. */
export const MAX_PARTS: number = 1024;
/** The header is read through a window that grows up to this, so that a small header is one small read. */
export const MAX_WINDOW_BYTES: number = 4 * 1024 * 1024;
export const FIRST_WINDOW_BYTES: number = 256 * 1024;
