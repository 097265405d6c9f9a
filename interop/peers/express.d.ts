/** As much of it as the SDK's handlers are mounted with. */
declare module 'express' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  type Response = ServerResponse & { status(code: number): Response }
  type Handler = (request: IncomingMessage, response: Response, next: () => void) => void

  interface Application extends RequestListener {
    use(handler: Handler): void
    use(path: string, handler: unknown): void
  }

  export default function express(): Application
}
