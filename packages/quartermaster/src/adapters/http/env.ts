import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'

/** What handlers find in the context: Node's own request and response. */
export interface HttpEnv {
  Bindings: HttpBindings
}

/** The application. Further routes may be added until the first request; the guards hold for them too. */
export type HttpApp = Hono<HttpEnv>
