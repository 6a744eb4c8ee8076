/** Sums the squares of one layer's output over tokens: of the reference's, and of the difference from it. */
export class LayerError {
  #difference = 0;
  #reference = 0;

  /** f32 rows of the same tokens, the last `count` numbers of each. */
  add(output: Float32Array, reference: Float32Array, count: number): void {
    const at = output.length - count;
    const referenceAt = reference.length - count;
    let difference = 0;
    let squares = 0;
    for (let i = 0; i < count; i++) {
      const truth = reference[referenceAt + i]!;
      difference += (output[at + i]! - truth) ** 2;
      squares += truth * truth;
    }
    this.#difference += difference;
    this.#reference += squares;
  }

  /** Root of the mean square of the difference, over that of the reference. */
  get relative(): number {
    return this.#difference === 0 ? 0 : Math.sqrt(this.#difference / this.#reference);
  }
}
