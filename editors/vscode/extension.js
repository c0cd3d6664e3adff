// Starts the language server of exoskel and hands over to it.
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
      `Exoskel does not start: ${error.message}. Is it installed? pip install "exoskel[lsp]"`,
    );
  });
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
