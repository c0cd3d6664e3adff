// Runs the VS Code extension without VS Code: `node extension_host.js EXTENSION EDITOR`, where EDITOR is JSON with the
// settings and the interpreter of the Python extension.  The client is a minimal one, and the server a real process.
"use strict";

const { spawn } = require("child_process");
const Module = require("module");
const { dirname } = require("path");
const { pathToFileURL } = require("url");

const [, , file, stated] = process.argv;
const editor = JSON.parse(stated);
const seen = { commands: [], started: [], messages: [], schemas: [], running: 0 };
const handlers = {};

const vscode = {
  commands: {
    registerCommand(name, handler) {
      seen.commands.push(name);
      handlers[name] = handler;
      return { dispose() {} };
    },
  },
  extensions: {
    getExtension(name) {
      if (name === "redhat.vscode-xml" && editor.xml) {
        return { activate: async () => ({ addXMLFileAssociations: (rows) => seen.schemas.push(...rows) }) };
      }
      if (name !== "ms-python.python" || !editor.interpreter) {
        return undefined;
      }
      const environments = {
        getActiveEnvironmentPath: () => ({ path: editor.interpreter }),
        resolveEnvironment: async (one) => ({ executable: { uri: { fsPath: one.path } } }),
      };
      return { isActive: false, activate: async () => ({ environments }) };
    },
  },
  Uri: { file: (path) => pathToFileURL(path) },
  window: { showErrorMessage: (text) => seen.messages.push(text) },
  workspace: { getConfiguration: () => ({ get: (name) => editor.settings[name] }) },
};

function send(server, message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

class LanguageClient {
  constructor(id, name, server, options) {
    this.server = server;
    this.options = options;
  }

  start() {
    const { command, args } = this.server;
    const row = { command: [command, ...args], options: this.options.initializationOptions };
    row.languages = this.options.documentSelector.map((one) => one.language || one.pattern);
    seen.started.push(row);
    return new Promise((resolve, reject) => {
      this.process = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
      this.process.on("error", reject);
      this.ended = new Promise((done) => this.process.on("close", done));
      this.process.on("spawn", () => (seen.running += 1));
      this.process.on("close", () => (seen.running -= this.process.pid ? 1 : 0));
      let text = "";
      this.process.stdout.on("data", (data) => {
        text += data;
        const found = /"serverInfo": ?\{"name": ?"([^"]*)"/.exec(text);
        if (found && !row.server) {
          row.server = found[1];
          resolve();
        }
      });
      const params = { processId: process.pid, rootUri: null, capabilities: {}, initializationOptions: row.options };
      this.process.stdin.on("error", () => undefined);
      send(this.process, { id: 1, method: "initialize", params });
    });
  }

  async stop() {
    send(this.process, { id: 2, method: "shutdown" });
    send(this.process, { method: "exit" });
    await this.ended;
  }
}

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === "vscode") {
    return vscode;
  }
  return name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
};

async function main() {
  const extension = require(file);
  await extension.activate({ subscriptions: [], extensionPath: dirname(file) });
  if (seen.messages.length === 0 && seen.started[0].server) {
    await handlers["exoskel.restart"]();
    await extension.deactivate();
  }
  console.log(JSON.stringify(seen));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
