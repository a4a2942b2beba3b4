// Which part of the lab is shown: by what stands behind # in the address.

import { useEffect, useState } from "preact/hooks";

import { LivingLine } from "./line/LivingLine";
import { PREFIX } from "./workbench/link";
import { Workbench } from "./workbench/Workbench";

const WORKBENCH = "#workbench";

export function Router() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = () => setHash(location.hash);
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  const isWorkbench = hash.startsWith(WORKBENCH);
  const data = hash.startsWith(PREFIX) ? hash.slice(PREFIX.length) : "";
  return (
    <>
      <nav class="places" aria-label="Parts of the lab">
        <a href="#" aria-current={isWorkbench ? undefined : "page"}>
          The living line
        </a>
        <a href={WORKBENCH} aria-current={isWorkbench ? "page" : undefined}>
          Workbench
        </a>
      </nav>
      {isWorkbench ? <Workbench key={data} data={data} /> : <LivingLine />}
    </>
  );
}
