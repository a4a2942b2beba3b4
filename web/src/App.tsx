// The pages of the lab by the part of the address after "#", and the way from one to the other.

import { useEffect, useState } from "preact/hooks";

import { findPage } from "./lessons/pages";
import { LivingLine } from "./line/LivingLine";
import { PREFIX, readGiven } from "./workbench/link";
import { Workbench } from "./workbench/Workbench";

const PAGES = [
  { hash: "#", name: "Living line" },
  { hash: "#lessons", name: "Lessons" },
  { hash: "#workbench", name: "Workbench" },
] as const;

/** Whether a page is the one of an address. */
function isAt(page: string, hash: string): boolean {
  return page === "#" ? hash.length < 2 : hash.startsWith(page.slice(0, 7));
}

/** The address at the start: a page that somebody has put a scenario into begins with it. */
function begin(): string {
  return location.hash.length < 2 && hasGiven() ? "#workbench" : location.hash;
}

function hasGiven(): boolean {
  try {
    return readGiven() !== null;
  } catch {
    // The workbench says what is wrong with it.
    return true;
  }
}

function show(hash: string) {
  if (!hash.startsWith("#workbench")) return findPage(hash) ?? <LivingLine />;
  const data = hash.startsWith(PREFIX) ? hash.slice(PREFIX.length) : "";
  return <Workbench key={data} data={data} />;
}

export function App() {
  const [hash, setHash] = useState(begin);
  useEffect(() => {
    const read = (): void => {
      setHash(location.hash);
      scrollTo(0, 0);
    };
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return (
    <>
      <nav aria-label="pages of the lab">
        <b>headend</b>
        {PAGES.map((page) => (
          <a href={page.hash} aria-current={isAt(page.hash, hash) ? "page" : undefined}>
            {page.name}
          </a>
        ))}
      </nav>
      {show(hash)}
    </>
  );
}
