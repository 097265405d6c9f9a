import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectToOwner, openDataFolder } from '../../adapters/data-folder/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { borrow } from './connect.ts'

const LONG_AGO = 1_700_000_000_000

/** A token borrowed from an `up`, and the operations that the `up` received with the admin token. */
async function borrowed() {
  const { dir } = await tempProject()
  const folder = openDataFolder(dir)
  await folder.ensure()
  const received: string[] = []
  const up = { proofToken: await folder.adminToken() }
  const { url, port } = await listening((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    if (request.headers.authorization !== undefined) received.push(pathname.replace('/api/v1/control/', ''))
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
  return { gateway, received, up, announce, proof: up.proofToken, folder }
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
  it('is not sent to another program that has the port by now', async () => {
    const { gateway, received, up } = await borrowed()
    up.proofToken = 'a guess'
    await expect(gateway.extend()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    await expect(gateway.giveBack()).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(received).toEqual(['lendToken'])
  })

  it('has ended when another process owns the folder', async () => {
    const { gateway, announce, received, proof, folder } = await borrowed()
    const other = await listening((request, response) => {
      const challenge = new URL(request.url ?? '', 'http://x').searchParams.get('challenge') ?? ''
      response.end(JSON.stringify({ proof: folder.prover(proof)(challenge, other.port()) }))
    })
    await announce(other.url)
    await expect(gateway.extend()).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    expect(received).toEqual(['lendToken'])
  })
})
