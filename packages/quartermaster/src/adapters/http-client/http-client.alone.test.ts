import { createRequire } from 'node:module'
import { expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { httpEndpoint } from '../mcp-upstream/testing/http-endpoint.ts'
import { createHttpClient } from './index.ts'

/** What this process has loaded of the package. */
const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter(file => /[\\/]undici[\\/]/.test(file))

it('loads what it sends with when there is something to send, and no more of it than that takes', async () => {
  const server = await httpEndpoint(({ json }) => json(200))
  const client = createHttpClient({ clock: createFakeClock(), connectMs: 700 })
  onTestFinished(() => client.close())
  expect(loaded()).toEqual([])
  await client.send({
    method: 'GET',
    url: new URL(server.url),
    headers: {},
    signal: new AbortController().signal,
  })
  expect(loaded().filter(file => /[\\/](agent|fetch|websocket)[\\/.]/.test(file))).toEqual([
    expect.stringMatching(/agent\.js$/),
  ])
})
