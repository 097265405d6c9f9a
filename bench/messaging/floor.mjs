// @ts-check
// The least that can take a message on this stack: parse JSON, commit one text with the bare driver, answer JSON. It knows no
// tokens, no workspaces, no logs and no inboxes.
import { Hono } from 'hono'
import { listen } from '../gateway/servers/listen.mjs'
import { openDirect } from './direct.mjs'

const direct = await openDirect(process.env['DATABASE_URL'])
const app = new Hono()
app.post('/api/v1/messages', async context => {
  const { text } = await context.req.json()
  await direct.commit()
  return context.json({ text }, 201)
})

listen(app)
