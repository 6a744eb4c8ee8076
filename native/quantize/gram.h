#pragma once

#include <node_api.h>

namespace halfbyte {

/** Adds `addGram` to the addon; wasm/quantizer/factor.ts says what it computes, and gives the same bits. */
void defineGram(napi_env env, napi_value exports);

}  // namespace halfbyte
