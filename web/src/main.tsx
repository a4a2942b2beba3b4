// The lab: one page, of which the living line is the first screen.

import { render } from "preact";

import { LivingLine } from "./line/LivingLine";
import "./lab.css";

render(<LivingLine />, document.getElementById("lab")!);
