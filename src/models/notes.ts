const SHOWN_PLACES = 3;

/** What a reader of a checkpoint should know though it is no error: the same thing said of many places becomes one line. */
export class Notes {
  readonly #places = new Map<string, string[]>();

  add(message: string, place?: string): void {
    const places = this.#places.get(message) ?? [];
    this.#places.set(message, places);
    if (place !== undefined) places.push(place);
  }

  lines(): string[] {
    return [...this.#places].map(([message, places]) => {
      if (places.length === 0) return message;
      const more = places.length - SHOWN_PLACES;
      return `${message}: ${places.slice(0, SHOWN_PLACES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    });
  }
}
