// One arm in a Node process of its own: `node node-child.mjs ARM MODEL TASK`, TASK in JSON; prints the figures in JSON.
import { measure } from "./measure.mjs";

const [arm, model, task] = process.argv.slice(2);
const { open } = await import(`./arms/${arm}.mjs`);
const processorSeconds = async () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
console.log(JSON.stringify(await measure(open, model, JSON.parse(task), processorSeconds)));
process.exit();
