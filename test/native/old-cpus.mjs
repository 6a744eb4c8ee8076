// Runs the native executor on CPUs that QEMU plays: `npm run test:cpus`. It must choose kernels each can run and give
// the reference's bits; an instruction the CPU lacks would end the process. Needs qemu-user; ARM needs a Node for it,
// named by HALFBYTE_NODE_ARM64, and an addon built for it.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));
// As deep as src/executors/native, which finds the addon from its own place.
const folder = join(root, "build/native/emulated");
const program = join(folder, "steps.mjs");
const recorded = join(folder, "bits.json");

const emulator = "qemu-x86_64";
if (spawnSync(emulator, ["--version"]).status !== 0) {
  console.log(`old CPUs not tested: ${emulator} is not installed; apt-get install qemu-user`);
  process.exit();
}
mkdirSync(folder, { recursive: true });
await build({
  root,
  configFile: false,
  logLevel: "error",
  build: {
    ssr: join(root, "test/native/emulated-steps.ts"),
    outDir: folder,
    emptyOutDir: false,
    target: "node20",
    rollupOptions: { output: { entryFileNames: "steps.mjs" } },
  },
});
execFileSync(process.execPath, [program, "record", recorded]);
const real = execFileSync(process.execPath, [program, "check", recorded], { encoding: "utf8" });
console.log(`this CPU\n${real}`);
for (const cpu of ["Nehalem", "SandyBridge", "Haswell", "Skylake-Server", "EPYC"]) {
  const args = ["-cpu", cpu, process.execPath, program, "check", recorded];
  const { status, stdout, stderr } = spawnSync(emulator, args, { encoding: "utf8" });
  console.log(`${cpu}\n${stdout}`);
  if (status !== 0) {
    console.error(stderr.replaceAll(/^.*TCG doesn't support.*\n/gm, ""));
    process.exitCode = 1;
  }
}
