import { BLOCK_TOKENS, type CacheLayout, type CacheType } from "./plan.ts";

/** Where keys and values stand in a cache block. */
export function cacheLayout(layers: number, kvHeads: number, headSize: number, type: CacheType): CacheLayout {
  const headBytes = headSize * BLOCK_TOKENS * (type === "f32" ? 4 : 2);
  return { type, layers, kvHeads, headSize, headBytes, blockBytes: layers * kvHeads * headBytes * 2 };
}

/** Byte offset in a block of the keys of a head; its values follow `headBytes` later. */
export function keysAt(cache: CacheLayout, layer: number, kvHead: number): number {
  return (layer * cache.kvHeads + kvHead) * cache.headBytes * 2;
}

/** Blocks that hold `tokens` positions. */
export function blocksFor(tokens: number): number {
  return Math.ceil(tokens / BLOCK_TOKENS);
}
