import { createServer, type Server } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where to ask for the address of the server that all tests share. */
    readonly postgresFixture: number
  }
}

/**
 * One server for all tests of a run, started when the first of them asks for it: most runs are of a few tests that need none.
 */
export default async function share({ provide }: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<PostgresServer> | undefined
  const fixture = createServer(socket => {
    socket.on('error', () => {})
    starting ??= startPostgres()
    starting.then(
      ({ url }) => socket.end(JSON.stringify({ url })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    )
  })
  provide('postgresFixture', await listening(fixture))
  return async () => {
    fixture.close()
    // A server that could not start has already rejected its caller.
    const server = await starting?.catch(() => undefined)
    await server?.stop()
  }
}

function listening(server: Server): Promise<number> {
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}
