// Prepares the package: the extension with its dependencies as one file, their licences, and the schemas of the reference.
"use strict";

const { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require("fs");
const path = require("path");
const { buildSync } = require("esbuild");

const SCHEMAS = ["skel", "xode", "urdf", "sdf"];
const NOTICES = /^(licen[cs]e|copying|notice|third-?party-?notices)(\.(txt|md))?$/i;
const IN_PACKAGES = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//;

// The folders of the packages whose files are in the bundle.
function bundledPackages(metafile) {
  const folders = Object.keys(metafile.inputs).map((file) => IN_PACKAGES.exec(file.replaceAll("\\", "/")));
  return [...new Set(folders.filter(Boolean).map((found) => found[1]))].sort();
}

// The licence and notices of a package; one without a licence must not be bundled.
function notices(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => NOTICES.test(file));
  if (!license || !files.some((file) => /^(licen[cs]e|copying)/i.test(file))) {
    throw new Error(`${name} has no licence`);
  }
  const texts = files.sort().map((file) => readFileSync(path.join(folder, file), "utf8").trim());
  return [`${name} ${version} (${license})`, ...texts].join("\n\n");
}

process.chdir(__dirname);
const { metafile } = buildSync({
  entryPoints: ["extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node18",
  external: ["vscode"],
  metafile: true,
  logLevel: "warning",
});
const rule = `\n\n${"-".repeat(80)}\n\n`;
const heading = "The extension contains these packages, with their licences:";
writeFileSync("dist/third-party-licenses.txt", [heading, ...bundledPackages(metafile).map(notices)].join(rule) + "\n");

mkdirSync("schemas", { recursive: true });
for (const name of SCHEMAS) {
  const file = path.join("..", "..", "docs", "reference", `${name}.xsd`);
  if (!existsSync(file)) {
    throw new Error(`${file} is missing`);
  }
  cpSync(file, path.join("schemas", `${name}.xsd`));
}
