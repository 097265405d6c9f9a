import { describe, expect, it } from 'vitest'
import { openA2a, said } from '../../testing/a2a-fixture.ts'

interface Failed {
  readonly id: unknown
  readonly error: { readonly code: number; readonly data: readonly { reason: string; domain: string }[] }
}

const call = (more: object = {}) => ({ jsonrpc: '2.0', id: 'mine', method: 'ListTasks', params: {}, ...more })

describe('an error', () => {
  it('has the id of the call that it answers, however early it was refused', async () => {
    const at = await openA2a()
    const reader = await at.tokenOf(at.ada, ['read'])
    const person = await at.organisation.tokens.create({ person: 'pat' })
    const early = [
      { to: at.bob.id, headers: { 'a2a-version': '' }, code: -32_009 },
      { to: at.bob.id, headers: { 'a2a-version': '0.3' }, code: -32_009 },
      { to: 'ws_nobody', code: -32_000 },
      { to: at.bob.id, token: reader.token, code: -32_000 },
      { to: at.bob.id, token: person.token, code: -32_000 },
      { to: at.bob.id, body: call({ method: 'listtasks' }), code: -32_601 },
      { to: at.bob.id, body: call({ method: 7 }), code: -32_600 },
      { to: at.bob.id, body: call({ jsonrpc: '1.0' }), code: -32_600 },
      { to: at.bob.id, body: call({ params: 'none' }), code: -32_602 },
      { to: at.bob.id, body: call({ params: [] }), code: -32_602 },
    ]
    for (const { to, code, body = call(), ...asked } of early) {
      const { body: heard } = await at.hear<Failed>(to, { method: 'POST', body, ...asked })
      expect([heard.id, heard.error.code]).toEqual(['mine', code])
    }
  })

  it('has no id where none could be read, or where nobody is to be read', async () => {
    const at = await openA2a()
    const heard = async (asked: object) =>
      (await at.hear<Failed>(at.bob.id, { method: 'POST', body: call(), ...asked })).body.id
    expect(await heard({ body: '{' })).toBeNull()
    expect(await heard({ body: '[]' })).toBeNull()
    expect(await heard({ body: call({ id: {} }) })).toBeNull()
    expect(await heard({ headers: { 'content-type': 'text/plain' } })).toBeNull()
    expect(await heard({ token: 'qm_made_up' })).toBeNull()
  })

  it('that the protocol has no code for is one of this server, and says which', async () => {
    const at = await openA2a()
    const heard = async (to: string, body: object) =>
      (await at.hear<Failed>(to, { method: 'POST', body })).body.error.data[0]
    expect(await heard('ws_nobody', call())).toMatchObject({ reason: 'NAME_UNKNOWN', domain: 'quartermaster' })
    const sent = (text: string) =>
      call({
        method: 'SendMessage',
        params: { message: { ...said(text), messageId: 'm' }, configuration: { returnImmediately: true } },
      })
    await at.hear(at.bob.id, { method: 'POST', body: sent('count') })
    const { body } = await at.hear<Failed>(at.bob.id, { method: 'POST', body: sent('count again') })
    expect(body.error).toMatchObject({ code: -32_000, data: [{ reason: 'IDEMPOTENCY_CONFLICT' }] })
  })
})
