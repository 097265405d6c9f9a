import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectToOwner, openDataFolder } from '../../adapters/data-folder/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { borrow } from './connect.ts'

/** What the clock of another process may say. */
const LONG_AGO = 1_700_000_000_000

/** A token that was borrowed from an `up`, and what that was asked for with the admin token. */
async function borrowed() {
  const { dir } = await tempProject()
  const folder = openDataFolder(dir)
  await folder.ensure()
  const asked: string[] = []
  const up = { proofToken: await folder.adminToken() }
  const { url, port } = await listening((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    if (request.headers.authorization !== undefined) asked.push(pathname.replace('/api/v1/control/', ''))
    if (pathname === '/health')
      return response.end(
        JSON.stringify({ proof: folder.prover(up.proofToken)(searchParams.get('challenge') ?? '', port()) }),
      )
    response.setHeader('content-type', 'application/x-ndjson')
    response.end(
      `${JSON.stringify({ result: { id: 'run_1', token: 'qm_x', expiresAt: LONG_AGO, goodForMs: 60_000 } })}\n`,
    )
  })
  const announce = (at: string) => folder.writeEndpoint({ url: at, pid: process.pid, startedAt: 0, version: '1' })
  await announce(url)
  const owner = await connectToOwner({ dir })
  if (!owner) throw new Error('The owner did not prove itself.')
  const gateway = await borrow(owner, { agent: 'worker', dataDir: dir })
  return { gateway, asked, up, announce, proof: up.proofToken, folder }
}

async function listening(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = () => (server.address() as AddressInfo).port
  return { url: `http://127.0.0.1:${port()}`, port }
}

describe('a borrowed token', () => {
  it('is good for as long as it was lent, whatever the clocks of the two say', async () => {
    const { gateway } = await borrowed()
    expect(gateway.goodForMs).toBe(60_000)
  })

  it('is extended by whoever lent it', async () => {
    const { gateway, asked } = await borrowed()
    await gateway.extend()
    expect(asked).toEqual(['lendToken', 'extendToken'])
  })

  it('is not spoken of to a stranger who has the port by now', async () => {
    const { gateway, asked, up } = await borrowed()
    up.proofToken = 'a guess'
    await expect(gateway.extend()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    await expect(gateway.giveBack()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(asked).toEqual(['lendToken'])
  })

  it('has ended when another owns the folder', async () => {
    const { gateway, announce, asked, proof, folder } = await borrowed()
    const other = await listening((request, response) => {
      const challenge = new URL(request.url ?? '', 'http://x').searchParams.get('challenge') ?? ''
      response.end(JSON.stringify({ proof: folder.prover(proof)(challenge, other.port()) }))
    })
    await announce(other.url)
    await expect(gateway.extend()).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    expect(asked).toEqual(['lendToken'])
  })
})
