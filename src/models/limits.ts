/**
 * Bounds on what a model's configuration may ask for, far above any model that a CPU can run, so that a hostile file
 * cannot make Halfbyte plan for an absurd amount of memory.
 */
export const MAX_LAYERS = 1024;
export const MAX_HEADS = 1024;
export const MAX_HEAD_SIZE = 1024;
export const MAX_HIDDEN = 131_072;
export const MAX_INNER = 1_048_576;
export const MAX_VOCABULARY = 4_194_304;
/** Positions. Angles stay exact far beyond it. */
export const MAX_CONTEXT = 16_777_216;
