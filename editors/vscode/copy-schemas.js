// Copies the schemas of the reference into the extension before it is packaged.
"use strict";

const { cpSync, mkdirSync } = require("fs");
const path = require("path");

const target = path.join(__dirname, "schemas");
mkdirSync(target, { recursive: true });
for (const name of ["skel", "xode", "urdf", "sdf"]) {
  cpSync(path.join(__dirname, "..", "..", "docs", "reference", `${name}.xsd`), path.join(target, `${name}.xsd`));
}
