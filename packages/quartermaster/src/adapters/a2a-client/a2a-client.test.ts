import { describe, expect, it, onTestFinished } from 'vitest'
import type { RemotePlace } from '../../core/external-peers/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { httpEndpoint } from '../mcp-upstream/testing/http-endpoint.ts'
import { createA2aClient } from './index.ts'

type Serve = Parameters<typeof httpEndpoint>[0]

const NEVER = new AbortController().signal

/** An agent elsewhere that answers as a test says, and the way to it. */
async function agentThat(serve: Serve, more: Partial<RemotePlace> = {}) {
  const { url } = await httpEndpoint(serve)
  const client = createA2aClient({
    clock: createFakeClock(),
    resolve: async () => [{ address: '10.0.0.1', family: 4 }],
  })
  onTestFinished(() => client.close())
  const place: RemotePlace = { cardUrl: url, url, hosts: [], binding: 'JSONRPC', tenant: null, ...more }
  return { client, place, url, card: () => client.card(place, NEVER) }
}

const interfaceAt = (url: string, more: object = {}) => ({
  url,
  protocolBinding: 'JSONRPC',
  protocolVersion: '1.0',
  ...more,
})

describe('the card of an agent elsewhere', () => {
  const serving = (card: (url: string) => unknown) =>
    agentThat(({ json, headers }) => json(200, card(`http://${headers.host}`)))

  it('says where tasks go, by the first of our bindings that it has', async () => {
    const { card, url } = await serving(own => ({
      supportedInterfaces: [
        interfaceAt(`${own}/grpc`, { protocolBinding: 'GRPC' }),
        interfaceAt(`${own}/rest`, { protocolBinding: 'HTTP+JSON' }),
        interfaceAt(`${own}/rpc`, { tenant: 'acme' }),
      ],
      capabilities: { streaming: true },
      description: 'Paints.',
      skills: [{ id: 'paint', name: 'Paint', description: 'x', tags: ['art', 7] }, { nonsense: true }],
    }))
    expect(await card()).toEqual({
      url: `${new URL(url).origin}/rpc`,
      binding: 'JSONRPC',
      tenant: 'acme',
      streaming: true,
      facts: { description: 'Paints.', skills: [{ id: 'paint', name: 'Paint', description: 'x', tags: ['art'] }] },
    })
  })

  it.each([
    ['is nothing of the kind', () => ({ hello: 1 }), /has no interface/],
    ['is a list', () => [], /no agent card/],
    ['is one of 0.3', () => ({ protocolVersion: '0.3.0', url: 'http://x' }), /older A2A version. Version 1\.0/],
    [
      'speaks another version',
      (url: string) => ({ supportedInterfaces: [interfaceAt(url, { protocolVersion: '2.0' })] }),
      /A2A "2\.0" only/,
    ],
    [
      'speaks gRPC alone',
      (url: string) => ({ supportedInterfaces: [interfaceAt(url, { protocolBinding: 'GRPC' })] }),
      /speaks "GRPC" only. Supported are JSONRPC and HTTP\+JSON/,
    ],
    [
      'wants an extension',
      (url: string) => ({
        supportedInterfaces: [interfaceAt(url)],
        capabilities: { extensions: [{ uri: 'urn:x', required: true }] },
      }),
      /requires the extension "urn:x"/,
    ],
    [
      'leads inside this network',
      () => ({ supportedInterfaces: [interfaceAt('https://192.168.1.1/a2a')] }),
      /"192\.168\.1\.1" leads to an address inside.*name its host with "hosts"/,
    ],
    [
      'leads to the metadata of a cloud',
      () => ({ supportedInterfaces: [interfaceAt('https://169.254.169.254/latest')] }),
      /leads to an address inside/,
    ],
    [
      'leads elsewhere in the clear',
      () => ({ supportedInterfaces: [interfaceAt('http://agents.example.com/a2a')] }),
      /not reached by https:/,
    ],
  ])('is refused when it %s', async (_what, made, message) => {
    const { card } = await serving(made)
    await expect(card()).rejects.toMatchObject({ trouble: 'unfit', message: expect.stringMatching(message) })
  })

  it.each([
    [404, 'unfit', /no card at this address/],
    [401, 'unauthorized', /rejects our credentials/],
    [302, 'unfit', /It redirects/],
    [500, 'broken', /HTTP 500/],
  ])('is not had where HTTP %i is answered', async (status, trouble, message) => {
    const { card } = await agentThat(
      ({ response }) => void response.writeHead(status, { location: 'https://elsewhere' }).end(),
    )
    await expect(card()).rejects.toMatchObject({ trouble, message: expect.stringMatching(message) })
  })

  it('may not be endless', async () => {
    const { card } = await agentThat(({ response }) => void response.writeHead(200).end('x'.repeat(300_000)))
    await expect(card()).rejects.toMatchObject({ message: expect.stringMatching(/longer than 262144 bytes/) })
  })

  it('may be no JSON', async () => {
    const { card } = await agentThat(({ response }) => void response.writeHead(200).end('<html>'))
    await expect(card()).rejects.toMatchObject({ trouble: 'unfit', message: expect.stringMatching(/not JSON/) })
  })

  it('is asked for with the key, and so is everything else there', async () => {
    const seen: (string | string[] | undefined)[] = []
    const credential = { header: 'X-Key', value: 'k1' }
    const { client, place } = await agentThat(
      ({ json, headers }) => {
        seen.push(headers['x-key'], headers['a2a-version'])
        json(200, { result: { id: 't', status: { state: 'TASK_STATE_WORKING' } } })
      },
      { credential },
    )
    await client.get(place, 't', NEVER)
    expect(seen).toEqual(['k1', '1.0'])
  })
})

it.each(['JSONRPC', 'HTTP+JSON'] as const)('says over %s how often a task was passed on', async binding => {
  const seen: unknown[] = []
  const task = { id: 't', status: { state: 'TASK_STATE_WORKING' } }
  const { client, place } = await agentThat(
    ({ json, text }) => {
      const { params, message } = JSON.parse(text)
      seen.push((params?.message ?? message).metadata)
      json(200, binding === 'JSONRPC' ? { result: { task } } : { task })
    },
    { binding },
  )
  await client.send(place, { messageId: 'm1', parts: [], hops: 3 }, NEVER)
  await client.send(place, { messageId: 'm2', parts: [], taskId: 't' }, NEVER)
  expect(seen).toEqual([{ 'quartermaster/hops': 3 }, undefined])
})

describe('a name in a card that leads inside', () => {
  it('is not gone to, unless the owner has named it', async () => {
    const { client, place } = await agentThat(({ json }) => json(200, {}))
    const elsewhere = { ...place, url: 'https://agents.example.com/a2a' }
    await expect(client.get(elsewhere, 't', NEVER)).rejects.toMatchObject({
      trouble: 'unfit',
      message: expect.stringMatching(/"agents\.example\.com" leads to an address inside/),
    })
  })
})

describe('what an agent elsewhere says is wrong', () => {
  it.each([
    [-32_001, 'unknownTask'],
    [-32_004, 'unsupported'],
    [-32_602, 'refused'],
    [-32_603, 'broken'],
  ])('is told by its code in JSON-RPC: %i is %s', async (code, trouble) => {
    const { client, place } = await agentThat(({ json }) => json(200, { error: { code, message: 'no\u202e way' } }))
    await expect(client.get(place, 't', NEVER)).rejects.toMatchObject({ trouble, message: 'It says: no way' })
  })

  it.each([
    [404, 'TASK_NOT_FOUND', 'unknownTask'],
    [400, 'UNSUPPORTED_OPERATION', 'unsupported'],
    [400, 'INVALID_PARAMS', 'refused'],
  ])('is told by its reason in HTTP+JSON: %i %s is %s', async (status, reason, trouble) => {
    const error = { error: { code: status, message: 'no', details: [{ reason }] } }
    const { client, place } = await agentThat(({ json }) => json(status, error), { binding: 'HTTP+JSON' })
    await expect(client.get(place, 't', NEVER)).rejects.toMatchObject({ trouble })
  })

  it('is waited for when it is busy', async () => {
    const { client, place } = await agentThat(
      ({ response }) => void response.writeHead(503, { 'retry-after': '7' }).end(),
    )
    await expect(client.get(place, 't', NEVER)).rejects.toMatchObject({ trouble: 'busy', retryAfterMs: 7_000 })
  })

  it('is nothing at all where nobody listens', async () => {
    const { client, place } = await agentThat(({ json }) => json(200))
    const nowhere = { ...place, url: 'http://127.0.0.1:9/', cardUrl: 'http://127.0.0.1:9/' }
    await expect(client.get(nowhere, 't', NEVER)).rejects.toMatchObject({
      trouble: 'unreachable',
      message: expect.stringMatching(/nothing listens/),
    })
  })

  it('may be that it does not stream, although its card says so', async () => {
    const { client, place } = await agentThat(({ json }) => json(200, { result: { task: {} } }))
    const read = async () => {
      for await (const _ of client.subscribe(place, 't', NEVER)) throw new Error('nothing was to come')
    }
    await expect(read()).rejects.toMatchObject({ trouble: 'unsupported' })
  })
})
