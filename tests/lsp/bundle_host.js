// Runs the packaged VS Code extension without VS Code: `node bundle_host.js BUNDLE COMMAND`, where COMMAND is JSON with
// the command of the server.  The real client of the bundle starts the server and stops it; prints what it shows, and
// which modules it loads.
"use strict";

const Module = require("module");

const [, , file, stated] = process.argv;
const seen = { messages: [], commands: [], loaded: [] };

// Anything else of VS Code's interface: callable, constructible, and with all properties.
function anything(name) {
  const known = new Map();
  const handler = {
    get(target, key) {
      if (key === Symbol.toPrimitive) {
        return () => name;
      }
      if (key === Symbol.iterator) {
        return function* () {};
      }
      if (key === "then" || key === "prototype") {
        return Reflect.get(target, key);
      }
      if (!known.has(key)) {
        known.set(key, anything(`${name}.${String(key)}`));
      }
      return known.get(key);
    },
    set(target, key, value) {
      known.set(key, value);
      return true;
    },
    apply: () => anything(`${name}()`),
    construct: () => ({ dispose() {} }),
  };
  return new Proxy(function stub() {}, handler);
}

class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, self) => {
      const bound = (value) => listener.call(self, value);
      this.listeners.add(bound);
      return { dispose: () => this.listeners.delete(bound) };
    };
  }
  fire(value) {
    this.listeners.forEach((listener) => listener(value));
  }
  dispose() {}
}

const settings = { command: JSON.parse(stated), packagePath: [], arguments: {} };
const vscode = Object.assign(anything("vscode"), {
  version: "1.82.0",
  EventEmitter,
  commands: {
    registerCommand(name) {
      seen.commands.push(name);
      return { dispose() {} };
    },
  },
  extensions: { getExtension: () => undefined },
  languages: Object.assign(anything("languages"), { match: () => 0 }),
  window: Object.assign(anything("window"), {
    showErrorMessage: async (text) => void seen.messages.push(text),
    createOutputChannel: () => ({ append() {}, appendLine() {}, show() {}, dispose() {}, clear() {} }),
    visibleTextEditors: [],
    tabGroups: { all: [], onDidChangeTabs: () => ({ dispose() {} }) },
    activeTextEditor: undefined,
  }),
  workspace: Object.assign(anything("workspace"), {
    textDocuments: [],
    notebookDocuments: [],
    workspaceFolders: undefined,
    getConfiguration: () => ({ get: (name, otherwise) => (name in settings ? settings[name] : otherwise) }),
  }),
  env: { language: "en", appName: "test" },
});

const load = Module._load;
Module._load = (name, ...rest) => {
  seen.loaded.push(name);
  return name === "vscode" ? vscode : load(name, ...rest);
};

async function main() {
  const extension = require(file);
  await extension.activate({ subscriptions: [], extensionPath: __dirname });
  await extension.deactivate();
  console.log(JSON.stringify(seen));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
