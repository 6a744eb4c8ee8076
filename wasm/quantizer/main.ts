// Kernels of the quantiser, a binary of their own: src/quantize/kernels/ calls them, on several threads of one memory.
export { addGram, cholesky, invertUpper, reversedGram, symmetricDot, takeFactor } from "./factor";
export { gptqPanel } from "./gptq";
export { allWithin, panelOfRows, roundRows, rowsOfCodes } from "./rows";
export { codePanel, searchPanel } from "./search";
