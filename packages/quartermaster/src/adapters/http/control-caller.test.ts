import { afterEach, expect, it } from 'vitest'
import type { PersonControl } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { startHttpServer, type TestServer } from '../../testing/http-server.ts'

let server: TestServer | undefined

afterEach(async () => {
  await server?.close(0)
  server = undefined
})

/** A server that knows the tokens of one person and one agent, and what was answered in whose name. */
async function serve() {
  const tokens = new Map<string, { organisation: string; person?: string; agent?: string }>([
    ['qm_eve', { organisation: 'default', person: 'eve' }],
    ['qm_ada', { organisation: 'default', agent: 'ada' }],
  ])
  const known = deferred<void>()
  const answers: string[] = []
  const controlOf = ({ organisation, name }: { organisation: string; name: string }) =>
    ({
      approvals: async () => (answers.push(`${organisation}/${name}`), []),
    }) as Partial<PersonControl> as PersonControl
  const holderOf = (token: string) => {
    known.resolve()
    return tokens.get(token)
  }
  const open = await startHttpServer({ persons: { holderOf, controlOf } })
  server = open
  const post = (token: string, body: string | ReadableStream = '{}', operation = 'approvals') =>
    open.post(operation, {}, { headers: { Authorization: `Bearer ${token}` }, body, duplex: 'half' } as RequestInit)
  return { tokens, known, answers, post }
}

it('does what a person asks in their name', async () => {
  const { answers, post } = await serve()
  expect((await post('qm_eve')).status).toBe(200)
  expect(answers).toEqual(['default/eve'])
  expect([(await post('qm_ada')).status, (await post('qm_nobody')).status]).toEqual([401, 401])
  expect((await post('qm_eve', '{}', 'status')).status).toBe(403)
  expect(answers).toEqual(['default/eve'])
})

it('hears no token that was taken back while its request was on the way', async () => {
  const { tokens, known, answers, post } = await serve()
  const rest = deferred<void>()
  const body = new ReadableStream({
    async start(stream) {
      stream.enqueue(new TextEncoder().encode('{'))
      await rest.promise
      stream.enqueue(new TextEncoder().encode('}'))
      stream.close()
    },
  })
  const answer = post('qm_eve', body)
  await known.promise
  tokens.delete('qm_eve')
  rest.resolve()
  expect((await answer).status).toBe(401)
  expect(answers).toEqual([])
})
