import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectToOwner, type DataFolder, openDataFolder } from './index.ts'

let dir: string
let folder: DataFolder
let server: Server | undefined

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'connect-'))
  folder = openDataFolder(dir)
  await folder.ensure()
})

afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
  await rm(dir, { recursive: true, force: true })
})

interface Visit {
  url: string
  authorization: string | undefined
}

/** A program at the address in the endpoint file, and all that it was sent. */
async function ownerIs(handler: RequestListener): Promise<{ url: string; port: number; visits: Visit[] }> {
  const visits: Visit[] = []
  const listening = createServer((request, response) => {
    visits.push({ url: request.url ?? '', authorization: request.headers.authorization })
    handler(request, response)
  })
  server = listening
  await new Promise<void>(resolve => listening.listen(0, '127.0.0.1', resolve))
  const { port } = listening.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  await folder.writeEndpoint({ url, pid: process.pid, startedAt: 0, version: '1.2.3' })
  return { url, port, visits }
}

const challengeIn = (url = '') => new URL(url, 'http://x').searchParams.get('challenge') ?? ''

/** Answers `/health` with a proof made with this token. */
const proving =
  (token: string, port?: number): RequestListener =>
  (request, response) => {
    const proof = folder.prover(token)(challengeIn(request.url), port ?? request.socket.localPort ?? 0)
    response.end(JSON.stringify({ status: 'ok', proof }))
  }

describe('connecting to the owner of a data folder', () => {
  it('gives its address and token once it has proved that it knows the token', async () => {
    const token = await folder.adminToken()
    const { url, visits } = await ownerIs(proving(token))
    expect(await connectToOwner({ dir })).toEqual({ url, token })
    expect(visits).toEqual([
      { url: expect.stringMatching(/^\/health\?challenge=[\w-]{43}$/), authorization: undefined },
    ])
  })

  it('asks something new every time', async () => {
    const { visits } = await ownerIs(proving(await folder.adminToken()))
    await connectToOwner({ dir })
    await connectToOwner({ dir })
    expect(new Set(visits.map(visit => visit.url)).size).toBe(2)
  })

  it('finds nobody without an endpoint, a token, or anyone there', async () => {
    expect(await connectToOwner({ dir })).toBeUndefined()
    await folder.writeEndpoint({ url: 'http://127.0.0.1:1', pid: 1, startedAt: 0, version: '1.2.3' })
    expect(await connectToOwner({ dir })).toBeUndefined()
    await folder.adminToken()
    expect(await connectToOwner({ dir })).toBeUndefined()
    expect(await connectToOwner({ dir: join(dir, 'nowhere') })).toBeUndefined()
  })

  it.each<{ who: string; handler: () => RequestListener }>([
    { who: 'the owner of another folder', handler: () => proving('another token') },
    { who: 'one who passes on a proof from another port', handler: () => proving(TOKEN.value, 1) },
    { who: 'one who only says ok', handler: () => (_request, response) => response.end('{"status":"ok"}') },
    {
      who: 'one who repeats the challenge',
      handler: () => (request, response) => response.end(JSON.stringify({ proof: challengeIn(request.url) })),
    },
    { who: 'a web site', handler: () => (_request, response) => response.end('<h1>Hello</h1>') },
    {
      who: 'one who sends others away',
      handler: () => (_request, response) => response.writeHead(302, { Location: '/elsewhere' }).end(),
    },
    { who: 'one who hangs up', handler: () => request => request.socket.destroy() },
    {
      who: 'one who never stops talking',
      handler: () => (_request, response) => response.end('x'.repeat(1024 * 1024)),
    },
  ])('never gives the token to $who', async ({ handler }) => {
    TOKEN.value = await folder.adminToken()
    const { visits } = await ownerIs(handler())
    expect(await connectToOwner({ dir })).toBeUndefined()
    expect(visits).toHaveLength(1)
    expect(JSON.stringify(visits)).not.toContain(TOKEN.value)
  })

  it('waits only so long', async () => {
    await folder.adminToken()
    await ownerIs(() => {})
    expect(await connectToOwner({ dir, timeoutMs: 20 })).toBeUndefined()
  })

  it.skipIf(process.platform === 'win32')('refuses a token that others could read', async () => {
    await ownerIs(proving(await folder.adminToken()))
    await chmod(join(dir, 'admin-token'), 0o644)
    await expect(connectToOwner({ dir })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

/** The token of the folder at hand; the table above is made before it is known. */
const TOKEN = { value: '' }
