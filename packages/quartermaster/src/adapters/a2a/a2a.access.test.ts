import { describe, expect, it } from 'vitest'
import { DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { openA2a, said } from '../../testing/a2a-fixture.ts'

type At = Awaited<ReturnType<typeof openA2a>>

const TTL_MS = 1_500

/** Who sends a task and waits for its end, in each binding. */
const BINDINGS = {
  'HTTP+JSON': {
    send: ({ hear, bob }: At, token: string, body: object) =>
      hear<object>(`${bob.id}/message:send`, { method: 'POST', token, body }),
    refused: { status: 401, body: { error: { code: 401, status: 'UNAUTHENTICATED' } } },
  },
  'JSON-RPC': {
    send: ({ hear, bob }: At, token: string, params: object) =>
      hear<object>(bob.id, { method: 'POST', token, body: { jsonrpc: '2.0', id: 7, method: 'SendMessage', params } }),
    refused: { status: 401, body: { id: 7, error: { code: -32_000, data: [{ reason: 'TOKEN_INVALID' }] } } },
  },
} as const

const ENDS: Readonly<Record<string, (at: At, tokenId: string) => Promise<unknown>>> = {
  'its token is revoked': ({ organisation: { tokens } }, id) => tokens.revoke(id),
  'the time of its token is over': ({ clock }) => clock.advance(TTL_MS),
  'its workspace is archived': ({ organisation: { workspaces }, ada }) =>
    workspaces.archive(DEFAULT_ORGANISATION, ada.id),
}

describe.each(Object.entries(BINDINGS))('whoever waits for a task over %s', (_, { send, refused }) => {
  it.each(Object.entries(ENDS))('gets nothing of it when %s', async (_way, end) => {
    const at = await openA2a()
    const { token, facts } = await at.organisation.tokens.create({ agent: 'ada', ttlMs: TTL_MS })
    const waiting = send(at, token, { message: said('count the boxes') })
    await expect.poll(() => at.store.count('inbox')).toBe(1)
    await end(at, facts.id)
    expect(await waiting).toMatchObject(refused)
  })

  it('gets nothing of an end that comes in the same moment, which the others are told', async () => {
    const at = await openA2a()
    const { token, facts } = await at.organisation.tokens.create({ agent: 'ada' })
    const waiting = send(at, token, { message: said('count the boxes') })
    await expect.poll(() => at.store.count('inbox')).toBe(1)
    const [task] = await at.take(at.bob)
    const revoked = at.organisation.tokens.revoke(facts.id)
    await at.delegations.replyTo(at.bob, task?.id ?? '', { message: 'Seven.' })
    await revoked
    expect(JSON.stringify(await waiting)).not.toContain('Seven.')
    expect(await waiting).toMatchObject(refused)
    expect(await at.take(at.ada)).toMatchObject([{ text: expect.stringContaining('Seven.') }])
  })
})
