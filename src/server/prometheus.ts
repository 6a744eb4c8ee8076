/** Values of labels, in the order of their names. */
type Labels = readonly string[];

interface Series {
  readonly labels: Labels;
  value: number;
}

/** Metrics in the text format of Prometheus, version 0.0.4. */
export class Registry {
  readonly #metrics: { readonly render: () => string }[] = [];

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    const counter = new Counter(labelNames);
    this.#metrics.push({ render: () => head(name, help, "counter") + counter.render(name) });
    return counter;
  }

  histogram(name: string, help: string, bounds: readonly number[], labelNames: readonly string[] = []): Histogram {
    const histogram = new Histogram(bounds, labelNames);
    this.#metrics.push({ render: () => head(name, help, "histogram") + histogram.render(name) });
    return histogram;
  }

  /** A metric that is looked up when it is asked for. */
  observed(
    type: "gauge" | "counter",
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<readonly [Labels, number]>,
  ): void {
    const lines = (): string => [...read()].map(([labels, value]) => line(name, labelNames, labels, value)).join("");
    this.#metrics.push({ render: () => head(name, help, type) + lines() });
  }

  render(): string {
    return this.#metrics.map(({ render }) => render()).join("");
  }
}

export class Counter {
  readonly #labelNames: readonly string[];
  readonly #series = new Map<string, Series>();

  constructor(labelNames: readonly string[]) {
    this.#labelNames = labelNames;
  }

  add(amount: number, ...labels: string[]): void {
    const key = labels.join("\0");
    const series = this.#series.get(key);
    if (series) series.value += amount;
    else this.#series.set(key, { labels, value: amount });
  }

  render(name: string): string {
    return [...this.#series.values()].map(({ labels, value }) => line(name, this.#labelNames, labels, value)).join("");
  }
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #labelNames: readonly string[];
  readonly #series = new Map<
    string,
    { readonly labels: Labels; readonly buckets: number[]; sum: number; count: number }
  >();

  constructor(bounds: readonly number[], labelNames: readonly string[]) {
    this.#bounds = bounds;
    this.#labelNames = labelNames;
  }

  observe(value: number, ...labels: string[]): void {
    const key = labels.join("\0");
    let series = this.#series.get(key);
    if (!series) {
      series = { labels, buckets: this.#bounds.map(() => 0), sum: 0, count: 0 };
      this.#series.set(key, series);
    }
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) series.buckets[bucket]!++;
    series.sum += value;
    series.count++;
  }

  render(name: string): string {
    let text = "";
    for (const { labels, buckets, sum, count } of this.#series.values()) {
      const names = [...this.#labelNames, "le"];
      let below = 0;
      for (const [i, bound] of this.#bounds.entries()) {
        below += buckets[i]!;
        text += line(`${name}_bucket`, names, [...labels, String(bound)], below);
      }
      text += line(`${name}_bucket`, names, [...labels, "+Inf"], count);
      text += line(`${name}_sum`, this.#labelNames, labels, sum);
      text += line(`${name}_count`, this.#labelNames, labels, count);
    }
    return text;
  }
}

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function line(name: string, labelNames: readonly string[], labels: Labels, value: number): string {
  const pairs = labelNames.map((label, i) => `${label}="${escaped(labels[i] ?? "")}"`).join(",");
  return `${name}${pairs && `{${pairs}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
