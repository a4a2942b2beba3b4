// The lab: one page, of which the router shows a part.

import { render } from "preact";

import { Router } from "./router";
import "./lab.css";

render(<Router />, document.getElementById("lab")!);
