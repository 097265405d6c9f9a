import { describe, expect, it } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import { asked, deletionFixture, NO, ONCE, OPERATIONS, OWNER, settle } from '../../../testing/deletion-fixture.ts'
import { faultyStorage } from '../../../testing/faulty-storage.ts'
import { failureOf, simpleCapability, simpleTool } from '../../../testing/hub.ts'

describe('a call that a person has to allow', () => {
  it('waits for a while, is not run, and is answered with a handle', async () => {
    const one = await deletionFixture()
    const { answer, id, request } = await asked(one)
    expect(request).toMatchObject({
      tool: 'delete_file',
      callerName: 'ada',
      state: 'open',
      asks: [
        { operation: 'files.delete', reason: 'It deletes a file.', weight: 'moderate', scope: 'a', grantable: 'any' },
      ],
    })
    await one.hub.clock.advance(20_000)
    expect((await answer).waiting).toEqual({
      status: 'waiting',
      operationId: id,
      for: 'approval',
      expiresAt: request?.expiresAt,
    })
    expect(one.runs).toEqual([])
    expect(await one.row(id)).toMatchObject({
      state: 'waitingForApproval',
      attempts: 0,
      arguments: expect.stringMatching(/^s1\./),
    })
  })

  it('is run for its caller when a person allows it in time', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.answer(id, ONCE, OWNER)
    expect((await answer).result.content).toEqual([{ type: 'text', text: 'deleted' }])
    expect(one.runs).toEqual([{ path: 'a' }])
    expect(await one.row(id)).toMatchObject({ state: 'succeeded', attempts: 1 })
    expect(one.hub.audit).toMatchObject([
      { operationId: id, outcome: 'succeeded', consent: { operations: ['files.delete'], by: 'owner' } },
    ])
    expect(one.told).toEqual([])
  })

  it('is run automatically when a person allows it later, and notifies its agent of the result', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.hub.clock.advance(20_000)
    await answer
    await one.hub.clock.advance(3_600_000)
    await one.answer(id, ONCE, OWNER)
    await one.hub.clock.advance(0)
    expect(one.runs).toHaveLength(1)
    expect(await one.row(id)).toMatchObject({ state: 'succeeded', result: { content: [{ text: 'deleted' }] } })
    expect(one.told).toMatchObject([{ id, state: 'succeeded' }])
  })

  it('is run by the process that comes next', async () => {
    const storage = faultyStorage()
    const first = await deletionFixture({ storage })
    const { answer, id } = await asked(first)
    await first.hub.clock.advance(20_000)
    await answer
    await first.hub.stop()
    const second = await deletionFixture({ storage })
    await second.answer(id, ONCE, OWNER)
    await settle(second.hub)
    expect(second.runs).toEqual([{ path: 'a' }])
    expect(await second.row(id)).toMatchObject({ state: 'succeeded' })
  })

  it('is begun by the next process when this one stops before it began', async () => {
    const storage = faultyStorage()
    const first = await deletionFixture({ storage })
    const { answer, id } = await asked(first)
    // Allowed and leased, and stopped at that moment.
    storage.fault = writes => {
      if (writes.some(write => write.kind === 'update' && write.table === 'grants')) void first.hub.stop()
      return undefined
    }
    await first.answer(id, ONCE, OWNER)
    expect((await answer).waiting).toMatchObject({ operationId: id })
    expect(first.runs).toEqual([])
    expect(await first.row(id)).toMatchObject({ state: 'queued', attempts: 0 })
    const second = await deletionFixture({ storage })
    await settle(second.hub)
    expect(second.runs).toEqual([{ path: 'a' }])
    expect(await second.row(id)).toMatchObject({ state: 'succeeded' })
  })

  it('is refused when a person says no, to the waiting caller and on record', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.answer(id, NO, OWNER)
    expect(await failureOf(answer)).toMatchObject({ code: 'CONSENT_DENIED' })
    expect(one.runs).toEqual([])
    expect(await one.row(id)).toMatchObject({ state: 'denied', arguments: null })
    expect(await one.store.find('audit', {})).toMatchObject([
      { operationId: id, code: 'CONSENT_DENIED', outcome: 'notRun' },
    ])
  })

  it('is answered once, and tells the second person so', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    const answers = await Promise.allSettled([
      one.answer(id, ONCE, OWNER),
      one.answer(id, NO, OWNER),
      one.answer(id, ONCE, OWNER),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await answer
    expect(one.runs).toHaveLength(1)
    expect(await failureOf(one.answer(id, NO, OWNER))).toMatchObject({ code: 'REQUEST_REFUSED' })
  })

  it('asks for everything it lacks in one request', async () => {
    const one = await deletionFixture()
    const { request } = await asked(one, 'a', {}, 'shred_file')
    expect(request?.asks.map(({ operation }) => operation)).toEqual(['files.delete', 'files.shred'])
    expect(await one.open()).toHaveLength(1)
  })

  it('expires when no person answers for a day, and notifies its agent', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.hub.clock.advance(20_000)
    await answer
    await one.hub.clock.advance(25 * 3_600_000)
    expect(await one.row(id)).toMatchObject({ state: 'expired', arguments: null })
    expect(await failureOf(one.hub.operationAdmin.retry(id))).toMatchObject({ code: 'REQUEST_REFUSED' })
    expect(one.told).toMatchObject([{ id, state: 'expired' }])
    expect(await one.open()).toEqual([])
    expect(await failureOf(one.answer(id, ONCE, OWNER))).toMatchObject({ code: 'REQUEST_REFUSED' })
  })

  it('is not run when its caller has given it up', async () => {
    const one = await deletionFixture()
    const controller = new AbortController()
    const { answer, id } = await asked(one, 'a', { signal: controller.signal })
    controller.abort()
    expect(await failureOf(answer)).toMatchObject({ code: 'CANCELLED' })
    expect(await one.row(id)).toMatchObject({ state: 'cancelled' })
    expect(await one.open()).toEqual([])
    expect(await failureOf(one.answer(id, ONCE, OWNER))).toMatchObject({ code: 'REQUEST_REFUSED' })
    expect(one.runs).toEqual([])
  })

  it('is void when the tool is another by then', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.hub.clock.advance(20_000)
    await answer
    const other = simpleTool('delete_file', { mutates: true, consent: ['files.delete'], short: 'Deletes everything.' })
    one.hub.write('main', { capabilities: [simpleCapability('main', [other], { consentOperations: [...OPERATIONS] })] })
    await one.hub.catalogue.reload()
    const refusal = await failureOf(one.answer(id, { decision: 'allow', lasting: 'always' }, OWNER))
    expect(refusal).toMatchObject({ code: 'REQUEST_REFUSED', message: expect.stringContaining('is void') })
    await one.hub.clock.advance(0)
    expect(one.runs).toEqual([])
    expect(await one.row(id)).toMatchObject({ state: 'failed', error: { code: 'DEFINITION_INVALID' } })
    expect(await one.open()).toEqual([])
    expect(await one.store.find('grants', {})).toEqual([])
  })

  it('is void when its tool is gone by then, and waits while that may only be away', async () => {
    const one = await deletionFixture()
    const { answer, id } = await asked(one)
    await one.hub.clock.advance(20_000)
    await answer
    const without = (more: object) => ({ capabilities: [simpleCapability('main', [], more)] })
    one.hub.write('main', without({ unseen: 'Its server has not answered yet.' }))
    await one.hub.catalogue.reload()
    const lasting = { decision: 'allow', lasting: 'always' } as const
    const away = expect.stringContaining('is not there now')
    expect(await failureOf(one.answer(id, lasting, OWNER))).toMatchObject({ code: 'REQUEST_REFUSED', message: away })
    expect(await one.open()).toHaveLength(1)
    one.hub.write('main', without({}))
    await one.hub.catalogue.reload()
    expect(await failureOf(one.answer(id, lasting, OWNER))).toMatchObject({ code: 'REQUEST_REFUSED' })
    await one.hub.clock.advance(0)
    expect(await one.row(id)).toMatchObject({ state: 'failed', error: { code: 'TOOL_NOT_FOUND' } })
    expect(await one.store.find('grants', {})).toEqual([])
  })

  it('is refused at once, with all it lacks, where its caller cannot wait', async () => {
    const one = await deletionFixture()
    expect(await failureOf(one.call('a', { unallowed: 'refuse' }, 'shred_file'))).toMatchObject({
      code: 'CONSENT_REQUIRED',
      details: { operations: [{ name: 'files.delete' }, { name: 'files.shred' }] },
    })
    expect(await one.open()).toEqual([])
  })

  it('is decided on its own inside another call, and leaves nothing waiting there', async () => {
    const one = await deletionFixture()
    const answer = one.hub.callAs('ada', 'tidy')
    await settle(one.hub)
    const [request] = await one.open()
    expect(request).toMatchObject({ tool: 'delete_file' })
    await one.answer(request?.id ?? '', ONCE, OWNER)
    await answer
    expect(one.runs).toHaveLength(1)
    const second = failureOf(one.hub.callAs('ada', 'tidy').then(({ result }) => Promise.reject(result)))
    await one.hub.clock.advance(20_000)
    await second
    expect(one.runs).toHaveLength(1)
    expect(await one.open()).toEqual([])
  })
})

describe('the client of an agent', () => {
  const agents = { ada: { capabilities: { main: {} }, consent: { allow: [], askClient: true } } }
  const says =
    (answer: Answer, questions: Question[] = []) =>
    async (question: Question) => {
      questions.push(question)
      return answer
    }
  const yes: Answer = { action: 'accept', content: { allow: true } }

  it('is asked with the reason and the arguments, and its yes counts for this call', async () => {
    const one = await deletionFixture({ agents })
    const questions: Question[] = []
    expect((await one.call('a', { ask: says(yes, questions) })).result.content).toMatchObject([{ text: 'deleted' }])
    expect(questions).toMatchObject([{ message: expect.stringContaining('It deletes a file.') }])
    expect(questions).toMatchObject([{ message: expect.stringContaining('"path": "a"') }])
    const [grant] = await one.store.find('grants', {})
    expect(grant).toMatchObject({ lasting: 'once', via: 'client', usedBy: expect.stringMatching(/^op_/) })
  })

  it('may say no, and may say nothing', async () => {
    const one = await deletionFixture({ agents })
    expect(await failureOf(one.call('a', { ask: says({ action: 'decline' }) }))).toMatchObject({
      code: 'CONSENT_DENIED',
    })
    const { id, request, answer } = await asked(one, 'b', { ask: says({ action: 'cancel' }) })
    expect(request).toMatchObject({ state: 'open', id })
    expect(one.runs).toEqual([])
    // It waits as if there were no client to ask, and not the ten minutes that a person in front of one is given.
    await one.hub.clock.advance(20_000)
    expect((await answer).waiting).toMatchObject({ for: 'approval', operationId: id })
    await one.answer(id, ONCE, OWNER)
    await settle(one.hub)
    expect(one.runs).toHaveLength(1)
  })

  it('is not asked about what is of high weight, nor where the owner did not say so', async () => {
    const questions: Question[] = []
    const one = await deletionFixture({ agents })
    await asked(one, 'a', { ask: says(yes, questions) }, 'shred_file')
    const two = await deletionFixture()
    await asked(two, 'a', { ask: says(yes, questions) })
    expect(questions).toEqual([])
    expect([...one.runs, ...two.runs]).toEqual([])
  })

  it('need not answer any more when a person has', async () => {
    const one = await deletionFixture({ agents })
    let isTakenBack = false
    const ask = (_: Question, signal: AbortSignal) =>
      new Promise<Answer>(() => signal.addEventListener('abort', () => (isTakenBack = true)))
    const { answer, id } = await asked(one, 'a', { ask })
    await one.answer(id, ONCE, OWNER)
    await answer
    expect(isTakenBack).toBe(true)
    expect(one.runs).toHaveLength(1)
  })
})
