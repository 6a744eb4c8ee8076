// Stages what is published to npm: `node tools/npm-packages.mjs OUT [ADDONS]`; npm/README.md says more. Needs `npm run build`.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [out, addons = join(root, "build/native")] = process.argv.slice(2);
if (!out) throw new Error("usage: node tools/npm-packages.mjs OUT [ADDONS]");

const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const { devDependencies: _, scripts: __, ...main } = read(join(root, "package.json"));
const platforms = readdirSync(join(root, "npm"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const manifests = platforms.map(({ name }) => read(join(root, "npm", name, "package.json")));

stage({
  ...main,
  optionalDependencies: Object.fromEntries(manifests.map(({ name }) => [name, main.version])),
});
for (const manifest of manifests) {
  const addon = join(addons, `${manifest.name}.node`);
  if (!existsSync(addon)) console.log(`${manifest.name}: not staged, as ${addon} is not there`);
  else stage({ ...manifest, version: main.version }, { "halfbyte.node": addon });
}

/** A folder with a manifest and its files; those not given come from the project. */
function stage(manifest, given = {}) {
  const folder = resolve(out, manifest.name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const file of manifest.files) cpSync(given[file] ?? join(root, file), join(folder, file), { recursive: true });
  console.log(`${manifest.name} ${manifest.version}: ${folder}`);
}
