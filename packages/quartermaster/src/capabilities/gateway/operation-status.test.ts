import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import gateway from './index.ts'
import { structured, textOf } from './testing/office.ts'

/** A post office that is closed at first, an agent that sees its tools directly, one behind the gateway, and one that reads. */
async function postOffice() {
  let runs = 0
  const handler = () => {
    runs++
    if (runs === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post office is closed.')
    return 'sent'
  }
  const sendMail = simpleTool('send_mail', { mutates: true, idempotent: true, retry: 'replay', handler })
  const hub = await createHub({
    units: {
      gateway: builtinUnit(gateway),
      post: { capabilities: [simpleCapability('post', [sendMail])] },
      reading: { capabilities: [simpleCapability('reading', [simpleTool('read_report')])] },
    },
    agents: {
      ada: { capabilities: { post: {} } },
      bob: { capabilities: { post: {} }, view: 'gateway' },
      eve: { capabilities: { reading: {} } },
    },
  })
  const shown = (agent: string) =>
    hub.agents
      .session(agent)
      .view()
      .presented.map(({ tool }) => tool.name)
  return { hub, shown }
}

/** An agent whose tool answers this. */
function writing(handler: () => unknown) {
  const write = simpleTool('write', { mutates: true, handler })
  return createHub({
    units: { gateway: builtinUnit(gateway), main: { capabilities: [simpleCapability('main', [write])] } },
    agents: { ada: { capabilities: { main: {} }, view: 'gateway' } },
  })
}

interface Status {
  operations?: {
    id: string
    state: string
    nextAttemptAt?: number
    nextOffset?: number
    result?: { content: unknown[] }
  }[]
}

describe('get_status', () => {
  it('comes beside tools whose calls may have to wait, and beside no others', async () => {
    const { shown } = await postOffice()
    expect(shown('ada')).toEqual(['send_mail', 'get_status'])
    expect(shown('bob')).toContain('get_status')
    expect(shown('eve')).toEqual(['read_report'])
  })

  it('is asked as the handle says, with the name that the id has there', async () => {
    const { hub } = await postOffice()
    const { operationId, result } = await hub.callAs('ada', 'send_mail')
    const given = `{"id":"${operationId}"}`
    expect(result.content).toMatchObject([{ text: expect.stringContaining(`get_status ${given} shows the result.`) }])
    const status = await structured<Status>(hub, 'ada', 'get_status', JSON.parse(given))
    expect(status.operations).toMatchObject([{ id: operationId, state: 'queued' }])
  })

  it('tells how a call stands that waits, and what it came to', async () => {
    const { hub } = await postOffice()
    const { operationId: operation } = await hub.callAs('ada', 'send_mail')
    const waiting = await structured<Status>(hub, 'ada', 'get_status', { operationId: operation })
    expect(waiting.operations).toMatchObject([
      { id: operation, state: 'queued', nextAttemptAt: hub.clock.now() + 10_000 },
    ])
    expect(await textOf(hub, 'ada', 'get_status')).toContain(`${operation} (send_mail): waits to be tried again`)
    await hub.clock.advance(10_000)
    const done = await structured<Status>(hub, 'ada', 'get_status', { operationId: operation })
    expect(done.operations).toMatchObject([
      { state: 'succeeded', result: { content: [{ type: 'text', text: 'sent' }] } },
    ])
    expect(await textOf(hub, 'ada', 'get_status', { operationId: operation })).toMatch(/done\.\nsent$/)
    expect(await structured<Status>(hub, 'ada', 'get_status')).not.toHaveProperty('operations')
  })

  it('reads a result that was cut to its end, page by page', async () => {
    const long = 'ä'.repeat(200_000)
    const hub = await writing(() => long)
    const { operationId: operation } = await hub.callAs('ada', 'write', {}, { idempotencyKey: 'k' })
    const first = (await structured<Status>(hub, 'ada', 'get_status', { operationId: operation })).operations?.[0]
    expect(first).toMatchObject({ nextOffset: 262_144, result: { content: [{ text: 'ä'.repeat(131_072) }, {}] } })
    const offset = first?.nextOffset
    expect(await textOf(hub, 'ada', 'get_status', { operationId: operation })).toMatch(/"offset": 262144\.\]$/)
    await hub.clock.advance(3_600_000)
    const last = (await structured<Status>(hub, 'ada', 'get_status', { operationId: operation, offset }))
      .operations?.[0]
    expect(last).toMatchObject({ result: { content: [{ text: 'ä'.repeat(68_928) }] } })
    expect(last).not.toHaveProperty('nextOffset')
  })

  it('hands over a picture as one, and no base64 beside it', async () => {
    const picture = { type: 'image' as const, data: 'QUJD'.repeat(1_000_000), mimeType: 'image/png' }
    const hub = await writing(() => toolResult({ content: [picture] }))
    const { operationId } = await hub.callAs('ada', 'write', {}, { idempotencyKey: 'k' })
    const { result, kept } = await hub.callAs('ada', 'get_status', { operationId })
    expect(kept).toBeUndefined()
    expect(result.content[1]).toEqual(picture)
    expect(result.structuredContent).toMatchObject({
      operations: [{ result: { content: [{ ...picture, data: '' }] } }],
    })
  })

  it('knows nothing of anybody else’s operations', async () => {
    const { hub } = await postOffice()
    const { operationId: operation } = await hub.callAs('ada', 'send_mail')
    expect(await failureOf(hub.callAs('bob', 'get_status', { operationId: operation }))).toMatchObject({
      code: 'NAME_UNKNOWN',
    })
    expect(await structured<Status>(hub, 'bob', 'get_status')).not.toHaveProperty('operations')
  })
})
