// The lab: one page with the living line, lessons and the workbench.

import { render } from "preact";

import { App } from "./App";
import "./lab.css";

render(<App />, document.getElementById("lab")!);
