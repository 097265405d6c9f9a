// @ts-check
import { serve } from '@hono/node-server'

/**
 * Listens on any free port and says where in the first line of output, as `up --json` does.
 * @param {import('hono').Hono} app
 */
export function listen(app) {
  app.get('/ready', context => context.json({ ready: true }))
  serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
    console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` })),
  )
}
