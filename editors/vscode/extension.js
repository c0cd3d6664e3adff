// Starts the exoskel language server and connects the editor to it.
"use strict";

const { workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("exoskel");
  const [command, ...args] = settings.get("command");
  client = new LanguageClient(
    "exoskel",
    "Exoskel",
    { command, args },
    {
      documentSelector: [{ language: "skel" }, { language: "xode" }],
      initializationOptions: {
        semantics: settings.get("semantics"),
        dialect: settings.get("dialect"),
        packagePath: settings.get("packagePath"),
      },
    },
  );
  return client.start().catch((error) => {
    window.showErrorMessage(
      `Cannot start the exoskel language server: ${error.message}. Install it with: pip install "exoskel[lsp]"`,
    );
  });
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
