// The part of pdf.js that usually runs in a worker of its own comes without types. It is handed on, never called.
declare module "pdfjs-dist/build/pdf.worker.mjs" {
  export const WorkerMessageHandler: unknown;
}
