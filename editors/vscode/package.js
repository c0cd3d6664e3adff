// Makes the .vsix file. Its manifest names the repository of this clone: the address of `origin`, or of `--repository`.
"use strict";

const { execFileSync } = require("child_process");
const { readFileSync, writeFileSync } = require("fs");
const path = require("path");

const MANIFEST = path.join(__dirname, "package.json");

// The web address of a git remote, or nothing if the remote is a folder or a name that only this computer knows.
function webAddress(remote) {
  const ssh = /^(?:ssh:\/\/)?git@([^:/]+\.[^:/]+)[:/](.+)$/.exec(remote);
  const address = ssh ? `https://${ssh[1]}/${ssh[2]}` : remote;
  if (!URL.canParse(address)) {
    return undefined;
  }
  const url = new URL(address);
  url.username = url.password = "";
  return url.protocol === "https:" && url.hostname.includes(".") ? url.href : undefined;
}

function origin() {
  try {
    return execFileSync("git", ["remote", "get-url", "origin"], { cwd: __dirname, stdio: "pipe" }).toString().trim();
  } catch {
    return ""; // no git, no clone, or no origin
  }
}

// The manifest with the repository, or as it is.
function withRepository(text, remote) {
  const url = webAddress(remote);
  const repository = url && { type: "git", url, directory: "editors/vscode" };
  return repository ? JSON.stringify({ ...JSON.parse(text), repository }, null, 2) + "\n" : text;
}

async function main([option, stated]) {
  if (option !== undefined && (option !== "--repository" || !webAddress(stated ?? ""))) {
    throw new Error("usage: npm run package -- [--repository https://host/owner/name]");
  }
  const { createVSIX } = require("@vscode/vsce");
  const text = readFileSync(MANIFEST, "utf8");
  const packaged = withRepository(text, stated ?? origin());
  if (packaged === text) {
    console.warn("The package states no repository, because this clone has no public origin: add -- --repository URL.");
  }
  writeFileSync(MANIFEST, packaged);
  try {
    await createVSIX({ cwd: __dirname, dependencies: false, allowMissingRepository: packaged === text });
  } finally {
    writeFileSync(MANIFEST, text);
  }
}

module.exports = { withRepository };

if (require.main === module) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
}
