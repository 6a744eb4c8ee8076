import type { Server } from "node:http";

export interface PageServerOptions {
  /** Path of a GGUF file, served as /models/smollm2.gguf. */
  readonly model: string;
  /** Folder of the installed package; default this repository. */
  readonly package?: string;
  /** Folder of @huggingface/jinja. */
  readonly jinja?: string;
  /** Send the headers that let a page share memory between threads. Default true. */
  readonly isolated?: boolean;
}

export function pageServer(options: PageServerOptions): Server;
