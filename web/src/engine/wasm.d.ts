// The bytes of the engine, packed by gzip, in base64, as vite.config.ts gives them.
declare module "virtual:engine" {
  const base64: string;
  export default base64;
}
