import { Hono } from 'hono'
import type { Control } from '../../contracts/index.ts'
import { limitInFlight, requireAdmin } from './admin.ts'
import { methodNotAllowed } from './control-api.ts'
import type { HttpApp, HttpEnv } from './env.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import type { HttpLimits } from './limits.ts'

export interface CapabilitiesApiOptions {
  control: Pick<Control, 'capabilities'>
  isAdmin: (token: string) => boolean
  limits: Pick<HttpLimits, 'maxInFlight'>
  report: ErrorReporter
}

/**
 * `GET` answers every capability with its tools and configuration schema. It names what no single agent may know of, so
 * it takes the admin token; an agent sees its own tools over MCP.
 */
export function capabilitiesApi({ control, isAdmin, limits, report }: CapabilitiesApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  api.use('*', requireAdmin(isAdmin), limitInFlight(limits.maxInFlight))
  api.get('/', async c => {
    try {
      return c.json(await control.capabilities({}, { signal: c.req.raw.signal }))
    } catch (error) {
      // The framework's own handler sees nothing that is not an Error.
      return problemResponse(report(error))
    }
  })
  api.all('/', methodNotAllowed('GET, HEAD'))
  return api
}
