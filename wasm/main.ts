export { pack } from "./packing";
export { step } from "./step";
