// Starts the exoskel language server and connects the editor to it.
"use strict";

const { execFile } = require("child_process");
const path = require("path");
const { commands, extensions, Uri, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const SCHEMAS = ["skel", "xode", "urdf", "sdf"];
const FILES = "**/*.{urdf,sdf,world,mjcf,xacro}";
let client;

// The interpreter that the Python extension has selected; undefined without that extension.
async function selectedInterpreter() {
  const python = extensions.getExtension("ms-python.python");
  if (!python) {
    return undefined;
  }
  const api = python.isActive ? python.exports : await python.activate();
  const environments = api && api.environments;
  if (!environments) {
    return undefined;
  }
  const found = await environments.resolveEnvironment(environments.getActiveEnvironmentPath());
  return found && found.executable.uri && found.executable.uri.fsPath;
}

// Whether an interpreter can run the language server.
function hasServer(interpreter) {
  return new Promise((resolve) => {
    execFile(interpreter, ["-c", "import exoskel.lsp.server"], { timeout: 20000 }, (error) => resolve(!error));
  });
}

async function serverCommand(settings) {
  const stated = settings.get("command");
  if (stated && stated.length > 0) {
    return stated;
  }
  const interpreter = await selectedInterpreter().catch(() => undefined);
  if (interpreter && (await hasServer(interpreter))) {
    return [interpreter, "-m", "exoskel", "lsp"];
  }
  return ["exoskel", "lsp"];
}

async function start() {
  const settings = workspace.getConfiguration("exoskel");
  const [command, ...args] = await serverCommand(settings);
  client = new LanguageClient(
    "exoskel",
    "Exoskel",
    { command, args },
    {
      documentSelector: [{ language: "skel" }, { language: "xode" }, { scheme: "file", pattern: FILES }],
      initializationOptions: {
        semantics: settings.get("semantics"),
        dialect: settings.get("dialect"),
        packagePath: settings.get("packagePath"),
        expand: settings.get("expand"),
        arguments: settings.get("arguments"),
      },
    },
  );
  return client.start().catch((error) => {
    window.showErrorMessage(
      `Cannot start the exoskel language server: ${error.message}. Install it with: pip install "exoskel[lsp]"`,
    );
  });
}

// Let the XML extension of Red Hat validate and complete files with our schemas, if it is installed.
async function associateSchemas(folder) {
  const xml = extensions.getExtension("redhat.vscode-xml");
  const api = xml && (await xml.activate());
  if (api && api.addXMLFileAssociations) {
    const schema = (name) => Uri.file(path.join(folder, "schemas", `${name}.xsd`)).toString();
    api.addXMLFileAssociations(SCHEMAS.map((name) => ({ pattern: `**/*.${name}`, systemId: schema(name) })));
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) {
    await running.stop().catch(() => undefined);
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(commands.registerCommand("exoskel.restart", restart));
  await associateSchemas(context.extensionPath).catch(() => undefined);
  await start();
}

module.exports = { activate, deactivate: stop };
