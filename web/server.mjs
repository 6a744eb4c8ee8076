// Serves the page, the built package and one model on loopback, with HTTP ranges.
// `node web/server.mjs MODEL.gguf [port]`
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };

/** @param {{ model: string, package?: string, jinja?: string, isolated?: boolean }} options folders and the model's file */
export function pageServer({
  model,
  package: packageFolder = root,
  jinja = join(root, "node_modules/@huggingface/jinja"),
  isolated = true,
}) {
  const folders = { package: packageFolder, jinja, web: join(root, "web") };
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (isolated) {
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    }
    const path = pathname === "/models/smollm2.gguf" ? model : fileOf(folders, pathname);
    try {
      send(path, request, response);
    } catch {
      response.writeHead(404).end();
    }
  });
}

function fileOf(folders, pathname) {
  const [, first, ...rest] = decodeURIComponent(pathname).split("/");
  // Normalised as an absolute path first, so that no `..` leads out of the folder.
  return folders[first]
    ? join(folders[first], normalize(`/${rest.join("/")}`))
    : join(folders.web, normalize(pathname === "/" ? "/index.html" : `/${[first, ...rest].join("/")}`));
}

function send(path, request, response) {
  const { size, mtimeMs } = statSync(path);
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  response.writeHead(range ? 206 : 200, {
    "Content-Type": types[extname(path)] ?? "application/octet-stream",
    "Content-Length": end - start + 1,
    "Accept-Ranges": "bytes",
    ETag: `"${size}-${mtimeMs}"`,
    ...(range && { "Content-Range": `bytes ${start}-${end}/${size}` }),
  });
  if (request.method === "HEAD") response.end();
  else createReadStream(path, { start, end }).pipe(response);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [model, port = "8080"] = process.argv.slice(2);
  if (!model) throw new Error("usage: node web/server.mjs MODEL.gguf [port]");
  pageServer({ model }).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
}
