// Builds the page that ships: sources and three.js, bundled and minified into ../page.html. Run: npm ci && npm run build
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const bundle = await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  charset: "ascii",
  write: false,
});
// A script element ends at the first "</script", also inside a string.
const script = bundle.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const style = (await build({ entryPoints: ["src/style.css"], minify: true, write: false })).outputFiles[0].text.trim();
const sha256 = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// Only this very script may run, and nothing may be fetched: text that a model brings along stays text.
const policy = `default-src 'none'; script-src ${sha256(script)}; style-src 'unsafe-inline'; img-src data: blob:`;
// What the page was made from, so that a test can tell when it is older than its sources.
const files = [...readdirSync("src").map((name) => `src/${name}`), "build.mjs", "package-lock.json"].sort();
const sources = createHash("sha256");
for (const file of files) sources.update(file).update("\0").update(readFileSync(file));
const page = readFileSync("src/template.html", "utf8")
  .replace("@@policy@@", () => policy)
  .replace("@@sources@@", () => sources.digest("hex"))
  .replace("@@style@@", () => style)
  .replace("@@script@@", () => script);
writeFileSync("../page.html", page);
console.log(`page.html: ${(page.length / 1024).toFixed(0)} kB`);
