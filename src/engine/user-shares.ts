/**
 * How much each user has had, in tokens computed, among those who want something now. Who has had the least comes first;
 * a newcomer begins level with the least served, so that waiting saves nothing up.
 */
export class UserShares {
  readonly #users = new Map<string, { served: number; requests: number }>();

  enter(user: string): void {
    const known = this.#users.get(user);
    if (known) known.requests++;
    else this.#users.set(user, { served: this.#least(), requests: 1 });
  }

  leave(user: string): void {
    const known = this.#users.get(user)!;
    if (--known.requests === 0) this.#users.delete(user);
  }

  charge(user: string, tokens: number): void {
    this.#users.get(user)!.served += tokens;
  }

  served(user: string): number {
    return this.#users.get(user)!.served;
  }

  #least(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { served } of this.#users.values()) least = Math.min(least, served);
    return Number.isFinite(least) ? least : 0;
  }
}
